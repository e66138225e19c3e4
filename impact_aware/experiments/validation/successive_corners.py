"""Contacts between soft pads that meet one after another: limits, laws, small time steps, and MuJoCo's pads."""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from impact_aware.arrays import Array
from impact_aware.contact.box import Box
from impact_aware.contact.shape import PlacedShape
from impact_aware.errors import InvalidInputError
from impact_aware.experiments.validation.check import Check, Source, ValidationContext
from impact_aware.experiments.validation.mujoco_reference import (
    BASES,
    FACING,
    HALF_SIZES,
    MASS,
    PAD,
    box_between_palms,
)
from impact_aware.experiments.validation.simultaneous_energy import DrawnImpact, Violations, random_impact, violations
from impact_aware.impact.bodies import ArmState, BodyContact, joint_problem
from impact_aware.impact.cone_complementarity import SOLVED, solve_cone_complementarity
from impact_aware.impact.palm import face_gaps, palm_contacts
from impact_aware.impact.simultaneous import predict_simultaneous
from impact_aware.impact.successive import follow_successive
from impact_aware.robot import RobotModel
from impact_aware.robot.inverse_kinematics import solve_inverse_kinematics

TIME_CONSTANT = 0.002
"""Time constant of the shipped pads, s."""

_SHARE = 10
"""One in so many trials is followed in small time steps, and one in so many in MuJoCo."""

# Gaps of a millimetre closed at some 0.3 m/s, over a time constant of 0.3 s, are a hundredth of it.
_SOFT, _SOFT_LIMIT = 0.3, 0.01
_LONG, _HARD, _LIMIT = 0.01, 1e-7, 1e-5
_STEPS = 500
_STILL = 1e-6  # m/s
_DURATION, _TIMESTEP = 0.01, 2e-5
_FRICTION = 0.8
# Mean errors, %, of joints and box: half as much again as the worst of seeds 0, 1 and 2.
_BOUNDS = {"frictionless": (4.6, 2.1), "rough": (4.3, 3.4)}

_LAWS = Source(
    "aim of this package",
    "aim",
    "the boxes of `simultaneous` without restitution, half of the contacts open by up to 1 mm, pads of 2 ms",
)
_LIMITS = Source("soft pads", "consistency", "the same impacts; tau is the pads' time constant")
_STEPPED = Source("soft pads", "consistency", "explicit steps of tau / 500 of q' = (P(q) - q) / tau, 4 tau")
_MUJOCO = Source(
    "MuJoCo",
    "aim",
    "two Pandas and a free box of 2.20 kg, pads of 80 x 80 mm askew by up to 0.5 deg, corners open by up to a "
    "millimetre, 0.1-0.4 m/s each; contact time constant 4 ms and damping ratio 5, which is tau = 2 ms, after 10 ms; "
    "of the box over 0.1 m/s at least; rough: friction 0.8 in both",
)


class _Drawn(NamedTuple):
    """An impact, its gaps (m,), m, and what joins its bodies."""

    impact: DrawnImpact
    gaps: Array
    delassus: Array
    velocity: Array
    friction: Array

    def course(self, time_constant: float, until: float, gaps: Array | None = None) -> Array:
        """Contact velocities (3 m,) after a time, s."""
        open_gaps = self.gaps if gaps is None else gaps
        found = follow_successive(self.delassus, self.velocity, self.friction, open_gaps, time_constant, until=until)
        return np.asarray(self.velocity + self.delassus @ found.impulse)


