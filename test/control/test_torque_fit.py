"""Torques measured at rest against gravity by the model: what fits passes, and a slip is named."""

import dataclasses
import itertools

import numpy as np
import pinocchio as pin
import pytest

from impact_aware.control import ControlParameters, ControlSession, Mode, SafeReason
from impact_aware.control.braking import HOLD_TORQUE, Braking
from impact_aware.control.safety.torque_fit import (
    EARLY_STATES,
    UNFIT_LATER,
    UNFIT_STATES,
    UnfitArmError,
    torque_misfit,
    torque_tolerance,
)
from impact_aware.robot import RobotModel, load_profile
from impact_aware.task import base_placement, load_task, make_field, start_posture

PROFILE = load_profile("panda")
ROBOT = RobotModel.from_profile(PROFILE)
HOLD = ControlParameters()
START = ROBOT.home + 0.2
POSTURES = [ROBOT.home + np.random.default_rng(seed).uniform(-0.3, 0.3, ROBOT.n) for seed in range(5)]


def loaded(mass):
    """The arm with more at its tool than its profile has, kg."""
    tool = dataclasses.replace(PROFILE.tool, mass=PROFILE.tool.mass + mass)
    return RobotModel.from_profile(dataclasses.replace(PROFILE, tool=tool))


def misfit(q, effort, robot=ROBOT):
    return torque_misfit(robot, q, effort, HOLD)


@pytest.mark.parametrize("q", POSTURES)
def test_torques_of_gravity_fit_with_the_errors_of_any_sensor(q):
    generator = np.random.default_rng(7)
    for _ in range(20):
        assert misfit(q, ROBOT.gravity(q) + generator.uniform(-0.3, 0.3, ROBOT.n)) == ""


@pytest.mark.parametrize("q", POSTURES)
@pytest.mark.parametrize(
    ("effort", "cause"),
    [
        (lambda g: 0.0 * g, "the efforts of joint_states contain no gravity"),
        (lambda g: 2.0 * g, "gravity is commanded to an arm that adds it itself"),
        (lambda g: -g, "a turned sign"),
    ],
)
def test_a_wrong_convention_and_a_turned_sign_are_named(q, effort, cause):
    assert cause in misfit(q, effort(ROBOT.gravity(q)))


@pytest.mark.parametrize("q", POSTURES)
def test_one_turned_joint_is_named(q):
    effort = ROBOT.gravity(q)
    effort[3] *= -1.0
    found = misfit(q, effort)
    assert f"panda_joint4 measures {effort[3]:.3g} N m" in found and "a turned sign of panda_joint4" in found


@pytest.mark.parametrize("q", POSTURES)
def test_a_load_is_named_with_about_its_mass(q):
    assert "as with +2 kg at tool" in misfit(q, loaded(2.0).gravity(q))


@pytest.mark.parametrize("q", POSTURES)
def test_a_turned_base_is_named_with_its_angle(q):
    turned = ROBOT.tilted(pin.rpy.rpyToMatrix(np.radians(50.0), 0.0, 0.0))
    assert "as if it were turned by 50 deg" in misfit(q, turned.gravity(q))
    assert misfit(q, turned.gravity(q), turned) == ""


def sink(q, torque, time=4.0, period=2e-3):
    """How far the tool of a held rigid arm moves under a further joint torque (n,), N m, m, and whether it stands."""
    braking, held, dq = Braking(ROBOT, HOLD), q.copy(), np.zeros(ROBOT.n)
    for k in range(round(time / period)):
        mass_matrix = ROBOT.mass_matrix(held)
        wanted = mass_matrix @ braking.acceleration(k * period, held, dq, mass_matrix)
        dq = dq + period * np.linalg.solve(mass_matrix, wanted - torque)
        held = held + period * dq
    far = np.linalg.norm(ROBOT.placement(held).translation - ROBOT.placement(q).translation)
    return far, np.abs(dq).max() < 1e-4


