"""Seeded hits of flexible-joint arms under the controllers that labs run after a hit, with what truly happened.

An arm of the project's profiles stands still, starts to move, hits a box or a fixed table with a tip that is up to 15
cm from where its profile has it, and then goes on under one of `CONTROLS`. The plant is `MujocoPlant` with elastic
joints and motors; nothing here uses the analysis. Only the tool touches: postures, heights and directions are drawn
without regard to where box and table would meet the links.

The truth of a jump is that of the arm whose joints don't oscillate. With motors that the torque loop gives the inertia
B_theta, links and motors together obey (Rey Arias 2024, (2), (3), (9))

    M dv_link/dt + B_theta dv_motor/dt = u - bias + J^T f,

so the velocity v = (M + B_theta)^-1 (M v_link + B_theta v_motor) moves like the rigid arm's, and what contact has done
to it until t is v(t) less the integral of (M + B_theta)^-1 (u - bias).
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np

from impact_aware.arrays import Array
from impact_aware.errors import NoSolutionError
from impact_aware.robot import RobotModel
from impact_aware.simulation.impact_truth import ImpactTruth
from impact_aware.simulation.plant import MujocoPlant, PlantState
from impact_aware.simulation.scene import TABLE_CONTACT, ArmMount, ContactSettings, Scene, SceneObject
from impact_aware_rigs.bench.lab_draw import PHYSICS_STEP, HitDraw, draw_hit

CYCLE = 5e-4
"""Time between two states of the plant, s."""

CONTROL_CYCLES = 2
"""Cycles of the plant per cycle of the controller."""

JUMP_AFTER = 0.008
"""After first touch the impulse of a single touch is over and the next thing has not begun, s."""

LONGEST = 0.025
"""A contact that ends within this time, with all its touches, counts until then, s; one that stays counts for
`JUMP_AFTER`."""

SAME_CONTACT = 0.015
"""Touches within this time of a contact's first belong to it, s."""

LEAST_AFTER = 0.1
"""Part of a recording after the first touch, s; the arm's protection may end it before its time."""

GRAVITY = 9.81
"""m/s^2."""

_LIMIT = 20.0
"""Largest acceleration that the controller commands, rad/s^2."""


@dataclass(frozen=True, eq=False)
class TrueContact:
    """One contact as the plant had it.

    Attributes:
        time: First touch, s.
        jump: (n,) What it did until it was over to the velocity of the arm without oscillation, rad/s.
        velocity_before: (n,) That velocity at first touch, rad/s.
        point: (3,) Of the contact, base frame, m.
        normal: (3,) From the obstacle into the arm, base frame.
        object_twist_before: (6,) Of the box, base frame, m/s and rad/s.
        object_twist_after: (6,) The same when it was over, less what the table's friction took since the first touch:
            like the arm's jump, what contact with the arm alone did.
        lost: When the arm came off again after its last touch, s; NaN while it stayed.
        losses: The same of every touch that ended, s.
    """

    time: float
    jump: Array
    velocity_before: Array
    point: Array
    normal: Array
    object_twist_before: Array
    object_twist_after: Array
    lost: float
    losses: tuple[float, ...] = ()


@dataclass(frozen=True, eq=False)
class TrueHit:
    """One simulated hit, k states `CYCLE` apart.

    Attributes:
        draw: What was drawn.
        times: (k,) s.
        positions: (k, n) Of the links, rad.
        velocities: (k, n) Of the links, rad/s.
        efforts: (k, n) What link-side torque sensors show, N m.
        commands: (k, n) Commanded link-side torques, N m.
        rigid_velocities: (k, n) Of the arm without oscillation, rad/s.
        object_positions: (k, 3) Centre of the box, base frame, m.
        object_rotations: (k, 3, 3) Its axes, base frame.
        contacts: In order of time.
        switches: Times at which the command changed its kind, s, each with `motion_start` (also the end of a motion)
            or `command_step`.
    """

    draw: HitDraw
    times: Array
    positions: Array
    velocities: Array
    efforts: Array
    commands: Array
    rigid_velocities: Array
    object_positions: Array
    object_rotations: Array
    contacts: tuple[TrueContact, ...]
    switches: tuple[tuple[float, str], ...]