def successive(context: ValidationContext) -> list[Check]:
    """All checks of `impact/successive.py`."""
    robot, generator = RobotModel.from_profile("panda"), np.random.default_rng(context.seed)
    kept: list[Violations] = []
    residual, together, hard = 0.0, 0.0, 0.0
    soft: list[float] = []
    stepped: list[float] = []
    for trial in context.count(context.trials):
        drawn = _draw(robot, generator)
        impact = drawn.impact
        found = predict_simultaneous(
            impact.contacts, arms=impact.arms, objects=impact.objects, gaps=drawn.gaps, time_constant=TIME_CONSTANT
        )
        kept.append(violations(impact, found))
        residual = max(residual, found.residual)
        speed = float(np.abs(drawn.velocity).max())
        if found.residual > SOLVED:
            continue
        flush = drawn._replace(gaps=np.zeros_like(drawn.gaps))
        together = max(together, _at_once(flush, TIME_CONSTANT) / speed)
        if trial % _SHARE:
            continue
        soft.append(_at_once(drawn, _SOFT) / speed)
        beside = drawn.course(TIME_CONSTANT, 4.0 * TIME_CONSTANT) - _small_steps(drawn)
        stepped.append(float(np.abs(beside).max()) / speed)
        # A contact that touches and moves apart may be closed again at once, within the others' impact.
        clear = drawn._replace(gaps=np.where((drawn.gaps == 0.0) & (drawn.velocity[::3] > 0.0), np.inf, drawn.gaps))
        if not (clear.gaps == 0.0).any():
            continue
        apart = clear.course(_HARD, _LONG) - _one_by_one(clear, _LONG)
        hard = max(hard, float(np.abs(apart).max()) / speed)
    count = f"{context.trials} impacts"
    return [
        _LAWS.at_most(f"kinetic energy gained, share of that before, {count}", 0.0, max(v.gain for v in kept), 1e-8),
        _LAWS.at_most("impulse outside its cone, share of the largest", 0.0, max(v.cone for v in kept), 1e-8),
        _LAWS.at_most("largest residual of what stands for a solution", 0.02, residual),
        _LIMITS.equal("no gaps against all at once, share of the speed", 0.0, together, 1e-6),
        _LIMITS.equal("tau of 0.3 s against all at once, share of the speed, mean", 0.0, np.mean(soft), _SOFT_LIMIT),
        _LIMITS.equal("tau of 0.1 us against one impact after the other, share of the speed", 0.0, hard, _LIMIT),
        _STEPPED.equal("against small time steps, share of the speed, mean", 0.0, np.mean(stepped), 0.001),
        *_pads(context, robot, generator),
    ]


def _draw(robot: RobotModel, generator: np.random.Generator) -> _Drawn:
    """A random impact without restitution, with gaps; at least one contact touches."""
    impact = random_impact(robot, generator)
    contacts = [BodyContact(c.body, c.normal, c.point, c.other, c.friction) for c in impact.contacts]
    gaps = np.where(generator.random(len(contacts)) < 0.5, generator.uniform(0.0, 1e-3, len(contacts)), 0.0)
    gaps[int(generator.integers(len(contacts)))] = 0.0
    joined = joint_problem(contacts, arms=impact.arms, objects=impact.objects)
    friction = np.array([contact.friction for contact in contacts])
    velocity = joined.jacobian @ joined.velocity
    return _Drawn(impact._replace(contacts=contacts), gaps, joined.delassus, velocity, friction)


def _at_once(drawn: _Drawn, time_constant: float) -> float:
    """By how much those that approach differ from one impact of them all, m/s."""
    meeting = drawn.velocity[::3] < 0.0
    if not meeting.any():
        return 0.0
    jump, gaps = _jump(drawn, drawn.velocity, meeting), np.where(meeting, drawn.gaps, np.inf)
    gaps -= gaps.min()
    return float(np.abs(drawn.course(time_constant, 40.0 * time_constant, gaps) - drawn.velocity - jump).max())


def _one_by_one(drawn: _Drawn, until: float) -> Array:
    """Rigid contacts: each touch is an impact of all that touch then, between them bodies move on."""
    gaps, velocity, time = drawn.gaps.copy(), drawn.velocity.copy(), 0.0
    for _ in range(8 * len(gaps)):
        touching = (gaps <= 1e-12) & (velocity[::3] <= _STILL)
        velocity = velocity + _jump(drawn, velocity, touching)
        speeds = velocity[::3]
        coming = ~touching & (speeds < 0.0)
        times = np.where(coming, -gaps / np.where(coming, speeds, -1.0), np.inf)
        next_one = int(np.argmin(times))
        if time + times[next_one] >= until:
            break
        time += float(times[next_one])
        gaps = np.maximum(gaps + times[next_one] * speeds, 0.0)
        gaps[next_one] = 0.0
    return velocity


def _small_steps(drawn: _Drawn) -> Array:
    """Explicit steps of the differential equation, gaps followed by their velocities."""
    gaps, velocity, step = drawn.gaps.copy(), drawn.velocity.copy(), TIME_CONSTANT / _STEPS
    for _ in range(4 * _STEPS):
        velocity = velocity + _jump(drawn, velocity, (gaps <= 0.0) & (velocity[::3] <= _STILL)) / _STEPS
        gaps = gaps + step * velocity[::3]
    return velocity


def _jump(drawn: _Drawn, velocity: Array, touching: NDArray[np.bool_]) -> Array:
    """What the impact of all contacts that touch would change the velocities (3 m,) by."""
    if not touching.any():
        return np.zeros_like(velocity)
    rows = _rows(np.flatnonzero(touching))
    found = solve_cone_complementarity(drawn.delassus[np.ix_(rows, rows)], velocity[rows], drawn.friction[touching])
    return np.asarray(drawn.delassus[:, rows] @ found.impulse)


def _rows(contacts: NDArray[np.intp]) -> NDArray[np.intp]:
    return (3 * contacts[:, None] + np.arange(3)).ravel()