@pytest.mark.parametrize("joint", [0, 4])
def test_the_predicted_deflection_is_that_of_the_held_arm_and_none_where_it_slips(joint):
    q, braking, direction = ROBOT.home, Braking(ROBOT, HOLD), np.eye(ROBOT.n)[joint]
    mass_matrix, jacobian = ROBOT.mass_matrix(q), ROBOT.frame_jacobian(q)[:3]
    sizes = np.arange(0.1, HOLD_TORQUE, 0.1)
    known = [size for size in sizes if braking.deflection(size * direction, mass_matrix) is not None]
    far, stands = sink(q, 0.8 * known[-1] * direction)
    predicted = np.linalg.norm(jacobian @ braking.deflection(0.8 * known[-1] * direction, mass_matrix))
    # The mass matrix moves with the posture by a few percent.
    assert stands and far == pytest.approx(predicted, rel=0.1)
    assert known[-1] < HOLD_TORQUE and not sink(q, 1.25 * known[-1] * direction)[1]


@pytest.mark.parametrize(("joint", "torque"), [(6, 1.58), (6, -1.58)])
def test_torques_that_the_hold_gives_way_to_are_refused_where_no_joint_is_beyond_its_tolerance(joint, torque):
    q, further = ROBOT.home, torque * np.eye(ROBOT.n)[joint]
    assert (np.abs(further) < torque_tolerance(ROBOT)).all()
    assert "tool would give without end" in misfit(q, ROBOT.gravity(q) + further)
    assert misfit(q, ROBOT.gravity(q) + 0.9 * further) == ""
    assert sink(q, 0.9 * further)[1] and not sink(q, further)[1]


def test_a_softer_hold_gives_way_by_so_much():
    q, soft = ROBOT.home, dataclasses.replace(HOLD, hold_stiffness=100.0)
    effort = loaded(0.9).gravity(q)
    assert misfit(q, effort) == "" and "tool would give by" in torque_misfit(ROBOT, q, effort, soft)


def test_what_nothing_explains_is_refused_all_the_same():
    effort = ROBOT.gravity(ROBOT.home) + np.array([20.0, -20.0, 20.0, -20.0, 3.0, -3.0, 3.0])
    assert "explains it alone" in misfit(ROBOT.home, effort)


# Through the session


class Bench:
    """A session that holds a rigid arm which may take gravity otherwise than its profile says."""

    def __init__(
        self, *, profile_adds=False, adds=False, order=slice(None), profile=PROFILE, lacks=False, declared=True
    ):
        by_profile = dataclasses.replace(profile, command_includes_gravity=not profile_adds)
        self.robot = RobotModel.from_profile(by_profile)
        self.adds, self.order, self.sent = adds, order, np.zeros(ROBOT.n)
        self.q, self.dq, self.now = START.copy(), np.zeros(ROBOT.n), 1.0
        self.measured = ROBOT.gravity(self.q)
        self.fastest, self.lacks, self.push = 0.0, lacks, np.zeros(ROBOT.n)
        times = {"present": lambda: self.now, "clock": lambda: self.now}
        self.session = ControlSession(self.robot, send=self._take, declared=declared, **times)

    def _take(self, command):
        self.sent = command.copy()

    def show(self):
        effort = self.measured - self.lacks * ROBOT.gravity(self.q)
        state = self.now, ROBOT.joint_names, self.q, self.dq, effort
        assert self.session.states.readers[0].take(*state) == ""
        self.session.receive(0)

    def begun(self):
        self.show()
        self.session.activate()
        return self

    def run(self, cycles):
        for _ in range(cycles):
            self.now += 0.001
            self.show()
            torque = self.sent[self.order] + self.adds * ROBOT.gravity(self.q)
            unbalanced = torque + self.push - ROBOT.bias(self.q, self.dq)
            acceleration = np.linalg.solve(ROBOT.mass_matrix(self.q), unbalanced)
            self.dq = self.dq + 0.001 * acceleration
            self.q = self.q + 0.001 * self.dq
            self.measured = torque - ROBOT.apparent_motor_inertia * acceleration
            self.fastest = max(self.fastest, float(np.abs(self.dq).max()))