class HitController:
    """The lab's controller: computed torque with a limited acceleration, and what it does after the hit.

    It sees the motors' side, as torque-controlled arms do, so that it does not excite the joints' elasticity.

    Attributes:
        switches: As in `TrueHit`.
    """

    def __init__(self, draw: HitDraw, start: Array) -> None:
        """Begin at rest at `start` (n,), rad."""
        self._draw, self._start = draw, start
        self._hit = np.inf
        self._posture = start
        self._stopped = False
        self._switched = False
        ramp_end = draw.rest + draw.ramp
        self.switches: list[tuple[float, str]] = [(draw.rest, "motion_start"), (ramp_end, "command_step")]

    def torque(self, time: float, q: Array, dq: Array, touched: bool) -> Array:
        """Link-side torque (n,), N m."""
        robot = self._draw.plant
        if touched and not np.isfinite(self._hit):
            self._hit, self._posture = time, q.copy()
        wanted = self._before(time, q, dq) if time < self._hit else self._after(time, q, dq)
        acceleration = np.clip(wanted, -_LIMIT, _LIMIT)
        return np.asarray(robot.bias(q, dq) + robot.mass_matrix(q) @ acceleration)

    def _before(self, time: float, q: Array, dq: Array) -> Array:
        draw = self._draw
        share = np.clip((time - draw.rest) / draw.ramp, 0.0, 1.0)
        if share <= 0.0:
            return np.asarray(400.0 * (self._start - q) - 40.0 * dq)
        speed, slope = share, 1.0 / draw.ramp if share < 1.0 else 0.0
        if draw.soft_start:
            speed, slope = share * share * (3.0 - 2.0 * share), 6.0 * share * (1.0 - share) / draw.ramp
        inverse = np.linalg.pinv(draw.plant.frame_jacobian(q))
        twist = np.concatenate((draw.velocity, np.zeros(3)))
        return np.asarray(slope * (inverse @ twist) + 20.0 * (speed * (inverse @ twist) - dq))

    def _after(self, time: float, q: Array, dq: Array) -> Array:
        draw, late = self._draw, time - self._hit
        if draw.control == "carry_on":
            return self._before(time, q, dq)
        if draw.control == "hold":
            self._switch(self._hit, "command_step")
            return np.asarray(600.0 * (self._posture - q) - 49.0 * dq)
        if draw.control == "free":
            self._switch(self._hit, "command_step")
            return np.asarray(-0.5 * dq)
        if draw.control == "brake":
            if late < draw.reaction:
                return self._before(time, q, dq)
            self._switch(time, "command_step")
            return self._brake(time, dq)
        pause = 2.0 * draw.reaction
        if late < pause:
            self._switch(self._hit, "command_step")
            return -3.0 * dq
        if not self._stopped:
            self._stopped = True
            self.switches.append((time, "command_step"))
        inverse = np.linalg.pinv(draw.plant.frame_jacobian(q))
        target = inverse @ np.concatenate((-0.8 * float(np.linalg.norm(draw.velocity)) * draw.normal, np.zeros(3)))
        wanted = 40.0 * (target - dq)
        return np.asarray(wanted * min(1.0, draw.strength / max(float(np.abs(wanted).max()), 1e-9)))

    def _brake(self, time: float, dq: Array) -> Array:
        fastest = float(np.abs(dq).max())
        if not self._stopped and fastest < self._draw.strength * 0.01:
            self._stopped = True
            self.switches.append((time, "motion_start"))
        return -dq * min(100.0, self._draw.strength / max(fastest, 1e-9))

    def _switch(self, time: float, kind: str) -> None:
        if not self._switched:
            self._switched = True
            self.switches.append((time, kind))


