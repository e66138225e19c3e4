"""Simulated impacts, and an hour of hard motion without any, for holding detectors against a known truth.

Half of the impacts happen to rigid joints in MuJoCo (on a free box and on a fixed table), half to flexible joints with
a torque loop against a stiff surface. In both the tool starts from rest, is brought to its speed within 0.1 s by a
torque controller, travels at an angle to the contact normal, and is pushed on after the impact. Only the tool touches:
postures, heights and directions are drawn without regard to where box and table would meet the links.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pinocchio as pin
from scipy.signal import lfilter

from impact_aware.arrays import Array
from impact_aware.contact.force_models import ExponentialHuntCrossley
from impact_aware.detection import JointSample
from impact_aware.experiments.models.flexible_joint import FlexibleJointArm, surface_at
from impact_aware.robot import RobotModel
from impact_aware.simulation.joint_elasticity import JointElasticity
from impact_aware.simulation.plant import MujocoPlant
from impact_aware.simulation.scene import ArmMount, ContactSettings, Scene, SceneObject

PERIOD = 1e-3
RAMP = 0.10
CRUISE = 0.08
AFTER = 0.08
BOX_HALF_SIZES = (0.10, 0.10, 0.15)
PLANTS = ("rigid_box", "rigid_table", "flexible")


@dataclass(frozen=True)
class MeasurementNoise:
    """What the sensors add to the true state; normal distributions, independent from sample to sample.

    Attributes:
        encoder_resolution: Positions are rounded to multiples of it, rad.
        position: Standard deviation before rounding, rad.
        velocity: Standard deviation, rad/s.
        effort: Standard deviation, N m.
    """

    encoder_resolution: float = 1e-5
    position: float = 5e-6
    velocity: float = 2e-3
    effort: float = 0.05


@dataclass(frozen=True, eq=False)
class DetectionTrial:
    """One recording of m samples and what truly happened in it.

    Attributes:
        times: (m,) s.
        positions: (m, n) rad.
        velocities: (m, n) rad/s.
        efforts: (m, n) Link-side torques, N m.
        effort_references: (m, n) Link-side torques to be expected without contact, N m.
        impact_times: First contacts, s; none in free motion.
        speed: Tool speed just before the first contact, m/s.
        angle: Angle between its direction and the normal, rad.
        normal: (3,) Contact normal, base frame.
        jump: (n,) True jump of the joint velocities within 10 ms, rad/s; zero without an impact.
        plant: One of `PLANTS`, or `free`.
    """

    times: Array
    positions: Array
    velocities: Array
    efforts: Array
    effort_references: Array
    impact_times: tuple[float, ...] = ()
    speed: float = 0.0
    angle: float = 0.0
    normal: Array | None = None
    jump: Array | None = None
    plant: str = "free"

    def samples(self) -> Iterator[JointSample]:
        """What a detector gets, one sample after the other."""
        columns = (self.positions, self.velocities, self.efforts, self.effort_references)
        return (JointSample(*row) for row in zip(self.times.tolist(), *columns, strict=True))

    def measured(self, noise: MeasurementNoise, seed: int) -> DetectionTrial:
        """Return what sensors with that noise would have recorded."""
        rng = np.random.default_rng(seed)
        shape = self.positions.shape
        positions = self.positions + noise.position * rng.standard_normal(shape)
        if noise.encoder_resolution > 0.0:
            positions = np.round(positions / noise.encoder_resolution) * noise.encoder_resolution
        return replace(
            self,
            positions=positions,
            velocities=self.velocities + noise.velocity * rng.standard_normal(shape),
            efforts=self.efforts + noise.effort * rng.standard_normal(shape),
        )


class Swing:
    """Torque controller that brings the tool to a constant velocity within `RAMP` and keeps it there.

    Attributes:
        references: What the link side should feel of each torque so far, N m.
    """

    def __init__(self, robot: RobotModel, velocity: Array) -> None:
        """Keep the arm and the tool velocity (3,), m/s, that it comes to."""
        self._robot, self._velocity = robot, velocity
        self.references: list[Array] = []

    def __call__(self, time: float, position: Array, velocity: Array) -> Array:
        """Joint torques (n,), N m."""
        robot = self._robot
        share = min(time / RAMP, 1.0)
        speed = share * share * (3.0 - 2.0 * share)
        slope = 6.0 * share * (1.0 - share) / RAMP
        inverse = np.linalg.pinv(robot.frame_jacobian(position))
        twist = np.concatenate((self._velocity, np.zeros(3)))
        acceleration = inverse @ (slope * twist) + 20.0 * (inverse @ (speed * twist) - velocity)
        # The arm of a real robot is limited in what it does about an impact.
        acceleration = np.clip(acceleration, -20.0, 20.0)
        torque = robot.bias(position, velocity) + robot.mass_matrix(position) @ acceleration
        self.references.append(torque - robot.apparent_motor_inertia * acceleration)
        return torque


@dataclass(frozen=True, eq=False)
class _Hit:
    """Random parameters of one impact: m/s, rad, kg, and unit vectors in the base frame."""

    robot: RobotModel
    plant: str
    speed: float
    angle: float
    posture: Array
    normal: Array
    tangent: Array
    friction: float
    mass: float

    @property
    def velocity(self) -> Array:
        """Velocity of the tool (3,), m/s."""
        return self.speed * (np.sin(self.angle) * self.tangent - np.cos(self.angle) * self.normal)

    @property
    def travel(self) -> Array:
        """Displacement of the tool from its start to the contact (3,), m."""
        return self.velocity * (0.5 * RAMP + CRUISE)

    def trial(self, columns: Sequence[Array], impact_times: Sequence[float], jump: Array) -> DetectionTrial:
        """The recording; `columns` are its times, positions, velocities, efforts and expected efforts."""
        times, positions, velocities, efforts, references = columns
        return DetectionTrial(
            times,
            positions,
            velocities,
            efforts,
            references,
            impact_times=tuple(float(time) for time in impact_times),
            speed=self.speed,
            angle=self.angle,
            normal=self.normal,
            jump=jump,
            plant=self.plant,
        )


def simulate_trial(robot: RobotModel, plant: str, seed: int) -> DetectionTrial:
    """Simulate one impact of speed 0.05-0.5 m/s at an angle of 0-60 degrees.

    Args:
        robot: The arm.
        plant: One of `PLANTS`.
        seed: Decides posture, speed, angle, mass and friction.

    Returns:
        The recording, without measurement noise.
    """
    rng = np.random.default_rng(seed)
    speed, angle = rng.uniform(0.05, 0.5), rng.uniform(0.0, np.pi / 3.0)
    posture = robot.home + rng.uniform(-0.25, 0.25, robot.n)
    heading, side = rng.uniform(-np.pi, np.pi), rng.uniform(-np.pi, np.pi)
    if plant == "rigid_box":
        normal = np.array([np.cos(heading), np.sin(heading), 0.0])
        tangent = np.array([-normal[1], normal[0], 0.0])
    elif plant == "rigid_table":
        normal = np.array([0.0, 0.0, 1.0])
        tangent = np.array([np.cos(side), np.sin(side), 0.0])
    else:
        normal = _unit(rng.standard_normal(3))
        tangent = _unit(np.cross(normal, rng.standard_normal(3)))
    friction, mass = rng.uniform(0.1, 0.6), rng.uniform(0.5, 5.0)
    hit = _Hit(robot, plant, speed, angle, posture, normal, tangent, friction, mass)
    return _flexible(hit, rng) if plant == "flexible" else _rigid(hit)


def _rigid(hit: _Hit) -> DetectionTrial:
    robot, normal, box = hit.robot, hit.normal, hit.plant == "rigid_box"
    touch = robot.placement(hit.posture).translation + hit.travel - robot.tool_radius * normal
    # The task's table lies at zero: the arm's base stands as high as brings the contact to its surface or the box.
    centre = touch - BOX_HALF_SIZES[0] * normal if box else np.array([-1.2, 1.2, 0.0])
    height = (BOX_HALF_SIZES[2] if box else 0.0) - touch[2]
    scene = Scene(
        arms=(ArmMount(position=(0.0, 0.0, height)),),
        object=SceneObject(
            mass=hit.mass,
            half_sizes=BOX_HALF_SIZES,
            position=(float(centre[0]), float(centre[1]), float("nan")),
            rpy=(0.0, 0.0, float(np.arctan2(normal[1], normal[0])) if box else 0.0),
        ),
        tool_object=ContactSettings(friction=hit.friction),
        tool_table=ContactSettings(friction=hit.friction),
    )
    tool_only = copy.copy(robot)
    tool_only.description = ""  # links without collision geometry
    arena, swing = MujocoPlant(scene, tool_only), Swing(robot, hit.velocity)
    state = arena.reset(hit.posture)
    rows = []
    for _ in range(round((RAMP + CRUISE + AFTER) / PERIOD)):
        state = arena.step(swing(state.time, state.q, state.dq))
        rows.append((state.time, state.q, state.dq, state.effort, swing.references[-1]))
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    jump = arena.impacts[0].jump if arena.impacts else np.zeros(robot.n)
    return hit.trial(columns, [impact.time for impact in arena.impacts], jump)


def _flexible(hit: _Hit, rng: np.random.Generator) -> DetectionTrial:
    robot, swing = hit.robot, Swing(hit.robot, hit.velocity)
    arm = FlexibleJointArm(robot, JointElasticity.of(robot), substeps=2)
    tip = robot.placement(hit.posture).translation
    gap = -float(hit.normal @ hit.travel)
    # Stiffness and damping of Rey Arias 2024's order for a hard tip on a hard surface.
    model = ExponentialHuntCrossley(10.0 ** rng.uniform(7.0, 8.0), 10.0 ** rng.uniform(7.5, 8.5))
    contact = surface_at(tip, robot.tool_radius, hit.normal, gap, model, friction=hit.friction)
    run = arm.simulate(hit.posture, np.zeros(robot.n), swing, contact, RAMP + CRUISE + AFTER)
    references = np.vstack((swing.references[0], np.array(swing.references)[: len(run.time) - 1]))
    columns = (run.time, run.q, run.dq, run.torque, references)
    if not np.isfinite(run.impact_time):
        return hit.trial(columns, (), np.zeros(robot.n))
    after = min(int(np.searchsorted(run.time, run.impact_time + 0.010)), len(run.time) - 1)
    return hit.trial(columns, (run.impact_time,), run.dq[after] - run.velocity_before)


def free_motion(
    robot: RobotModel,
    duration: float,
    seed: int,
    *,
    chunk: float = 60.0,
) -> Iterator[DetectionTrial]:
    """Yield one long recording without any impact, chunk by chunk.

    Every joint accelerates and brakes at up to 20 rad/s^2 (10 at the first four) to a random speed and back, as fast as
    a torque limited to a bandwidth of 40 Hz lets it, and shakes at 12-40 Hz for a while whenever it starts or stops.
    The measured torque has Coulomb and viscous friction that the expected one doesn't know of.

    Args:
        robot: The arm, for its inverse dynamics.
        duration: s.
        seed: Of the motion.
        chunk: Length of what is yielded at a time, s.
    """
    rng = np.random.default_rng(seed)
    samples = round(chunk / PERIOD)
    carry = _FreeMotion(robot, rng)
    made = 0.0
    while made < duration - 1e-9:
        count = min(samples, round((duration - made) / PERIOD))
        yield carry.next(made, count)
        made += count * PERIOD


class _FreeMotion:
    """State of the free motion between two chunks."""

    def __init__(self, robot: RobotModel, rng: np.random.Generator) -> None:
        self._robot, self._rng = robot, rng
        # Link-side torque does not contain what accelerates the motors.
        self._model = robot.model.copy()
        self._model.armature = np.zeros(robot.n)
        self._data = self._model.createData()
        self._pending = [np.zeros(0) for _ in range(robot.n)]
        self._shake = [np.zeros(0) for _ in range(robot.n)]
        self._position = robot.home.copy()
        self._velocity = np.zeros(robot.n)
        self._lag = [np.zeros((1, robot.n)), np.zeros((1, robot.n))]

    def next(self, start: float, count: int) -> DetectionTrial:
        """Go on for `count` samples."""
        n = self._robot.n
        commands, shakes = np.empty((count, n)), np.empty((count, n))
        for joint in range(n):
            while len(self._pending[joint]) < count:
                self._plan(joint)
            commands[:, joint] = self._pending[joint][:count]
            self._pending[joint] = self._pending[joint][count:]
            shakes[:, joint] = self._shake[joint][:count]
            self._shake[joint] = self._shake[joint][count:]
        accelerations = self._lagged(commands) + shakes
        # Trapezoidal rule, so that position, velocity and acceleration belong together.
        velocities = self._velocity + np.cumsum(accelerations, axis=0) * PERIOD
        before = np.vstack((self._velocity, velocities[:-1]))
        positions = self._position + np.cumsum(0.5 * (before + velocities), axis=0) * PERIOD
        self._velocity, self._position = velocities[-1], positions[-1]
        expected = np.array(
            [pin.rnea(self._model, self._data, *row) for row in zip(positions, velocities, accelerations, strict=True)]
        )
        friction = 0.3 * np.tanh(velocities / 0.02) + 0.2 * velocities
        times: Array = start + PERIOD * np.arange(1.0, count + 1.0)
        return DetectionTrial(times, positions, velocities, expected + friction, expected)

    def _plan(self, joint: int) -> None:
        """Append one move there and back: accelerate, cruise, brake, rest, and the same the other way."""
        rng = self._rng
        peak = rng.uniform(2.0, 10.0 if joint < 4 else 20.0) * rng.choice([-1.0, 1.0])
        push, cruise = (round(t / PERIOD) for t in (rng.uniform(0.03, 0.15), rng.uniform(0.0, 0.2)))
        pause = round(rng.uniform(0.05, 0.5) / PERIOD)
        one_way = np.concatenate((np.full(push, peak), np.zeros(cruise), np.full(push, -peak), np.zeros(pause)))
        move = np.concatenate((one_way, -one_way))
        shake = np.zeros(len(move))
        for edge in np.flatnonzero(np.diff(move)) + 1:
            late = np.arange(len(move) - edge) * PERIOD
            angular = 2.0 * np.pi * rng.uniform(12.0, 40.0)
            amplitude = 0.15 * peak * rng.uniform(0.0, 1.0)
            # The derivative of a decaying velocity, so that the shaking leaves no drift behind.
            shake[edge:] += amplitude * np.exp(-late / 0.04) * (np.sin(angular * late))
        self._pending[joint] = np.concatenate((self._pending[joint], move))
        self._shake[joint] = np.concatenate((self._shake[joint], shake - shake.mean()))

    def _lagged(self, commands: Array) -> Array:
        """Two first-order lags in a row with a corner at 40 Hz each."""
        keep = np.exp(-2.0 * np.pi * 40.0 * PERIOD)
        for index, state in enumerate(self._lag):
            commands, self._lag[index] = lfilter([1.0 - keep], [1.0, -keep], commands, axis=0, zi=state)
        return commands


def _unit(vector: Array) -> Array:
    return np.asarray(vector / np.linalg.norm(vector))