def test_an_arm_that_fits_is_held_and_nothing_is_unchecked():
    for adds in (False, True):
        bench = Bench(profile_adds=adds, adds=adds).begun()
        bench.run(200)
        assert bench.session.fit.unchecked == ""
        assert bench.session.mode is Mode.IDLE and bench.fastest < 1e-3


def test_torques_that_do_not_fit_refuse_to_start_and_to_hold():
    bench = Bench()
    bench.measured = loaded(2.0).gravity(bench.q)
    bench.show()
    for begin in (bench.session.activate, lambda: bench.session.start()):
        with pytest.raises(UnfitArmError, match="a wrong payload or mass"):
            begin()
    assert not bench.session.active and not bench.sent.any()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda bench: bench.measured.fill(np.nan), "the joint_states of panda_joint1 have no efforts"),
        (lambda bench: bench.dq.fill(0.1), "panda_joint1 and its arm are not at rest"),
    ],
)
def test_what_can_not_be_compared_is_said_and_refuses_nothing(change, reason):
    bench = Bench(profile_adds=True, adds=True)
    change(bench)
    bench.begun()
    assert bench.session.fit.unchecked == reason


def test_efforts_of_a_kind_that_is_not_declared_are_not_compared():
    bench = Bench(profile=dataclasses.replace(PROFILE, effort_kind="current"))
    bench.measured = np.zeros(ROBOT.n)
    bench.begun()
    assert "does not declare efforts as torques" in bench.session.fit.unchecked


def test_efforts_without_gravity_are_zero_at_rest_and_compared_as_torques():
    bench = Bench(profile=dataclasses.replace(PROFILE, effort_kind="without_gravity"), lacks=True).begun()
    bench.run(200)
    assert bench.session.fit.unchecked == "" and bench.session.mode is Mode.IDLE and bench.fastest < 1e-3
    wrong = Bench(profile=dataclasses.replace(PROFILE, effort_kind="without_gravity"))
    wrong.show()
    with pytest.raises(UnfitArmError, match="effort_kind is wrong"):
        wrong.session.activate()


@pytest.mark.parametrize("adds", [True, False])
def test_a_flipped_convention_shows_with_the_first_commands_and_the_arm_is_held_by_the_right_one(adds):
    bench = Bench(profile_adds=not adds, adds=adds).begun()
    bench.run(1500)
    command = bench.session.command
    assert (command.mode, command.reason) == (Mode.SAFE, SafeReason.TORQUES_UNFIT)
    assert f"command_includes_gravity must be {not adds}" in command.detail
    # Gravity acts from the first command until the answer to the state in which it counts, and half of it on average
    # while the torque rate, 1 N m per cycle, takes it back.
    gravity = ROBOT.gravity(START)
    acceleration = np.abs(np.linalg.solve(ROBOT.mass_matrix(START), gravity)).max()
    assert bench.fastest < acceleration * 0.001 * (UNFIT_STATES + 2 + 0.5 * np.abs(gravity).max())
    tool = np.linalg.norm(ROBOT.placement(bench.q).translation - ROBOT.placement(START).translation)
    assert tool < 0.02 and np.abs(bench.dq).max() < 1e-3
    # Whoever leaves the safe mode and begins anew is told again.
    bench.session.reset()
    bench.session.active = False
    with pytest.raises(UnfitArmError, match="command_includes_gravity"):
        bench.session.activate()


@pytest.mark.parametrize("adds", [True, False])
@pytest.mark.parametrize("by_profile", [True, False])
def test_an_undeclared_convention_is_decided_by_the_first_states_and_costs_little_speed(by_profile, adds):
    """Half of gravity is in excess for some states, and for as many as the torque rate takes to remove it."""
    bench = Bench(profile_adds=by_profile, adds=adds, declared=False).begun()
    bench.run(1500)
    assert (bench.session.mode is Mode.SAFE) is (by_profile is not adds)
    assert by_profile is adds or f"command_includes_gravity must be {not adds}" in bench.session.command.detail
    excess = 0.5 * ROBOT.gravity(START)
    acceleration = np.abs(np.linalg.solve(ROBOT.mass_matrix(START), excess)).max()
    assert 1e-3 < bench.fastest < acceleration * 0.001 * (UNFIT_STATES + 2 + 0.5 * np.abs(excess).max()) < 0.3
    assert np.abs(bench.dq).max() < 1e-3
    # Once decided it stays so.
    bench.session.stop()
    bench.run(100)
    bench.fastest = 0.0
    if by_profile is adds:
        bench.session.activate()
        bench.run(100)
        assert bench.fastest < 1e-3