def simulate_hit(draw: HitDraw) -> TrueHit:
    """Run one hit.

    Raises:
        NoSolutionError: The tip does not reach what it should hit.
    """
    robot = draw.plant
    start = draw.touch.copy()
    twist = np.concatenate((draw.velocity, np.zeros(3)))
    steps = 200
    for _ in range(steps):
        # Backwards along the way that the controller will take.
        start -= (0.5 * draw.ramp + draw.cruise) / steps * np.linalg.pinv(robot.frame_jacobian(start)) @ twist
    low, high = robot.model.lowerPositionLimit, robot.model.upperPositionLimit
    if ((start < low) | (start > high)).any():
        raise NoSolutionError("the motion to the hit begins outside the position limits", problem=draw)
    plant, base = _plant(draw)
    state = plant.reset(start)
    controller = HitController(draw, start)
    command, motor = robot.gravity(start), start.copy()
    rows = []
    for index in range(round((draw.rest + draw.ramp + draw.cruise + draw.after) / CYCLE)):
        if index % CONTROL_CYCLES == 0:
            touched = bool(plant.impacts or plant.touching)
            command = controller.torque(state.time, motor, plant.motor_velocity, touched)
        rows.append((state, plant.motor_velocity, command))
        state = plant.step(command)
        motor = motor + CYCLE * plant.motor_velocity
        if _stopped_by_limits(robot, state):
            break
    states = [row[0] for row in rows]
    if not plant.impacts or plant.impacts[0].time < draw.rest or states[-1].time < plant.impacts[0].time + LEAST_AFTER:
        raise NoSolutionError("the arm begins inside what it should hit, or a limit stops it", problem=draw)
    times = np.array([s.time for s in states])
    positions, velocities = np.array([s.q for s in states]), np.array([s.dq for s in states])
    commands = np.array([row[2] for row in rows])
    rigid, pushed = _without_oscillation(
        draw, times, positions, velocities, np.array([row[1] for row in rows]), commands
    )
    twists = np.array([s.object_twist for s in states])
    contacts = _contacts(plant.impacts, base, times, rigid, pushed, twists)
    if not contacts:
        raise NoSolutionError("the simulated tool hit nothing", problem=draw)
    return TrueHit(
        draw=draw,
        times=times,
        positions=positions,
        velocities=velocities,
        efforts=np.array([s.effort for s in states]),
        commands=commands,
        rigid_velocities=rigid,
        object_positions=np.array([s.object_placement.translation for s in states]) - base,
        object_rotations=np.array([s.object_placement.rotation for s in states]),
        contacts=contacts,
        switches=tuple(sorted(controller.switches)),
    )


def _stopped_by_limits(robot: RobotModel, state: PlantState) -> bool:
    """Whether the arm's own protection would have ended the recording: a joint is too fast, or at its stop."""
    low, high = robot.model.lowerPositionLimit, robot.model.upperPositionLimit
    speed = 1.5 * robot.model.velocityLimit
    return bool(((state.q < low) | (state.q > high) | (np.abs(state.dq) > speed)).any())


def _plant(draw: HitDraw) -> tuple[MujocoPlant, Array]:
    """The plant, and where the arm's base stands in its world (3,), m."""
    touch = draw.plant.placement(draw.touch).translation - draw.plant.tool_radius * draw.normal
    sizes = (0.10, 0.12, 0.12)
    if draw.fixed:
        centre, height = np.array([-1.5, 1.5, 0.0]), -touch[2]
    else:
        across = np.array([-draw.normal[1], draw.normal[0], 0.0])
        centre = touch - sizes[0] * draw.normal - draw.lever[0] * across
        height = sizes[2] + draw.lever[1] - touch[2]
    logarithm = np.log(max(draw.restitution, 1e-3))
    damping_ratio = float(-logarithm / np.hypot(np.pi, logarithm))
    contact = ContactSettings(time_constant=0.002, damping_ratio=damping_ratio, friction=draw.friction)
    scene = Scene(
        arms=(ArmMount(robot=draw.robot.name, position=(0.0, 0.0, float(height))),),
        object=SceneObject(
            mass=draw.mass,
            half_sizes=sizes,
            position=(float(centre[0]), float(centre[1]), float("nan")),
            rpy=(0.0, 0.0, 0.0 if draw.fixed else float(np.arctan2(draw.normal[1], draw.normal[0]))),
        ),
        tool_object=contact,
        tool_table=contact,
        cycle=CYCLE,
        substeps=round(CYCLE / PHYSICS_STEP),
        impact_substeps=round(CYCLE / PHYSICS_STEP),
    )
    tool_only = copy.copy(draw.plant)
    tool_only.description = ""  # links without collision geometry
    return MujocoPlant(scene, tool_only, elasticity=draw.elasticity), np.array([0.0, 0.0, float(height)])


