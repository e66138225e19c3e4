"""Three simulated hits of a box as tables of a logger, `trial.csv` to `trial_2.csv`, for the first tutorial."""

import numpy as np

import impact_aware as ia

header = ",".join(["clock", *(f"q_{joint}" for joint in ia.load_robot("panda").joint_names)])
for start, name in enumerate(["trial", "trial_1", "trial_2"]):
    run = ia.run_episode(ia.load_task("hit_and_push"), ia.EpisodeSettings(start=start, duration=1.2), seed=1)
    rows = np.column_stack([1e3 * run.time, np.rad2deg(run.q)])  # ms and degrees
    np.savetxt(f"{name}.csv", rows, fmt="%.6f", delimiter=",", header=header, comments="")
    print(f"{name}.csv: the tool hits the box at {run.impacts[0].time:.3f} s")
