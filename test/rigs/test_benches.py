"""The benches' own arithmetic, on numbers written by hand, and a run of each that takes seconds."""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from impact_aware.bringup.command_path import OVERLAY_TOPIC, OVERLAY_TYPE
from impact_aware.bringup.node_spec import NodeSpec
from impact_aware.cli.main import main
from impact_aware.contact import contact_jacobian
from impact_aware.errors import InvalidInputError
from impact_aware.robot import RobotModel, load_profile
from impact_aware_rigs.bench import command, dds, predict, probe_run, service, shutdowns, soak, startup
from impact_aware_rigs.bench.random_programs import KINDS
from impact_aware_rigs.bench.regimes import REGIMES_ALL
from impact_aware_rigs.bench.shutdowns import STATES, Shutdown, left_behind

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

    def add_arguments(parser):
        parser.add_argument("--size", type=int, default=2)

    module = SimpleNamespace(__doc__="A bench.", add_arguments=add_arguments, run=run)
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


def test_a_bench_runs_by_its_former_name_too(fake_bench):
    assert main(["bench", "endings"]) == 0
    assert fake_bench[0] == "impact_aware_rigs.bench.shutdowns"


def test_an_unknown_bench_is_refused(capsys):
    assert main(["bench", "dance"]) == 2
    assert "benchmark: got 'dance', expected one of bag, contact_points" in capsys.readouterr().err


# Speed in process


def test_ratios_are_medians_over_states_of_the_time_over_the_baselines_at_the_same_state():
    times = {
        predict.BASELINE: np.array([1.0, 2.0, 4.0]),
        f"{predict.BASELINE}_leanest": np.array([1.0, 1.0, 1.0]),
        "exact": np.array([3.0, 4.0, 40.0]),
    }
    assert predict._ratios(times, predict.BASELINE) == {"exact": 3.0}
    assert predict._ratios(times, f"{predict.BASELINE}_leanest") == {"exact": 4.0}


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
    assert result["peak_megabytes"] > 50.0


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
    for label in ("one_arm", "two_arms"):
        assert set(result[label]) == {"ante", "interim", "post"}
        for figures in result[label].values():
            timed = [own for name, own in figures.items() if name in REGIMES_ALL and own["cycles"]]
            assert len(timed) >= 3 and (figures["unsafe"], figures["out_of_steps"]) == (0, 0)
            assert all(0.0 < own["p50_us"] <= own["p99_us"] <= own["max_us"] for own in timed)
        assert result["random_states"][label]["cycles"] == 30


def test_programs_are_compared_and_timed(capsys):
    result = bench(capsys, "qp", "--programs", "5", "--timed", "3")
    for label in ("one_arm", "two_arms"):
        for kind, own in result[label].items():
            assert own["largest_slope_left"] < 1e-6 and own["ends_that_differ"] == 0, kind
            assert own["solved"] + own["softened"] == 5 and (own["compared_with_piqp"] > 0) == (kind in KINDS[1:3])
        assert all(times["ours"]["p50"] > 0.0 for times in result["processor_us"][label].values())
    assert main(["bench", "qp", "--programs", "0"]) == 2


@pytest.mark.parametrize("words", [("--cycles", "0"), ("--random-states", "-1")])
def test_control_refuses_numbers_that_measure_nothing(capsys, words):
    assert main(["bench", "control", *words]) == 2
    assert words[0] in capsys.readouterr().err


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

    def run_probe(spec, nodes, duration, **more):
        nodes = tuple(nodes)
        runs.append((spec, nodes, duration))
        slow = 3.0 if any(node.executable == "rs_controller" for node in nodes) else 1.0
        # The second block of the echo is slower than the first.
        slow += 0.5 * (len(runs) == 3)
        line = {"sent": 1000, "answered": 990, "lost": 10, "p50_us": 100.0 * slow, "p99_us": 200.0 * slow**2}
        line["gap_ms"] = 5.0 + 2.0 * len(more.get("late", ()))
        for own in (line | {"max_us": 1.0, "last": False}, line | {"lost": 30, "max_us": 2.0, "last": True}):
            more.get("on_line", lambda line: None)(own)
        return [line | {"max_us": 1.0, "last": False}, line | {"lost": 30, "max_us": 2.0, "last": True}]

    for module in (dds, soak):
        monkeypatch.setattr(module, "run_probe", run_probe)
    return runs