def _without_oscillation(
    draw: HitDraw, times: Array, q: Array, dq: Array, motor: Array, commands: Array
) -> tuple[Array, Array]:
    """Velocity of the arm without oscillation, and what contact has done to it so far, both (k, n), rad/s."""
    robot, inertia = draw.plant, draw.plant.apparent_motor_inertia
    rigid, free = np.empty_like(dq), np.empty_like(dq)
    for row in range(len(times)):
        links = robot.mass_matrix(q[row], "M")
        whole = links + np.diag(inertia)
        solved = np.linalg.solve(
            whole,
            np.stack((links @ dq[row] + inertia * motor[row], commands[row] - robot.bias(q[row], dq[row])), axis=1),
        )
        rigid[row], free[row] = solved[:, 0], solved[:, 1]
    # The command is held over each cycle, so that its first value counts for the whole of it.
    moved = np.concatenate((np.zeros((1, robot.n)), np.cumsum(free[:-1] * np.diff(times)[:, None], axis=0)))
    return rigid, rigid - moved


def _contacts(
    impacts: tuple[ImpactTruth, ...], base: Array, times: Array, rigid: Array, pushed: Array, twists: Array
) -> tuple[TrueContact, ...]:
    groups: list[list[ImpactTruth]] = []
    for impact in impacts:
        # A tip that rattles goes on to touch: not all of it is one contact, whose jump is over after some milliseconds.
        if groups and impact.time - groups[-1][0].time < SAME_CONTACT:
            groups[-1].append(impact)
        else:
            groups.append([impact])
    found = []
    for group in groups:
        first = group[0]
        before = max(int(np.searchsorted(times, first.time, side="right")) - 1, 0)
        lasted = group[-1].time_lost - first.time
        until = max(JUMP_AFTER, lasted) if lasted <= LONGEST else JUMP_AFTER
        after = min(int(np.searchsorted(times, first.time + until)), len(times) - 1)
        found.append(
            TrueContact(
                time=first.time,
                jump=pushed[after] - pushed[before],
                velocity_before=rigid[before],
                point=first.point - base,
                normal=first.normal,
                object_twist_before=first.object_twist_before,
                object_twist_after=_unbraked(twists[after], float(times[after] - first.time)),
                lost=group[-1].time_lost,
                losses=tuple(touch.time_lost for touch in group if np.isfinite(touch.time_lost)),
            )
        )
    return tuple(found)


def _unbraked(twist: Array, since: float) -> Array:
    """A twist (6,) of an object that has slid on its table for a time, s, without what that took of its velocity."""
    speed = float(np.linalg.norm(twist[:2]))
    # A contact that begins after the last state has none after it.
    braked = TABLE_CONTACT.friction * GRAVITY * max(since, 0.0)
    found = twist.copy()
    # One that hardly moves was not slid all the time.
    found[:2] *= 1.0 + braked / speed if speed > braked else 1.0
    return found


def hit_of_seed(seed: int | tuple[int, ...], control: str | None = None, *, elastic: bool = True) -> TrueHit:
    """The hit of a seed: the first drawn from it that reaches what it should hit; see `draw_hit`."""
    rng = np.random.default_rng(seed)
    for _ in range(20):
        try:
            return simulate_hit(draw_hit(rng, control, elastic=elastic))
        except NoSolutionError:
            continue
    raise NoSolutionError("twenty drawn hits in a row miss", problem=seed)