def test_an_undeclared_convention_that_gravity_can_not_show_is_the_profile_s():
    bench = Bench(profile_adds=True, adds=True, declared=False)
    upright = np.zeros(ROBOT.n)
    upright[3], upright[5] = -0.07, 0.1
    bench.q = upright
    bench.measured = ROBOT.gravity(upright)
    assert (np.abs(0.5 * bench.measured) < torque_tolerance(ROBOT)).all()
    bench.begun()
    bench.run(EARLY_STATES + 20)
    np.testing.assert_allclose(bench.session.filter.effort - bench.sent, ROBOT.gravity(bench.q), atol=0.05)
    assert bench.session.mode is Mode.IDLE and bench.fastest < 0.3


def test_commands_that_reach_other_joints_stop_the_arm():
    bench = Bench(order=[1, 0, 2, 4, 3, 5, 6]).begun()
    bench.run(10)
    assert bench.session.command.reason is SafeReason.TORQUES_UNFIT
    assert "another order of the joints" in bench.session.command.detail


@pytest.mark.parametrize(("count", "between"), [(UNFIT_LATER - 1, 0), (UNFIT_LATER, 0), (UNFIT_LATER, 1)])
def test_a_hit_that_is_not_detected_yet_is_no_misfit(count, between):
    bench = Bench(profile_adds=True, adds=True).begun()
    bench.run(EARLY_STATES + 10)
    for _ in range(count):
        bench.measured = bench.measured + 20.0
        bench.run(1 + between)
    bench.run(5)
    assert (bench.session.mode is Mode.SAFE) is (count == UNFIT_LATER and not between)


def test_what_accelerates_the_motors_is_no_misfit():
    bench = Bench(profile_adds=True, adds=True).begun()
    bench.run(EARLY_STATES + 10)
    bench.push = np.array([40.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    for _ in range(UNFIT_LATER + 5):
        bench.run(1)
        # Torques behind the gear are off by more than they may at rest.
        assert (np.abs(bench.measured - bench.sent - ROBOT.gravity(bench.q)) > torque_tolerance(ROBOT)).any()
    assert bench.session.mode is Mode.IDLE and bench.fastest > 0.1


def test_arms_that_do_not_follow_their_commands_end_in_the_safe_mode_whoever_leaves_it():
    """Without feedback no motion may go on, though torques that never fit are found once per activation only."""
    task = load_task("dual_arm_grab")
    bases = [base_placement(arm) for arm in task.arms]
    q = np.concatenate([start_posture(arm, ROBOT) for arm in task.arms])
    session = ControlSession([ROBOT, ROBOT], None, make_field(task, [ROBOT, ROBOT]), bases)
    session.start(1.0, q)
    thrown, still = np.full(q.size, 30.0), np.zeros_like(q)
    stamps = (1.0 + 1e-3 * k for k in itertools.count())
    found = [session.cycle(next(stamps), q, still, effort=thrown) for _ in range(UNFIT_STATES + 2)]
    assert found[-1].reason is SafeReason.TORQUES_UNFIT and "does not follow its commands" in found[-1].detail
    session.reset()
    after = session.cycle(next(stamps), q, still, effort=thrown)
    assert (after.mode, after.reason, after.detail) == (Mode.SAFE, SafeReason.TORQUES_UNFIT, found[-1].detail)
    session.reset()
    with pytest.raises(UnfitArmError, match="does not follow its commands"):
        session.start(next(stamps), q)
    assert session.cycle(next(stamps), q, still).mode is Mode.SAFE
