"""The benches' own arithmetic, on numbers written by hand, and a run of each that takes seconds."""

import argparse
import json
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from recorded_bag import bag_of

from impact_aware.cli.main import main
from impact_aware.contact import contact_jacobian
from impact_aware.parameters import Options, described
from impact_aware.recordings.options import AnalysisOptions
from impact_aware.recordings.verdict import Verdict
from impact_aware.robot import RobotModel
from impact_aware_rigs.bench import command, dds, demo, predict, probe_run, startup
from impact_aware_rigs.bench.control import REGIMES_ALL

PANDA = RobotModel.from_profile("panda")


def bench(capsys, *words: str) -> dict:
    assert main(["bench", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


# The command


@pytest.fixture
def fake_bench(monkeypatch):
    """A benchmark of another name, which notes its options."""
    seen = []

    def run(options):
        seen.append(options)
        return {"a": 0.123456, "b": {"count": 3, "name": "x"}}

    @dataclass(frozen=True)
    class BenchOptions(Options):
        size: int = described(2, "size", 1, 10)

    module = SimpleNamespace(__doc__="A bench.", BenchOptions=BenchOptions, run=run)
    monkeypatch.setattr(command, "importlib", SimpleNamespace(import_module=lambda name: seen.append(name) or module))
    return seen


def test_a_bench_prints_lines_or_one_object_and_writes_what_it_measured(fake_bench, capsys, tmp_path):
    assert main(["bench", "bag", "--size", "5"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines] == [["a", "0.1235"], ["b:"], ["count", "3"], ["name", "x"]]
    assert lines[2].startswith("  count")
    assert main(["bench", "--json", "--out", str(tmp_path / "new"), "bag"]) == 0
    assert json.loads(capsys.readouterr().out) == {"a": 0.123456, "b": {"count": 3, "name": "x"}}
    assert json.loads((tmp_path / "new" / "bench_bag.json").read_text())["b"]["count"] == 3
    assert fake_bench[0] == "impact_aware_rigs.bench.bag"
    assert [options.size for options in fake_bench[1::2]] == [5, 2]


def test_an_unknown_bench_is_refused(capsys):
    assert main(["bench", "dance"]) == 2
    assert "benchmark: got 'dance', expected one of bag, control" in capsys.readouterr().err


# Speed in process


def test_impacts_to_be_predicted_approach_within_60_degrees_of_the_normal():
    states = predict._impacts(PANDA, 30, 3)
    again = predict._impacts(PANDA, 30, 3)
    assert len(states) == 30
    for (q, dq, contact), (same, _, _) in zip(states, again, strict=True):
        np.testing.assert_array_equal(q, same)
        assert np.all(q >= PANDA.limits.position_lower) and np.all(q <= PANDA.limits.position_upper)
        velocity = contact_jacobian(PANDA, q, contact) @ dq
        assert contact.normal @ velocity < -0.5 * np.linalg.norm(velocity)
        assert 0.0 <= contact.friction <= 0.8


def test_predict_is_measured(capsys):
    result = bench(capsys, "predict", "--states", "2", "--calls", "2", "--batch", "50")
    assert set(result["ratio_to_baseline"]) == {"fixed_direction", "exact_coulomb", "predict_function"}
    assert all(value > 0.0 for value in result["microseconds"].values())
    baseline = result["microseconds"][predict.BASELINE]
    for figures in result["batch"].values():
        assert figures["ratio_to_baseline"] == pytest.approx(figures["wall_microseconds"] / baseline)
        assert figures["difference_from_single"] < 1e-9


@pytest.mark.slow
def test_starts_are_measured_by_what_the_whole_process_took(capsys):
    result = bench(capsys, "startup", "--runs", "1")
    seconds = result["seconds"]
    assert set(seconds) == {"python", "numpy_pinocchio", "help", "predict"}
    assert all(0.0 < taken < 1e3 for taken in seconds.values())


def test_a_start_counts_what_the_process_worked_and_not_what_it_waited():
    worked = startup._processor_seconds("busy", ("-c", "import time\nwhile time.process_time() < 1.5: pass"))
    assert worked >= 1.5
    assert startup._processor_seconds("asleep", ("-c", "import time; time.sleep(1.5)")) < 1.5


def test_a_start_that_fails_is_no_figure():
    with pytest.raises(probe_run.BenchmarkFailedError, match="odd ended with 3: no such thing"):
        startup._processor_seconds("odd", ("-c", "import sys; print('no such thing', file=sys.stderr); sys.exit(3)"))


@pytest.mark.slow
def test_control_is_measured_in_each_mode_of_one_arm_and_of_two(capsys):
    result = bench(capsys, "control", "--cycles", "5", "--random-states", "30", "--seed", "2")
    assert result["cycles_of_each_regime"] == 5
    assert 0.0 < result["law"]["processor_p50_us"] <= result["law"]["processor_p99_us"]
    for label in ("one_arm", "two_arms"):
        assert set(result[label]) == {"ante", "interim", "post"}
        for figures in result[label].values():
            timed = [own for name, own in figures.items() if name in REGIMES_ALL and own["cycles"]]
            assert len(timed) >= 3 and (figures["unsafe"], figures["out_of_steps"]) == (0, 0)
            assert all(0.0 < own["p50_us"] <= own["p99_us"] <= own["max_us"] for own in timed)
        assert result["random_states"][label]["cycles"] == 30


@pytest.mark.parametrize(
    "words",
    [
        "control --cycles 0", "control --random-states -1", "recordings --hits 0", "recordings --workers 0",
        "recordings --minutes nan", "bag --messages 10", "detection --trials 0", "detection --hours 0",
        "dds --seconds 0", "dds --rate 1e9", "service --calls 0",
    ],
)  # fmt: skip
def test_numbers_that_measure_nothing_are_refused_in_one_line(capsys, words):
    assert main(["bench", *words.split()]) == 2
    error = capsys.readouterr().err
    assert words.split()[1] in error and error.count("\n") == 1


# Over DDS


def test_blocks_add_their_counts_and_average_their_percentiles():
    lines = [
        {"sent": 100, "answered": 97, "lost": 3, "p50_us": 300.0, "p99_us": 500.0, "max_us": 900.0, "gap_ms": 2.0},
        {"sent": 50, "answered": 49, "lost": 1, "p50_us": 400.0, "p99_us": 800.0, "max_us": 850.0, "gap_ms": 7.0},
    ]
    assert dds.together(lines) == {
        "sent": 150, "answered": 146, "lost": 4, "p50_us": 350.0, "p99_us": 650.0, "max_us": 900.0, "gap_ms": 7.0,
    }  # fmt: skip


@pytest.fixture
def probe(monkeypatch):
    """Probes that answer at once, and what was asked of them."""
    runs = []

    def run_probe(spec, nodes, duration):
        nodes = tuple(nodes)
        runs.append((spec, nodes, duration))
        slow = 3.0 if any(node.executable == "rs_controller" for node in nodes) else 1.0
        # The second block of the echo is slower than the first.
        slow += 0.5 * (len(runs) == 3)
        line = {"sent": 1000, "answered": 990, "lost": 10, "p50_us": 100.0 * slow, "p99_us": 200.0 * slow**2}
        line["gap_ms"] = 5.0
        return [line | {"max_us": 1.0, "last": False}, line | {"lost": 30, "max_us": 2.0, "last": True}]

    monkeypatch.setattr(dds, "run_probe", run_probe)
    return runs


def options(**values):
    defaults = {"rate": 500.0, "robot": "panda", "priority": 7, "arms": 1, "seconds": 8.0}
    return argparse.Namespace(**defaults | values)


def test_the_controller_is_measured_between_two_halves_of_the_echo(probe):
    result = dds.run(options())
    assert [duration for _, _, duration in probe] == [4.0, 8.0, 4.0]
    executables = [[node.executable for node in nodes] for _, nodes, _ in probe]
    assert executables == [["latency_echo"], ["reference_field", "rs_controller"], ["latency_echo"]]
    assert all(
        node.parameters["realtime_priority"] == 7 for spec, nodes, _ in probe for node in (spec, *nodes)
    )  # fmt: skip
    assert all((spec.parameters["rate"], spec.parameters["duration"]) == (500.0, d) for spec, _, d in probe)
    assert probe[1][1][1].parameters["state_timeout"] == probe_run.PATIENCE["state_timeout"]
    # Medians of 300 over 125, and 99th percentiles of 1800 over the mean of 200 and 450.
    assert result["ratio_p50"] == pytest.approx(300.0 / 125.0)
    assert result["ratio_p99"] == pytest.approx(1800.0 / 325.0)
    assert (result["echo"]["sent"], result["control"]["lost"]) == (4000, 40)
    assert result["priority"] == 7


@pytest.mark.parametrize("make", [partial(dds.one_arm, "panda"), dds.two_arms])
def test_a_controller_is_told_the_rate_of_its_states(make):
    # It refuses to begin with states of another rate than its own, once it has seen enough of them.
    periods = {spec.name: spec.parameters.get("period") for spec in make(200.0).control}
    assert periods == {"rs_controller": 0.005, "reference_field": None}


@pytest.mark.dds
@pytest.mark.slow
def test_real_nodes_are_measured(capfd):
    result = bench(capfd, "service", "--calls", "20")
    assert result["empty"]["calls"] == result["predict"]["calls"] == 20
    assert result["ratio_p50"] == pytest.approx(result["predict"]["p50_us"] / result["empty"]["p50_us"])
    result = bench(capfd, "dds", "--seconds", "1", "--rate", "200", "--priority", "0")
    assert result["control"]["sent"] == result["echo"]["sent"] == 200
    assert 0.0 < result["control"]["p50_us"] <= result["control"]["max_us"]


# The demo's headline


@pytest.mark.parametrize(("own", "agrees"), [(0.10, True), (0.16, False), (0.04, False)])
def test_the_demos_figure_agrees_within_the_interval_of_the_headline(monkeypatch, tmp_path, own, agrees):
    verdict = Verdict("yes", 1.0, "", "plant", 0.2, (0.1, 0.3), 0.1, (), 0.12)
    impacts = [SimpleNamespace(time=time, verdict=verdict) for time in (1.002, 1.4)]
    monkeypatch.setattr(demo, "analyze", lambda paths, options: SimpleNamespace(impacts=impacts))
    found = demo.headline(tmp_path, AnalysisOptions(), 1.0, 2.0, own)
    assert found["agrees"] is agrees and found["impacts"] == 2
    assert (found["error"], found["interval"], found["within"]) == (0.1, [0.05, 0.15], "yes")
    # An impact at another time is not that of the demo.
    assert demo.headline(tmp_path, AnalysisOptions(), 1.2, 2.0, 0.1) == {"impacts": 2, "agrees": False}


def test_joints_of_a_bag_are_a_table(tmp_path):
    times = 0.001 * np.arange(1.0, 40.0)
    positions = np.outer(times, np.arange(1.0, 8.0))
    bag_of(tmp_path / "bag", PANDA.joint_names, zip(times, positions, strict=True))
    demo.write_joints(tmp_path / "bag", tmp_path / "joints.csv")
    header = (tmp_path / "joints.csv").read_text().splitlines()[0]
    assert header.split(",") == ["time", *(f"q_{name}" for name in PANDA.joint_names)]
    written = np.loadtxt(tmp_path / "joints.csv", delimiter=",", skiprows=1)
    np.testing.assert_allclose(written, np.column_stack((times, positions)), rtol=1e-8)