def options(**values):
    defaults = {"rate": 500.0, "robot": "panda", "priority": 7, "arms": 1, "seconds": 8.0, "late_joiners": 0}
    defaults["single_process"] = defaults["relay"] = False
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
    assert (result["priority"], result["aim"]) == (7, {"ratio_p99": 1.3})


def test_two_arms_have_an_echo_each_and_one_probe_of_all_joints(probe):
    result = dds.run(options(arms=2))
    spec, nodes, _ = probe[0]
    assert [node.namespace for node in nodes] == ["left", "right"]
    assert [node.parameters["joints"] for node in nodes] == [7, 7]
    assert spec.parameters["arms"] == ["left", "right"]
    assert (len(spec.parameters["joint_names"]), len(spec.parameters["posture"])) == (7, 14)
    assert spec.parameters["posture"][:7] != spec.parameters["posture"][7:]
    assert result["aim"] == {"p99_us": 1000.0}


def test_late_joiners_join_the_controller_alone_one_after_each_report(probe):
    result = dds.run(options(arms=2, late_joiners=3))
    assert [spec.parameters["report_period"] for spec, _, _ in probe] == [2.0, 2.0]
    assert all([n.executable for n in nodes] == ["reference_field", "rs_controller"] for _, nodes, _ in probe)
    assert (result["alone"]["gap_ms"], result["joined"]["gap_ms"]) == (5.0, 11.0)
    assert result["aim"] == {"gap_ms": 10.0}


def test_one_process_and_many_answer_the_same_probe(probe):
    result = dds.run(options(single_process=True))
    (_, many, _), (_, one, _) = probe
    executables = ["rs_controller", "impact_detector", "jump_predictor", "reference_field"]
    assert sorted(spec.executable for spec in many) == sorted(executables)
    (group,) = one
    assert [spec.executable for spec in group.members] == executables
    assert all(spec.parameters["realtime_priority"] == 7 for spec in group.members)
    assert result["many"]["p50_us"] == 300.0
    assert result["one"]["p50_us"] == 100.0


def test_a_relay_is_measured_beside_the_direct_way_by_what_the_driver_gets(probe):
    result = dds.run(options(relay=True, rate=400.0))
    assert [duration for _, _, duration in probe] == [4.0, 8.0, 8.0, 4.0]
    (_, direct, _), (spec, relayed, _) = probe[1:3]
    assert [node.executable for node in relayed] == ["reference_field", "rs_controller", "kuka_fri_relay"]
    _, controller, relay = relayed
    assert controller.remappings == {"effort_controller/commands": "kuka_fri_relay/commands"}
    assert (controller.parameters["period"], relay.parameters["period"]) == (1.0 / 400.0, 1.0 / 400.0)
    assert (spec.parameters["answers"], spec.parameters["answer_type"]) == (OVERLAY_TOPIC, OVERLAY_TYPE)
    assert "answers" not in probe[1][0].parameters
    assert not direct[1].remappings
    # Medians of 300 and 350, 99th percentiles of 1800 and 2450, beside 100 and 200 of the echo.
    assert (result["ratio_p50"], result["ratio_p99"]) == pytest.approx((3.0, 9.0))
    assert (result["relay_ratio_p50"], result["relay_ratio_p99"]) == pytest.approx((3.5, 12.25))


@pytest.mark.parametrize("more", [{"arms": 2}, {"late_joiners": 1}, {"single_process": True}])
def test_a_relay_is_measured_for_one_arm_alone(probe, more):
    with pytest.raises(InvalidInputError, match="--relay"):
        dds.run(options(relay=True, **more))


def test_the_share_of_a_processor_is_of_the_end_of_a_run(monkeypatch):
    clock, used = SimpleNamespace(now=0.0), {1: 0.0, 2: 0.0, 3: 100.0}
    monkeypatch.setattr(dds, "processor_seconds", used.get)
    use = dds.ProcessorUse("probe", clock=lambda: clock.now)
    assert math.isnan(use.share(1.0))
    names = {"left/a": 1, "b": 2, "probe": 3}
    processes = {name: SimpleNamespace(process=SimpleNamespace(pid=pid)) for name, pid in names.items()}
    for clock.now, used[1], used[2] in ((10.0, 5.0, 5.0), (16.0, 6.0, 7.5), (18.0, 6.5, 8.0), (20.0, 7.0, 8.5)):
        use.look(processes)
        used[3] += 50.0
    used[2] = None
    clock.now = 21.0
    use.look(processes)
    assert use.share(4.5) == pytest.approx(2.0 / 4.0)
    assert math.isnan(use.share(1.0))


