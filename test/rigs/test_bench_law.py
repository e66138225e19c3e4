"""`bench law`: which cases there are, what a link does to commands, and a run of few cases."""

from __future__ import annotations

import json

import numpy as np
import pytest

from impact_aware.cli.main import main
from impact_aware.control import ControlParameters, ControlSession
from impact_aware.control.local_law import DEFAULT_VALIDITY
from impact_aware.errors import InvalidInputError, UnknownNameError
from impact_aware.experiments.command_link import CommandLink, LinkSettings
from impact_aware.robot import RobotModel
from impact_aware.task import load_task, make_field, start_posture
from impact_aware_rigs.bench.law import cases, figures

PANDA = RobotModel.from_profile("panda")
TASK = load_task("hit_and_push")
FIELD = make_field(TASK, [PANDA])
START = np.array(start_posture(TASK.arms[0], PANDA))
STILL = np.zeros(7)


def through(settings, cycles=40, stop=10**9):
    """What a session commands, what the arm gets for it, and the link; nothing is sent from cycle `stop` on."""
    session, link = ControlSession(PANDA, field=FIELD), CommandLink(settings, seed=4)
    session.start(1.0, START)
    commanded, got = [], []
    for k in range(cycles):
        time, q = 1.0 + 1e-3 * (k + 1), START + 1e-5 * k
        commanded.append(session.cycle(time, q, STILL).effort.copy())
        torque = link.carry(session, time, q, STILL) if k < stop else link.torque(time, q, STILL)
        got.append(np.full(7, np.nan) if torque is None else torque.copy())
    return np.array(commanded), np.array(got), link


def test_torques_come_late_by_the_delay_and_are_held():
    commanded, got, link = through(LinkSettings(delay=0.003), stop=20)
    assert np.isnan(got[:3]).all()
    np.testing.assert_array_equal(got[3:23], commanded[:20])
    np.testing.assert_array_equal(got[23:], np.tile(commanded[19], (17, 1)))
    assert link.largest_step == np.abs(np.diff(got[3:], axis=0)).max()


def test_lost_torques_leave_the_one_before():
    commanded, got, link = through(LinkSettings(loss=0.3))
    kept = [k for k in range(1, 40) if np.array_equal(got[k], commanded[k])]
    assert 0 < link.lost < 20
    assert link.sent == 40
    assert sum(np.array_equal(got[k], got[k - 1]) for k in range(1, 40) if k not in kept) >= link.lost - 1


def test_a_law_follows_the_session_between_its_messages_and_holds_when_none_come():
    commanded, got, link = through(LinkSettings("local_law", rate=250.0, delay=0.0, validity=0.0205), 60, stop=20)
    np.testing.assert_allclose(got[[0, 4, 8, 12]], commanded[[0, 4, 8, 12]], atol=1e-9)
    assert link.unled == 60 - 37
    # It is held where it was, without motion, when the last law ended, 22 cycles ago; so little does not slip.
    now = START + 1e-5 * 59
    back = PANDA.mass_matrix(now) @ np.full(7, -ControlParameters().hold_stiffness * 22e-5)
    np.testing.assert_allclose(got[-1], PANDA.bias(now, STILL) + back, atol=1e-9)


def test_cases_are_every_law_rate_delay_and_loss():
    found = cases(["effort", "local_law"], [200.0, 500.0], [0.0, 5.0], [0.2])
    assert [(c.interface, c.rate, c.delay, c.loss) for c in found] == [
        ("effort", 1000.0, 0.0, 0.2),
        ("effort", 1000.0, 0.005, 0.2),
        ("local_law", 200.0, 0.0, 0.2),
        ("local_law", 200.0, 0.005, 0.2),
        ("local_law", 500.0, 0.0, 0.2),
        ("local_law", 500.0, 0.005, 0.2),
    ]
    assert {c.validity for c in found} == {DEFAULT_VALIDITY}
    assert cases(["local_law"], [250.0], [0.0], [0.0], 0.012)[0].validity == 0.012


def test_figures_count_what_began_only():
    rows = [
        {"success": True, "cause": "", "peak": 5.0, "largest_step": 0.2, "unled": 0},
        {"success": False, "cause": "goal missed", "peak": 9.0, "largest_step": 0.7, "unled": 3},
        {"success": True, "cause": "", "peak": 6.0, "largest_step": 0.3, "unled": 0},
        {"success": False, "cause": "start refused: start: far", "largest_step": 0.0, "unled": 0},
    ]
    found = figures(LinkSettings("local_law", 250.0, 0.005, 0.05), rows)
    assert (found["delay_ms"], found["runs"], found["drop_outs"], found["cycles_unled"]) == (5.0, 3, 1, 3)
    assert found["validity_ms"] == 1e3 * DEFAULT_VALIDITY
    assert found["success"] == pytest.approx(2 / 3)
    assert (found["peak"], found["peak_torque_rate"], found["peak_torque_rate_largest"]) == (6.0, 300.0, 700.0)
    assert found["failures"] == {"goal missed": 1}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--runs", "0"], "--runs"),
        (["--interfaces", "velocity"], "command_interface"),
        (["--rates", "0"], "--rates: got 0.0, expected 50..1000 Hz"),
        (["--losses", "1.5"], "loss"),
        (["--delays", "-2"], "delay"),
        (["--workers", "0"], "--workers"),
        (["--seed", "-1"], "--seed"),
        (["--rates", "200", "--validity", "9"], "law_validity: got 0.009, expected 0.01 s or more, two periods"),
        (["--validity", "0"], "law_validity: got 0.0, expected 0.002..0.5 s"),
    ],
)
def test_what_can_not_be_benched_is_one_line(words, sentence, capsys):
    assert main(["bench", "law", *words]) != 0
    error = capsys.readouterr().err
    assert sentence in error
    assert "Traceback" not in error
    assert len(error.strip().splitlines()) == 1


def test_unknown_interfaces_and_losses_have_names():
    with pytest.raises(UnknownNameError, match="command_interface"):
        LinkSettings("position")
    with pytest.raises(InvalidInputError, match="loss"):
        LinkSettings(loss=1.0)


@pytest.mark.slow
def test_a_hit_through_a_late_law_of_which_some_is_lost(capsys):
    words = ["--runs", "1", "--workers", "1", "--interfaces", "local_law", "--rates", "250", "--plant", "rigid"]
    assert main(["bench", "law", *words, "--delays", "5", "--losses", "0.05", "--json"]) == 0
    (law,) = json.loads(capsys.readouterr().out)["cases"]
    assert (law["interface"], law["rate_hz"], law["delay_ms"], law["loss"]) == ("local_law", 250.0, 5.0, 0.05)
    assert law["runs"] == 1
    assert law["success"] == 1.0
    assert law["drop_outs"] == 0
