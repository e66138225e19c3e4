"""`impact-aware bench bag` on a small recording: what it makes is what it measures."""

from pathlib import Path

import numpy as np
import pytest

from impact_aware.recordings.impact_analysis import analyze
from impact_aware.recordings.options import AnalysisOptions
from impact_aware.robot import RobotModel, profile_names
from impact_aware_rigs.bench import bag as bench_bag

ROBOT = RobotModel.from_profile("panda")


@pytest.mark.parametrize("name", profile_names())
def test_the_motion_is_one_that_the_arm_can_make(name: str) -> None:
    """`analyze` refuses others, which took a longer recording than those of the tests to show."""
    robot = RobotModel.from_profile(name)
    times = np.arange(0.0, 300.0, 0.004)
    q, dq, _ = bench_bag._motion(times, robot)
    assert np.all((q > robot.limits.position_lower) & (q < robot.limits.position_upper))
    assert np.all(np.abs(dq) < robot.limits.velocity)
    middle = slice(1, -1)
    steps = (q[2:] - q[:-2]) / 0.008
    calm = np.abs(steps - dq[middle]).max(axis=1)
    # Velocities are those of the positions, up to encoder steps; only where it is hit they jump in between.
    assert np.count_nonzero(calm > 5e-3) <= 3 * (times[-1] // 60.0)


@pytest.mark.parametrize("storage", ["mcap", "sqlite3"])
def test_recording_has_a_jump_per_minute(tmp_path: Path, storage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_bag, "_IMPACT_PERIOD", 2.0)
    bench_bag.make_recording(tmp_path / "bag", ROBOT, 5000, storage=storage)
    analysis = analyze([tmp_path / "bag"], AnalysisOptions(robot="panda", ablation=False))
    assert analysis.messages == 5000
    # The clock of the recording starts at 1000 s.
    assert [impact.time for impact in analysis.impacts] == pytest.approx([1002.0, 1004.0], abs=2e-3)
    assert bench_bag._WAYS["raw"](tmp_path / "bag", "panda")["messages"] == 5000


@pytest.mark.slow
def test_measures_in_processes_of_their_own(tmp_path: Path) -> None:
    bench_bag.make_recording(tmp_path / "bag", ROBOT, 2000)
    # Memory of the process that measures is not that of the measured one.
    ballast = np.ones(50_000_000)
    measured = bench_bag._measure(tmp_path / "bag", "raw", "panda")
    assert measured["messages"] == 2000
    assert 10.0 < measured["peak_megabytes"] < 1e-6 * ballast.nbytes
    with pytest.raises(bench_bag.BenchError, match="measuring raw failed"):
        bench_bag._measure(tmp_path / "absent", "raw", "panda")