def _pads(context: ValidationContext, robot: RobotModel, generator: np.random.Generator) -> list[Check]:
    """Palms that are askew against MuJoCo's soft pads."""
    errors: dict[str, list[tuple[float, float]]] = {"frictionless": [], "rough": []}
    for _ in range(-(-context.trials // _SHARE)):
        state = _askew(robot, generator)
        for kind, friction in (("frictionless", 0.0), ("rough", _FRICTION)):
            errors[kind].append(_compare(robot, state, friction))
    return [
        _MUJOCO.at_most(f"{kind}: mean relative error of {what}, %", bound, 100.0 * mean)
        for kind, found in errors.items()
        for what, bound, mean in zip(
            ("the joints' jump", "the box's velocity"), _BOUNDS[kind], np.mean(found, axis=0), strict=True
        )
    ]


class _Askew(NamedTuple):
    """Two palms beside a box: postures and velocities of the arms, contacts, gaps, and the box's centre."""

    arms: dict[str, ArmState]
    contacts: list[BodyContact]
    gaps: Array
    centre: Array


def _askew(robot: RobotModel, generator: np.random.Generator) -> _Askew:
    """Palms with random tilts, one of which touches with its first corner while the other one may be late."""
    while True:
        centre = np.array([generator.uniform(0.45, 0.6), 0.0, generator.uniform(0.35, 0.5)])
        body = PlacedShape(Box(tuple(HALF_SIZES.tolist())), centre)
        late = dict(zip(BASES, generator.permutation([0.0, generator.uniform(0.0, 1e-3)]), strict=True))
        arms, contacts, gaps = {}, [], []
        try:
            for arm, facing in FACING.items():
                tilt = pin.exp3(np.radians(generator.uniform(-0.5, 0.5, 3)))
                rotation = tilt @ pin.utils.rotate("x", -facing * 0.5 * np.pi)
                shift, seed = generator.uniform(-0.03, 0.03, 2), int(generator.integers(2**31))
                place = centre + [shift[0], -facing * (HALF_SIZES[1] + PAD.half_sizes[2]), shift[1]]
                middle = BodyContact(arm, np.array([0.0, -facing, 0.0]), place, "box")
                for _ in range(2):
                    tool = pin.SE3(rotation, place)
                    corners = palm_contacts(middle, tool, PAD.half_sizes, body)
                    distances = face_gaps(corners, tool, PAD.half_sizes, body)
                    place = place + middle.normal * (late[arm] - distances.min())
                q = solve_inverse_kinematics(robot, pin.SE3(rotation, tool.translation - BASES[arm]), seed=seed)
                twist = np.append(generator.uniform(-0.05, 0.05, 3), np.zeros(3))
                twist[1] = facing * generator.uniform(0.1, 0.4)
                dq = np.linalg.pinv(robot.frame_jacobian(q)) @ twist
                arms[arm] = ArmState(robot, q, dq, position=BASES[arm])
                contacts += corners
                gaps.append(distances)
        except InvalidInputError:
            continue
        return _Askew(arms, contacts, np.maximum(np.concatenate(gaps), 0.0), centre)


def _compare(robot: RobotModel, state: _Askew, friction: float) -> tuple[float, float]:
    """Relative errors of the joints' jump and of the box's velocity."""
    model, _ = box_between_palms(
        robot, state.centre, friction, time_constant=2.0 * TIME_CONSTANT, damping_ratio=5.0, timestep=_TIMESTEP
    )
    data, before = mujoco.MjData(model), np.concatenate([arm.dq for arm in state.arms.values()])
    data.qpos[: before.size] = np.concatenate([arm.q for arm in state.arms.values()])
    data.qvel[: before.size] = before
    for _ in range(round(_DURATION / _TIMESTEP)):
        mujoco.mj_step(model, data)
    contacts = [BodyContact(c.body, c.normal, c.point, c.other, friction) for c in state.contacts]
    box = PlacedShape(Box(tuple(HALF_SIZES.tolist())), state.centre).free_object(MASS)
    joined = joint_problem(contacts, arms=state.arms, objects={"box": box})
    gaps = np.where(state.gaps < 1e-7, 0.0, state.gaps)
    course = follow_successive(
        joined.delassus,
        joined.jacobian @ joined.velocity,
        np.full(len(contacts), friction),
        gaps,
        TIME_CONSTANT,
        until=_DURATION,
    )
    after = joined.velocity + joined.response @ course.impulse
    jump = data.qvel[: before.size] - before
    joints = float(np.linalg.norm(after[: before.size] - data.qvel[: before.size]) / np.linalg.norm(jump))
    true = data.qvel[before.size : before.size + 3]
    off = float(np.linalg.norm(after[before.size : before.size + 3] - true))
    return joints, off / max(float(np.linalg.norm(true)), 0.1)
