"""Which reflexes of a Franka a hit would trip, by hand; one that would is refused with the speed that would not."""

import dataclasses
import math

import numpy as np
import pytest

from impact_aware.control.safety.impact_check import check_impact, expected_impact
from impact_aware.control.safety.reflexes import JOINT_STIFFNESS, PAD_STIFFNESS, allowed_speed, check_reflexes, hit_load
from impact_aware.errors import InvalidInputError
from impact_aware.robot import RobotModel
from impact_aware.robot.safety_limits import SafetyLimits
from impact_aware.task import load_task, make_field

FR3 = RobotModel.from_profile("fr3")
BOUND = SafetyLimits.of(FR3).sensor_torque
TASK = load_task("hit_and_push")
IMPACT = expected_impact(make_field(TASK, [FR3]), FR3, task=TASK)


def faster(factor):
    """The hit with all velocities times a factor."""
    scaled = {name: factor * getattr(IMPACT, name) for name in ("velocity_before", "velocity_after", "joint_impulse")}
    return dataclasses.replace(IMPACT, normal_speed=factor * IMPACT.normal_speed, energy=0.0, **scaled)


def test_the_peak_force_is_that_of_a_half_sine_with_the_impulse():
    load = hit_load(IMPACT, FR3, BOUND)
    times = np.linspace(0.0, load.duration, 10001)
    sine = load.force * np.sin(math.pi * times / load.duration)
    impulse = float(np.trapezoid(sine, times))
    reached = FR3.frame_jacobian(IMPACT.posture)[:3].T
    assert impulse == pytest.approx(np.linalg.norm(np.linalg.lstsq(reached, IMPACT.joint_impulse)[0]), rel=1e-6)
    # Of a mass p / v on a spring, whose half period it is.
    assert load.duration == pytest.approx(math.pi * math.sqrt(impulse / IMPACT.normal_speed / PAD_STIFFNESS))
    # Thresholds are half as much again, those about the axes of a lever of 0.25 m.
    torque, force = load.thresholds
    np.testing.assert_allclose(torque, np.maximum(1.5 * load.external_torque, 20.0))
    np.testing.assert_allclose(force, 1.5 * load.force * np.repeat([1.0, 0.25], 3))


def test_a_sensor_carries_gravity_and_what_decelerates_its_motor():
    stiff = hit_load(IMPACT, FR3, BOUND, 1e8)
    motors = FR3.motor_inertia_for("M+B_theta")
    # An instantaneous jump leaves the motor on its spring, which stops it in half a period.
    swing = np.abs(IMPACT.jump) * 0.5 * np.sqrt(JOINT_STIFFNESS * motors)
    expected = swing + np.abs(FR3.gravity(IMPACT.posture))
    np.testing.assert_allclose(stiff.sensor_torque, expected, rtol=1e-9)
    assert (hit_load(IMPACT, FR3, BOUND).sensor_torque < stiff.sensor_torque).all()


@pytest.mark.parametrize("stiffness", [3e4, 3e5, 3e6])
def test_no_reflex_trips_at_the_speed_that_is_named_and_one_does_well_above(stiffness):
    load = hit_load(IMPACT, FR3, BOUND, stiffness)
    factor = allowed_speed(IMPACT, FR3, load, BOUND) / IMPACT.normal_speed
    assert check_reflexes(faster(0.999 * factor), FR3, BOUND, stiffness).trips[0].share <= 1.0
    with pytest.raises(InvalidInputError, match=r"impact_velocity: got .* m/s, where .*, that is [\d.]+ m/s"):
        check_reflexes(faster(1.5 * factor), FR3, BOUND, stiffness)


def test_the_check_of_an_impact_knows_them_where_the_profile_has_the_sensors_range():
    check_impact(IMPACT, FR3)
    weak = SafetyLimits.of(FR3, sensor_torque=30.0)
    with pytest.raises(InvalidInputError, match=r"fr3_joint2 would get .* N m \(tau_J_range_violation\)"):
        check_impact(IMPACT, FR3, weak)
    check_impact(IMPACT, FR3, dataclasses.replace(weak, sensor_torque=np.full(1, math.inf)))
