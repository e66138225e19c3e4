"""Which inertia predicts the jump of the whole seven-joint arm with flexible joints (Rey Arias 2024, (1)-(9))."""

from __future__ import annotations

import numpy as np

from impact_aware.arrays import Array
from impact_aware.contact.geometry import Contact
from impact_aware.contact.hunt_crossley import ExponentialHuntCrossley
from impact_aware.estimation.polynomial import PolynomialEstimator
from impact_aware.experiments.arm_controllers import PressingForce
from impact_aware.experiments.validation.check import Check, at_least, at_most
from impact_aware.experiments.validation.context import ValidationContext
from impact_aware.impact import predict
from impact_aware.robot import INERTIA_CHOICES, RobotModel
from impact_aware.simulation.flexible_joint import FlexibleJointArm
from impact_aware.simulation.joint_elasticity import JointElasticity
from impact_aware.simulation.surface_contact import surface_at

_UP = np.array([0.0, 0.0, 1.0])
_APPROACH, _WINDOW = 0.010, 0.100
_ASSUMPTION = (
    "Panda, joint stiffness 10 kN m/rad, damping 20 N m s/rad, B_rho of the FR3, B_theta = B_rho / 5; 0.1-0.3 m/s, "
    "30-90 deg, any azimuth; gravity and Coriolis compensated, the tool pressed down with 20 N; the truth is the cubic "
    "position fit over 100 ms"
)


def flexible_seven_joints(context: ValidationContext) -> list[Check]:
    """Random impacts of the seven-joint arm on a horizontal surface: mean error of the three inertias."""
    robot = RobotModel.from_profile("panda")
    arm = FlexibleJointArm(robot, JointElasticity.of(robot))
    generator = np.random.default_rng(context.seed)
    error: dict[str, list[Array]] = {choice: [] for choice in INERTIA_CHOICES}
    count = max(context.trials // 10, 1)
    for _ in context.count(count):
        for choice, deviation in _deviations(arm, generator).items():
            error[choice].append(deviation)
    mean = {choice: float(np.mean(values)) for choice, values in error.items()}
    return [
        *(
            at_least(
                "Rey Arias 2024 II-C",
                f"mean error with {choice} over that with M + B_theta, {count} impacts",
                1.0,
                mean[choice] / mean["M+B_theta"],
                assumption=_ASSUMPTION,
            )
            for choice in ("M", "M+B_rho")
        ),
        at_most(
            "Rey Arias 2024 Table II",
            "largest error with M + B_theta, deg/s",
            7.0,
            float(np.max(error["M+B_theta"])),
            assumption=_ASSUMPTION,
        ),
    ]


def _deviations(arm: FlexibleJointArm, generator: np.random.Generator) -> dict[str, Array]:
    """Errors (7,) of one impact, deg/s, by inertia."""
    robot = arm.robot
    q = robot.home + generator.uniform(-0.25, 0.25, robot.n)
    speed, angle = generator.uniform(0.1, 0.3), np.radians(generator.uniform(30.0, 90.0))
    azimuth = generator.uniform(0.0, 2.0 * np.pi)
    velocity = speed * np.array([np.cos(angle) * np.cos(azimuth), np.cos(angle) * np.sin(azimuth), -np.sin(angle)])
    dq = np.linalg.pinv(robot.frame_jacobian(q)) @ np.append(velocity, np.zeros(3))
    surface = surface_at(
        np.array(robot.placement(q).translation),
        robot.tool_radius,
        _UP,
        -velocity[2] * _APPROACH,
        ExponentialHuntCrossley(1e8, 2e10),
    )
    run = arm.simulate(q, dq, PressingForce(robot, (0.0, 0.0, -20.0)), surface, _APPROACH + _WINDOW + 0.015)
    after = run.time > run.impact_time
    truth = PolynomialEstimator(_WINDOW, 3).fit(run.time[after] - run.impact_time, run.q[after]).velocity
    contact = Contact(robot.tool_frame, _UP, radius=robot.tool_radius)
    return {
        choice: np.degrees(
            np.abs(
                predict(
                    robot, run.q_impact, run.velocity_before, contact, method="frictionless", inertia=choice
                ).velocity_after
                - truth
            )
        )
        for choice in INERTIA_CHOICES
    }