def test_a_soak_runs_the_whole_suite_and_reports_losses_and_logs(probe, tmp_path):
    result = soak.run(options(minutes=0.5, out=tmp_path, priority=0))
    spec, nodes, duration = probe[0]
    assert (duration, spec.parameters["duration"], spec.parameters["report_period"]) == (30.0, 30.0, 3.0)
    assert {"impact_detector", "jump_predictor", "rs_controller", "impact_markers"} <= {n.executable for n in nodes}
    assert "realtime_priority" not in spec.parameters
    assert result["lost_share"] == pytest.approx(40 / 2000)
    assert "last" not in result["blocks"][0]
    assert len((tmp_path / "soak_blocks.jsonl").read_text().splitlines()) == 2
    assert json.loads((tmp_path / "soak_memory.json").read_text()) == {}


def test_memory_is_sampled_at_most_every_period_and_written_as_time_since_the_first(monkeypatch, tmp_path):
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(soak, "time", SimpleNamespace(monotonic=lambda: clock.now))
    resident = {1: 50_000_000, 2: 80_000_000}
    monkeypatch.setattr(soak, "resident_bytes", resident.get)
    processes = {f"n{pid}": SimpleNamespace(running=True, process=SimpleNamespace(pid=pid)) for pid in (1, 2, 3)}
    log = soak.MemoryLog()
    for step in range(9):
        clock.now = 100.0 + 0.5 * step
        resident[1] = 1_000_000 * (50 + step)
        log.look(processes)
    log.write(tmp_path / "m.json")
    written = json.loads((tmp_path / "m.json").read_text())
    assert written == {"n1": [[0.0, 50.0], [2.0, 54.0], [4.0, 58.0]], "n2": [[0.0, 80.0], [2.0, 80.0], [4.0, 80.0]]}
    # The last sample is of a process that may be ending: the growth is to the one before it.
    assert log.growth()["n1"] == {"first_MB": 50.0, "last_MB": 54.0, "growth_MB": 4.0}


def test_a_service_is_measured_beside_an_empty_one(monkeypatch):
    asked = {}

    def run_probe(spec, nodes, duration):
        asked.update(spec.parameters, nodes=[node.executable for node in nodes], duration=duration)
        return [{"empty": {"p50_us": 200.0}, "predict": {"p50_us": 500.0}, "last": True}]

    monkeypatch.setattr(service, "run_probe", run_probe)
    result = service.run(argparse.Namespace(calls=50, robot="panda"))
    assert result == {
        "empty": {"p50_us": 200.0}, "predict": {"p50_us": 500.0}, "ratio_p50": 2.5, "aim_ratio_p50": 1.6,
    }  # fmt: skip
    assert asked["nodes"] == ["jump_predictor", "latency_echo"]
    assert (asked["calls"], asked["position"]) == (50, PANDA.home.tolist())
    monkeypatch.setattr(service, "run_probe", lambda *_: [{"error": "no robot", "last": True}])
    with pytest.raises(probe_run.BenchmarkFailedError, match="refused: no robot"):
        service.run(argparse.Namespace(calls=50, robot="panda"))


@pytest.mark.parametrize("make", [partial(dds.one_arm, "panda"), dds.two_arms])
def test_a_controller_is_told_the_rate_of_its_states(make):
    # It refuses to begin with states of another rate than its own, once it has seen enough of them.
    periods = {spec.name: spec.parameters.get("period") for spec in make(200.0).control}
    assert periods == {"rs_controller": 0.005, "reference_field": None}


@pytest.mark.dds
@pytest.mark.slow
def test_real_nodes_are_measured(capsys):
    result = bench(capsys, "service", "--calls", "20")
    assert result["empty"]["calls"] == result["predict"]["calls"] == 20
    assert result["ratio_p50"] == pytest.approx(result["predict"]["p50_us"] / result["empty"]["p50_us"])
    result = bench(capsys, "dds", "--seconds", "1", "--rate", "200", "--priority", "0")
    assert result["control"]["sent"] == result["echo"]["sent"] == 200
    assert 0.0 < result["control"]["p50_us"] <= result["control"]["max_us"]


# Shutdowns


@pytest.fixture
def whole_torques(monkeypatch):
    """Arms that are sent their gravity torque too, so that a joint taken for another one shows."""
    profile = dataclasses.replace(load_profile("panda"), command_includes_gravity=True)
    robot = RobotModel.from_profile(profile)
    monkeypatch.setattr(shutdowns, "RobotModel", SimpleNamespace(from_profile=lambda name: robot))


