"""A second of an arm that hits a box, kept as a table: find the impact, and hold the prediction against what came."""

import tempfile
from pathlib import Path

import numpy as np

import impact_aware as ia

# A recording of your own is a rosbag2 folder or a table; here a simulated run stands in for it.
run = ia.run_episode(ia.load_task("hit_and_push"), ia.EpisodeSettings(duration=1.3), seed=1)
folder = Path(tempfile.mkdtemp(prefix="impact-aware-"))
recording = folder / "hit.npz"
np.savez(recording, time=run.time, q=run.q, dq=run.dq)

options = ia.AnalysisOptions(robot="panda", normal=(0.0, 1.0, 0.0), friction=0.3, object_mass=2.2)
analysis = ia.analyze(recording, options)
for impact in analysis.impacts:
    delay = impact.event.time_detected - impact.time
    print(f"{impact.cause} at {impact.time:.4f} s, known {1e3 * delay:.1f} ms later")
    print(f"before    {np.round(impact.velocity_before, 3)} rad/s")
    if impact.prediction is not None and impact.velocity_after_estimated is not None:
        print(f"predicted {np.round(impact.prediction.velocity_after, 3)}")
        print(f"estimated {np.round(impact.velocity_after_estimated, 3)}")

page = ia.write_report(analysis, folder / "report")[0]
print(f"report in {page}")
