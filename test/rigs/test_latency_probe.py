"""The probe's bookkeeping, and one short run of it against the echo over DDS."""

import pytest

from impact_aware.bringup.graph import NodeSpec
from impact_aware.cli.main import main
from impact_aware.rigs.bench.probe_run import BenchmarkFailedError, run_probe
from impact_aware.rigs.bench.soak import MemoryLog, resident_megabytes
from impact_aware.rigs.probes.latency_probe import Matcher


def test_a_command_answers_the_newest_open_state():
    matcher = Matcher()
    for sent, received in ((0.0, 0.0004), (0.001, 0.0015), (0.002, None), (0.003, 0.0033)):
        matcher.send(sent)
        if received is not None:
            matcher.receive(received)
    assert matcher.answered == pytest.approx([4e-4, 5e-4, 3e-4])
    figures = matcher.report()
    assert (figures["sent"], figures["answered"], figures["lost"]) == (4, 3, 1)
    assert figures["p50_us"] == pytest.approx(400.0)
    assert matcher.report()["sent"] == 0


def test_two_commands_between_states_answer_both_of_them():
    matcher = Matcher()
    matcher.send(0.0)
    matcher.send(0.001)
    matcher.receive(0.0012)
    matcher.receive(0.0014)
    assert matcher.answered == pytest.approx([2e-4, 1.4e-3])


def test_a_command_that_nobody_waited_for_counts_nothing():
    matcher = Matcher()
    matcher.receive(0.1)
    assert matcher.report()["answered"] == 0


def test_memory_is_compared_after_settling():
    log = MemoryLog()
    log._samples["node"] = [(float(step), 100.0 if step < 10 else 101.0) for step in range(100)]
    # Warm-up belongs to the first tenth and is no growth.
    assert log.growth()["node"] == {"first_MB": 101.0, "last_MB": 101.0, "growth_MB": 0.0}
    assert resident_megabytes(2**22 + 1) is None


def test_the_echo_answers_over_dds(tmp_path):
    parameters = {"joint_names": ["a", "b"], "posture": [0.1, 0.2], "rate": 100.0, "duration": 0.5, "warm_up": 0.1}
    lines = run_probe(
        NodeSpec("latency_probe", "latency_probe", parameters=parameters),
        [NodeSpec("latency_echo", "latency_echo", parameters={"joints": 2})],
        0.5,
    )
    assert len(lines) == 1
    assert lines[0]["sent"] == 50
    # A slow machine may lose some, but the answers must be counted.
    assert 0 < lines[0]["answered"] <= 50


def test_a_node_that_does_not_start_is_named():
    probe = NodeSpec("latency_probe", "latency_probe", parameters={"joint_names": ["a"], "posture": [0.0]})
    with pytest.raises(BenchmarkFailedError, match="rs_controller ended with status 2"):
        run_probe(probe, [NodeSpec("rs_controller", "rs_controller", parameters={"state_timeout": -1.0})], 0.5)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("dds", "--seconds", "0"), "--seconds"),
        (("dds", "--rate", "1e9"), "--rate"),
        (("service", "--calls", "0"), "--calls"),
        (("soak", "--minutes", "0"), "--minutes"),
        (("dds", "--robot", "pandora"), "pandora"),
    ],
)
def test_bad_options_are_one_line(capsys, words, expected):
    assert main(["bench", *words]) == 2
    error = capsys.readouterr().err
    assert expected in error
    assert error.count("\n") == 1