def last_command(arm: str, offset: float, joint: int, speed: float = 0.0) -> dict:
    """What the command logger prints of an arm that got its gravity torque but for one joint; other joints' order."""
    position = PANDA.home + 0.1 * np.arange(7)
    command = PANDA.gravity(position)
    command[joint] += offset * PANDA.limits.effort[joint]
    velocity = np.zeros(7)
    velocity[2] = speed
    order = [3, 1, 6, 0, 2, 5, 4]
    names = [PANDA.joint_names[k] for k in order] + ["finger"]
    columns = {"position": [*position[order], 9.0], "velocity": [*velocity[order], 9.0]}
    return {"arm": arm, "commands": 10, "command": command.tolist(), "names": names, **columns}


def test_what_is_left_behind_is_compared_with_gravity_joint_by_joint(whole_torques):
    lines = [last_command("left", 0.01, 1), last_command("right", -0.03, 5, speed=-0.2)]
    parameters = {"arms": ["left", "right"], "robots": ["panda", "panda"]}
    assert left_behind(lines, parameters) == {"commands": 20, "from_gravity": 0.03, "fastest_joint": 0.2}
    assert left_behind([last_command("", 0.02, 0)], {"robot": "panda"})["from_gravity"] == 0.02


def test_an_arm_that_carries_itself_is_left_with_no_torque():
    line = last_command("", 0.0, 0) | {"command": [0.0, 0.0, 0.0, 0.0, 0.0, 0.6, 0.0]}
    # The sixth joint's limit is 12 N m.
    assert left_behind([line], {"robot": "panda"})["from_gravity"] == 0.05


def test_of_an_arm_without_commands_nothing_is_said():
    line = last_command("", 0.5, 0) | {"command": []}
    assert left_behind([line], {"robot": "panda"}) == {"commands": 0, "from_gravity": 0.0, "fastest_joint": 0.0}


def test_the_mode_when_asked_is_the_last_one_before_the_safe_mode(whole_torques):
    shutdown = Shutdown((NodeSpec("rs_controller", "rs_controller", parameters={"robot": "panda"}),), STATES["interim"])
    for mode in ("IDLE", "ANTE", "ANTE", "INTERIM", "SAFE"):
        shutdown.take({"node": "/rs_controller", "mode": mode})
    shutdown.take({"node": "/other", "mode": "HOLD", "done": "True"})
    assert shutdown.modes == ["IDLE", "ANTE", "INTERIM", "SAFE"]
    assert not shutdown.done
    shutdown.take(last_command("", 0.04, 3))
    shutdown.seconds = {"a": 0.3, "b": 0.7}
    figures = shutdown.figures()
    assert figures["mode_when_asked"] == "INTERIM"
    assert (figures["slowest_s"], figures["from_gravity"]) == (0.7, 0.04)
    shutdown.modes = ["SAFE"]
    assert shutdown.figures()["mode_when_asked"] == "SAFE"
    shutdown.take({"node": "/rs_controller", "mode": "SAFE", "done": "True"})
    assert shutdown.done


def test_all_shutdowns_together_are_judged_by_the_worst(monkeypatch):
    def figures(_graph, number, wait, state):
        worst = number == shutdowns.SIGNALS["TERM"] and state.mode == "ANTE"
        own = {"slowest_s": 1.5 if worst else 0.5, "processor_seconds": {"a": 0.1, "b": 0.4 if worst else 0.2}}
        own |= {"had_to_be_killed": ["b"] if worst else [], "processes_left": int(worst), "wait": wait}
        return own | ({"from_gravity": 0.01, "fastest_joint": 0.2} if state.mode else {})

    monkeypatch.setattr(shutdowns, "shut_down", figures)
    result = shutdowns.run(
        argparse.Namespace(
            arms=1, robot="panda", states="just_started, watching,ante", signals="INT,TERM", running=3.0, json=True
        )
    )
    assert {name: own["wait"] for name, own in result["INT"].items()} == {
        "just_started": 0.5,
        "watching": 3.0,
        "ante": 3.0,
    }
    del result["INT"], result["TERM"]
    assert result == {
        "slowest_s": 1.5, "most_processor_s": 0.4, "had_to_be_killed": ["b"], "processes_left": 1,
        "furthest_from_gravity": 0.01, "fastest_joint": 0.2, "aim_s": 2.0,
    }  # fmt: skip
