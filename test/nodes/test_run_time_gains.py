"""Gains of `rs_controller` that are set while it runs."""

import dataclasses

import numpy as np
import pytest
from node_harness import status
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.parameter import Parameter

from impact_aware.control import ControlParameters, ControlSession, Mode
from impact_aware.errors import InvalidInputError
from impact_aware.nodes.controller_settings import TUNABLE
from impact_aware.nodes.rs_controller import RsControllerNode
from impact_aware.robot import RobotModel
from impact_aware.task import load_task, make_field, start_posture

ROBOT = RobotModel.from_profile("panda")
TASK = load_task("hit_and_push")
FIELD = make_field(TASK, [ROBOT])
START = np.array(start_posture(TASK.arms[0], ROBOT))
MOVING = np.array([0.03, -0.05, 0.02, 0.04, -0.01, 0.06, -0.02])


@pytest.fixture
def driven(bench):
    bench.configure()
    bench.field()
    bench.state()
    return bench


def change(driven, **values: object) -> list[tuple[bool, str]]:
    wanted = [Parameter(name, value=value) for name, value in values.items()]
    return [(result.successful, result.reason) for result in driven.node.set_parameters(wanted)]


def first_efforts(session: ControlSession, count: int = 400) -> np.ndarray:
    """Torques of a motion from rest, of a tool that does not follow."""
    now = iter(range(10**6))
    # However quick the machine is: the torque rate holds in the time of the clock, too.
    session.filter._clock = lambda: 0.001 * next(now)
    session.start(10.0, START, np.zeros(7), check=False)
    q = START.copy()
    for k in range(1, count + 1):
        q = q + 0.001 * MOVING
        session.cycle(10.0 + 0.001 * k, q, MOVING)
    assert session.command is not None
    return session.command.effort


def test_what_is_set_before_the_motion_is_what_a_controller_begun_with_it_does(driven):
    assert change(driven, track_damping=27.0, null_space_stiffness=90.0, track_weight=3.0) == [(True, "")] * 3
    wanted = ControlParameters(track_damping=27.0, null_space_stiffness=90.0, track_weight=3.0)
    assert driven.session.parameters == wanted
    tuned = first_efforts(driven.session)
    np.testing.assert_array_equal(tuned, first_efforts(ControlSession(ROBOT, wanted, FIELD)))
    assert np.abs(tuned - first_efforts(ControlSession(ROBOT, None, FIELD))).max() > 0.1
    # Those of laws are made with the same gains.
    derivatives = driven.session.torque_derivatives()
    other = ControlSession(ROBOT, wanted, FIELD)
    first_efforts(other)
    assert derivatives is not None
    np.testing.assert_array_equal(derivatives[1][0].by_velocity, other.torque_derivatives()[1][0].by_velocity)


def test_before_it_is_configured_they_are_those_of_the_session_to_come(make):
    node = make(RsControllerNode)
    assert node.set_parameters([Parameter("sync_weight", value=55.0)])[0].successful
    assert node.trigger_configure() is TransitionCallbackReturn.SUCCESS
    assert node.session.parameters == ControlParameters(sync_weight=55.0)


def test_no_gain_changes_while_the_arm_moves_and_each_may_when_it_holds(driven):
    driven.session.start()
    for mode in (Mode.ANTE, Mode.INTERIM, Mode.POST):
        driven.session._law.mode = mode
        ((done, why),) = change(driven, track_damping=30.0)
        assert not done and why == f"track_damping: can't be set in mode {mode.name}, only while the arm holds"
        assert driven.session.parameters == ControlParameters()
        assert driven.node.get_parameter("track_damping").value == 40.0
        with pytest.raises(InvalidInputError, match=mode.name):
            driven.session.tune(ControlParameters(track_damping=30.0))
    for mode in (Mode.HOLD, Mode.SAFE, Mode.IDLE):
        driven.session._law.mode = mode
        value = 30.0 + mode
        assert change(driven, track_damping=value) == [(True, "")]
        assert driven.session.parameters.track_damping == value


def test_an_arm_that_holds_feels_nothing_of_it(ros_context):
    """Twins that hold, a little off their posture; one is given other gains on the way."""
    numbers = {name: 1.5 * getattr(ControlParameters(), name) for name in TUNABLE}
    efforts, positions = [], []
    for tuned in (False, True):
        session = ControlSession(ROBOT, None, FIELD)
        session.start(1.0, START, np.zeros(7))
        session.cycle(1.001, START, np.zeros(7))
        assert session.events.notify_impact(1.001, 1.001, anywhere=True)
        session.cycle(1.002, START, np.zeros(7))
        session._law.hold()
        for k in range(3, 60):
            if tuned and k == 30:
                session.tune(dataclasses.replace(ControlParameters(), **numbers))
            session.cycle(1.0 + 0.001 * k, START + 1e-5 * k * MOVING, 0.01 * MOVING)
        assert session.mode is Mode.HOLD and session.command is not None
        efforts.append(session.command.effort)
        positions.append(session.command.object_position)
    np.testing.assert_array_equal(*efforts)
    # Nor is it forgotten where the object was found.
    np.testing.assert_array_equal(*positions)
    assert np.abs(positions[0] - FIELD.object_position).max() > 0.01


def test_only_what_is_tunable_is_taken(ros_context):
    session = ControlSession(ROBOT, ControlParameters(hold_stiffness=80.0), FIELD)
    session.tune(ControlParameters(track_damping=30.0, hold_stiffness=5.0, safe_damping=50.0, period=0.002))
    assert session.parameters == ControlParameters(track_damping=30.0, hold_stiffness=80.0)


def test_the_others_are_read_only_and_a_number_that_is_none_changes_nothing(driven):
    ((done, why),) = change(driven, hold_stiffness=5.0)
    assert not done and "read-only" in why
    for value in (-1.0, 1001.0, float("nan")):
        ((done, why),) = change(driven, track_damping=value)
        assert not done and "track_damping" in why
    assert driven.session.parameters == ControlParameters()
    assert "tuned" not in status(driven.node)[2]


def test_diagnostics_tell_what_is_not_as_it_was_at_the_start(driven):
    change(driven, track_damping=27.5, interim_duration=0.08)
    assert status(driven.node)[2]["tuned"] == "track_damping 27.5, interim_duration 0.08"
    change(driven, track_damping=40.0)
    assert status(driven.node)[2]["tuned"] == "interim_duration 0.08"
