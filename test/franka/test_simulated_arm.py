"""What the simulated Franka refuses and reports, by libfranka's own client."""

import numpy as np
import pytest

from impact_aware_rigs.franka.errors import ERRORS, LOST_IN_A_ROW

pylibfranka = pytest.importorskip("pylibfranka")

ALLOWED, REFUSED = 0.99, 1.01
"""Torque steps below and above 1000 N m/s in a cycle of 1 ms, N m."""


def run(robot, cycles, torque=lambda cycle: np.zeros(7), end=True):
    """Command torques in a motion of so many cycles; the state of each."""
    control = robot.start_torque_control()
    states = []
    for cycle in range(cycles):
        states.append(control.readOnce()[0])
        command = pylibfranka.Torques(np.asarray(torque(cycle), dtype=float).tolist())
        command.motion_finished = end and cycle == cycles - 1
        control.writeOnce(command)
    return states


def on_joint(joint, value):
    return np.eye(7)[joint] * value


def test_every_command_answers_the_state_before_it(arm, robot):
    before = arm.status()
    states = run(robot, 200)
    after = arm.status()
    times = np.array([state.time.to_sec() for state in states])
    # The first commands may answer states that the arm has superseded; afterwards none is passed over.
    assert np.allclose(np.diff(times)[3:], 0.001)
    assert after.states_lost == before.states_lost
    # The last command ends the motion and acts on nothing.
    superseded = after.states_ahead - before.states_ahead
    assert after.commands - before.commands == 199 - superseded and superseded <= 3
    assert states[-1].control_command_success_rate == 1.0


def test_the_torque_step_counts_from_the_desired_torque(arm, robot):
    states = run(robot, 60, lambda cycle: on_joint(6, ALLOWED * min(cycle, 1)))
    assert states[-1].tau_J_d[6] == pytest.approx(ALLOWED)
    with pytest.raises(pylibfranka.ControlException, match="controller_torque_discontinuity"):
        run(robot, 60, lambda cycle: on_joint(6, REFUSED * min(cycle, 1)))
    assert arm.mode == "Reflex" and arm.errors == ("controller_torque_discontinuity",)


def test_lost_commands_lower_the_success_rate_and_keep_the_torque(arm, robot):
    control = robot.start_torque_control()
    rates = []
    for cycle in range(150):
        if cycle == 50:
            arm.lose(LOST_IN_A_ROW - 1)
        state, _ = control.readOnce()
        rates.append(state.control_command_success_rate)
        control.writeOnce(pylibfranka.Torques(on_joint(6, 0.1 if cycle < 50 else 0.2).tolist()))
        if cycle == 60:
            assert state.tau_J_d[6] == pytest.approx(0.1)
    end = pylibfranka.Torques([0.0] * 7)
    end.motion_finished = True
    control.readOnce()
    control.writeOnce(end)
    assert min(rates[5:]) == pytest.approx(1.0 - (LOST_IN_A_ROW - 1) / min(100, 50 + LOST_IN_A_ROW), abs=0.05)
    assert arm.mode == "Idle"


def test_twenty_lost_commands_end_the_motion(arm, robot):
    arm.lose(LOST_IN_A_ROW)
    with pytest.raises(pylibfranka.ControlException, match="communication_constraints_violation"):
        run(robot, 100)
    assert arm.states_lost_by_chance == 0


@pytest.mark.parametrize("name", ERRORS)
def test_errors_have_their_names_on_the_wire(arm, robot, name):
    arm.trip(name)
    state = robot.read_once()
    while state.robot_mode != pylibfranka.RobotMode.Reflex:
        state = robot.read_once()
    present = [own for own in ERRORS if getattr(state.current_errors, own)]
    assert present == [name]
    robot.automatic_error_recovery()
    assert arm.mode == "Idle" and arm.errors == ()


def test_collision_thresholds_are_those_of_the_client(arm, robot):
    def collide(torque, force):
        robot.set_collision_behavior([torque] * 7, [torque] * 7, [force] * 6, [force] * 6)

        def torque(cycle):
            if cycle == 20:
                arm.pull(on_joint(0, 15.0), 0.05)
            return np.zeros(7)

        run(robot, 200, torque)

    with pytest.raises(pylibfranka.ControlException, match="joint_reflex"):
        collide(10.0, 1000.0)
    robot.automatic_error_recovery()
    with pytest.raises(pylibfranka.ControlException, match="cartesian_reflex"):
        collide(100.0, 5.0)
    robot.automatic_error_recovery()
    collide(100.0, 1000.0)


def test_the_torque_sensors_show_gravity_and_commands_leave_it_out(arm, robot):
    from impact_aware.robot import RobotModel

    model = RobotModel.from_profile("fr3")
    robot.set_load(0.2, [0.0, 0.0, 0.1234], (7.2e-5 * np.eye(3)).ravel().tolist())
    state = run(robot, 300)[-1]
    gravity = model.gravity(np.array(state.q))
    assert np.abs(gravity).max() > 20.0
    # Hand and joints' friction differ from the profile's by less than this.
    assert np.abs(np.array(state.tau_J) - gravity).max() < 1.5
    assert np.abs(np.array(state.q) - arm.options.posture).max() < 0.01
    assert np.abs(state.dq).max() < 0.01


def test_the_user_stop_ends_a_motion_and_prevents_recovery(arm, robot):
    control = robot.start_torque_control()
    for _ in range(20):
        control.readOnce()
        control.writeOnce(pylibfranka.Torques([0.0] * 7))
    arm.user_stop()
    with pytest.raises(pylibfranka.ControlException, match="User Stop"):
        for _ in range(20):
            control.readOnce()
            control.writeOnce(pylibfranka.Torques([0.0] * 7))
    del control
    with pytest.raises(pylibfranka.CommandException):
        robot.automatic_error_recovery()
    with pytest.raises(pylibfranka.CommandException):
        robot.start_torque_control()
    arm.user_stop(False)
    assert arm.mode == "Idle"


def test_a_passive_arm_can_be_guided(arm, robot):
    target = np.array(arm.q) + 0.1
    arm.guide(target, 1.0)
    state = robot.read_once()
    modes = {state.robot_mode}
    while arm.mode == "Guiding":
        modes.add(robot.read_once().robot_mode)
    assert pylibfranka.RobotMode.Guiding in modes
    assert np.abs(np.array(arm.q) - target).max() < 0.03
    run(robot, 50)
