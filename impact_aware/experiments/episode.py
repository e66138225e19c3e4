"""One run of a task in process: plant, detection, prediction and control in a closed loop, without ROS."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.contact.geometry import Contact
from impact_aware.contact.shape import PlacedShape
from impact_aware.contact.shape_registry import shape_of
from impact_aware.control import ControlSession, Mode
from impact_aware.detection import JointSample, make_detector
from impact_aware.errors import InvalidInputError
from impact_aware.experiments.episode_result import EpisodeRecorder, EpisodeResult
from impact_aware.experiments.episode_settings import Camera, EpisodeSettings, Truth
from impact_aware.impact import ImpactPrediction, predict
from impact_aware.impact.sampled_map import ImpactMap
from impact_aware.impact.table_support import TableSupport
from impact_aware.records import ImpactEvent
from impact_aware.reference import ArmAfterImpact, ReferenceField
from impact_aware.robot import RobotModel
from impact_aware.simulation.joint_elasticity import JointElasticity
from impact_aware.simulation.plant import MujocoPlant
from impact_aware.simulation.sensors import JointReading
from impact_aware.simulation.task_scene import task_scene
from impact_aware.task import Task, base_placement, make_field, start_posture
from impact_aware.task.arms import arm_after_impact, robots_of_task
from impact_aware.task.grasp import COMMON_WINDOW, IMPACT_TIME, predict_grasp, predict_grasp_impact
from impact_aware.task.impact_positions import IntendedImpact, impact_coordinates, sample_impact_map
from impact_aware.task.last_touch import Touch, Touches

__all__ = ["EpisodeResult", "EpisodeSettings", "Truth", "predict_impact", "run_episode", "task_scene"]

_REST_SPEED = 2e-3
_REMEMBERED = 64
"""Readings that are kept: a touch is known some of them later."""


def predict_impact(
    task: Task, arm: int, robot: RobotModel, field: ReferenceField, event: ImpactEvent
) -> ImpactPrediction:
    """What the impact does to arm and object, from the state that the detector found just before it.

    The object is placed where the touching tool is.

    Args:
        task: What is being done.
        arm: Index of the arm that has hit.
        robot: Its model.
        field: The reference in use, in the task's frame.
        event: What the detector reported: posture and velocity just before, (n,) rad and rad/s.

    Returns:
        The prediction, in the base frame of the arm.
    """
    own, base = field.arms[arm], base_placement(task.arms[arm])
    tool = base.act(robot.placement(event.position).translation)
    centre = field.object_position + own.normal * float(own.normal @ (tool - own.impact_position))
    to_base = base.rotation.T
    placed = PlacedShape(shape_of(field), centre, field.object_rotation)
    contact = Contact(
        robot.tool_frame,
        to_base @ placed.normal_at_ball(tool, own.normal),
        radius=robot.tool_radius,
        friction=task.object.friction_tool,
        restitution=task.object.restitution,
    )
    here = PlacedShape(placed.shape, base.actInv(centre), to_base @ field.object_rotation)
    body = here.free_object(field.object_mass, [*(to_base @ field.object_velocity), 0.0, 0.0, 0.0])
    table = None if task.lifts else TableSupport(here, body, task.object.friction_table, to_base @ task.object.up)
    return predict(robot, event.position, event.velocity_before, contact, obstacle=body, table=table)


def run_episode(
    task: Task,
    settings: EpisodeSettings | None = None,
    seed: int = 0,
    *,
    robots: Sequence[RobotModel] | None = None,
    sampled: ImpactMap | None = None,
    object_velocity: ArrayLike | None = None,
) -> EpisodeResult:
    """Run a task from rest at its start position until its duration is over or the object has come to rest.

    A run also ends 0.1 s after the controller went to its safe mode: its outcome is decided.

    Args:
        task: What shall be done, as the controller believes it.
        settings: Detector, impact map, controller, sensors, and how the world differs from the task.
        seed: Seed of the sensors.
        robots: One model per arm; the task's profiles when None.
        sampled: The task's map for `impact_map="sampled"`; sampled now when None.
        object_velocity: (3,) With which the object is assumed to move from the start on, m/s; at rest when None.

    Raises:
        InvalidInputError: A task that can't be done, by the number that makes it so, or an impact beyond a limit.
    """
    settings = settings or EpisodeSettings()
    bases, given = [base_placement(arm) for arm in task.arms], robots_of_task(task) if robots is None else robots
    robots = [robot.tilted(base.rotation) for robot, base in zip(given, bases, strict=True)]
    field = _field(task, settings, robots, object_velocity)
    starts = [arm.starts[min(settings.start, len(arm.starts) - 1)] for arm in task.arms]
    posture = np.concatenate([start_posture(a, r, s) for a, r, s in zip(task.arms, robots, starts, strict=True)])
    plant = task_plant(task, settings, robots)
    session = ControlSession(robots, settings.control, field, bases)
    detectors = [
        make_detector(settings.detector, robot.n, robot=robot, **settings.detector_parameters) for robot in robots
    ]
    predictor = ObjectVelocity(task, settings, robots, field, sampled)
    slices, state = list(plant.slices.values()), plant.reset(posture, seed=seed)
    session.start(state.time, posture)
    recorder, sight = EpisodeRecorder(), Sight(settings.camera, seed)
    events: list[tuple[int, ImpactEvent]] = []
    rest_since = np.inf
    while state.time < settings.duration:
        reading = plant.reading
        predictor.see(reading.time, reading.q, reading.dq)
        for index, detector in enumerate(detectors):
            part = slices[index]
            event = detector.update(JointSample(reading.time, reading.q[part], reading.dq[part], reading.effort[part]))
            if event is None:
                continue
            events.append((index, event))
            _take_event(session, predictor, index, event.with_velocity(reading.dq[part]), reading, len(events))
        for pose in sight.see(state.time, state.object_placement.translation):
            session.see_object(*pose)
        command = session.cycle(reading.time, reading.q, reading.dq)
        recorder.add(command, reading.q, reading.dq, state.object_placement, state.object_twist)
        state = plant.step(command.effort)
        moving = command.mode is not Mode.POST or float(np.linalg.norm(state.object_twist)) > _REST_SPEED
        over = command.mode is Mode.SAFE or not moving
        rest_since = min(rest_since, state.time) if over else np.inf
        patience = 0.1 if command.mode is Mode.SAFE else settings.settle_time
        if patience is not None and state.time - rest_since > patience:
            break
    return EpisodeResult(
        **recorder.arrays(),
        events=tuple(events),
        **predictor.results(),
        impacts=plant.impacts,
        field=session.field or field,
        task=task,
        settings=settings,
        seed=seed,
        interventions=session.filter.interventions,
        safe_reason=command.reason,
    )


class Sight:
    """Positions of the object as a camera gives them, with its delay."""

    def __init__(self, camera: Camera | None, seed: int) -> None:
        """Nothing was seen yet; without a camera nothing ever is."""
        self._camera, self._random = camera, np.random.default_rng((seed, 30))
        self._next, self._coming = 0.0, deque[tuple[float, Array]]()

    def see(self, time: float, position: Array) -> list[tuple[float, Array]]:
        """The object is at (3,), m, at a time, s: times and positions (3,) that arrive now."""
        camera = self._camera
        if camera is None:
            return []
        if time >= self._next:
            self._next = time + 1.0 / camera.rate
            self._coming.append((time, position + self._random.normal(0.0, camera.noise, 3)))
        arrived = []
        while self._coming and self._coming[0][0] + camera.delay <= time:
            arrived.append(self._coming.popleft())
        return arrived


def _take_event(
    session: ControlSession,
    predictor: ObjectVelocity,
    arm: int,
    event: ImpactEvent,
    reading: JointReading,
    sequence: int,
) -> None:
    """Predict what an event of an arm does and notify the controller, where it is one of the impacts to come.

    The touch of an arm that comes too late for the interim mode is predicted too, but has no effect on control.
    """
    acts = session.mode in (Mode.ANTE, Mode.INTERIM)
    foretold = acts or (session.mode is Mode.POST and not predictor.has_touched(arm))
    if not foretold or not session.events.is_near(arm, reading.time):
        return
    velocity, after = predictor(arm, event, reading.q)
    if acts:
        detail: dict[str, Any] = {"arm": arm, "sequence": sequence, "arms_after": after}
        session.events.notify_impact(event.time, reading.time, velocity, **detail)


class ObjectVelocity:
    """The object's velocity just after the impact at each event, and everything that was predicted for it."""

    def __init__(
        self,
        task: Task,
        settings: EpisodeSettings,
        robots: Sequence[RobotModel],
        field: ReferenceField,
        sampled: ImpactMap | None = None,
    ) -> None:
        """Prepare; a map that is wanted and not given is sampled."""
        self._task, self._robots, self._field = task, robots, field
        self._sampled: ImpactMap | None = None
        if settings.impact_map == "sampled":
            self._sampled = sampled or sample_impact_map(IntendedImpact(task, robots))
        self._bases = [base_placement(arm) for arm in task.arms]
        self._ends = np.cumsum([robot.n for robot in robots])[:-1]
        self.predictions: list[tuple[float, Array]] = []
        self._hits: dict[int, ImpactEvent] = {}
        self._touched: dict[int, Array] = {}
        self._touches = Touches(self._state_before, weighed=True)
        self._seen: deque[tuple[float, Array, Array]] = deque(maxlen=_REMEMBERED)
        self.falls: list[Array] = []
        self.velocities: list[tuple[Array, Array]] = []

    def has_touched(self, arm: int) -> bool:
        """Whether an event of this arm was one of several palms' touches."""
        return len(self._robots) == 1 or arm in self._touched

    def see(self, time: float, q: Array, dq: Array) -> None:
        """A reading of all joints (n,)."""
        self._seen.append((time, q.copy(), dq.copy()))

    def _state_before(self, arm: int, time: float) -> Touch | None:
        for seen, q, dq in reversed(self._seen):
            if seen < time:
                return Touch(seen, np.split(q, self._ends)[arm], np.split(dq, self._ends)[arm])
        return None

    def __call__(self, arm: int, event: ImpactEvent, q: Array) -> tuple[Array, dict[int, ArmAfterImpact]]:
        """Object velocity (3,) after an event of one arm, with all joints at q (n,), m/s, and what it leaves arms."""
        field = self._field.advanced(event.time)
        palm = any(self._task.arms[arm].pad_half_sizes)
        self.falls.append(np.zeros(3))
        direct = self._palms(arm, event, q, field) if palm else self._tip(arm, event, field)
        used = direct
        if self._sampled is not None:
            tools = [
                base.act(robot.placement(part).translation)
                for base, robot, part in zip(self._bases, self._robots, np.split(q, self._ends), strict=True)
            ]
            used = self._sampled(impact_coordinates(self._task, np.array(tools)))
        self.velocities.append((used, direct))
        return used, self._arms_after(q)

    def results(self) -> dict[str, Any]:
        """All that was predicted, as an `EpisodeResult` has it."""
        return {
            "predictions": tuple(self.predictions),
            "object_velocities": np.array(self.velocities, dtype=float).reshape(-1, 2, 3),
            "object_falls": np.array(self.falls, dtype=float).reshape(-1, 3),
        }

    def _arms_after(self, q: Array) -> dict[int, ArmAfterImpact]:
        """What the last prediction leaves the only arm, with its joints at q (n,).

        Several arms turn until all of them have hit, which none of their predictions knows.
        """
        if len(self._robots) > 1:
            return {}
        joint = self._field.arms[0].null_space_joint
        return {0: arm_after_impact(self._robots[0], self._bases[0], joint, q, self.predictions[-1][1])}

    def _tip(self, arm: int, event: ImpactEvent, field: ReferenceField) -> Array:
        """Velocity (3,) of an object that the round tip of one arm has hit, m/s."""
        prediction = predict_impact(self._task, arm, self._robots[arm], field, event)
        self.predictions.append((event.time, prediction.velocity_after))
        assert prediction.object_twist_after is not None
        return np.asarray(self._bases[arm].rotation @ prediction.object_twist_after[:3])

    def _palms(self, arm: int, event: ImpactEvent, q: Array, field: ReferenceField) -> Array:
        """Velocity (3,) of an object that palms hit: what this one did, or of several what all are to do, m/s."""
        robots, postures = self._robots, np.split(q, self._ends)
        velocities = [np.zeros(robot.n) for robot in robots]
        # Impacts of this moment are one; an earlier one is over.
        self._hits = {k: hit for k, hit in self._hits.items() if event.time - hit.time <= COMMON_WINDOW} | {arm: event}
        for index, hit in self._hits.items():
            postures[index], velocities[index] = hit.position, hit.velocity_before
        times = [self._hits[index].time if index in self._hits else event.time for index in range(len(robots))]
        own = predict_grasp_impact(
            self._task, robots, field, postures, velocities, hitting=sorted(self._hits), times=times
        )
        after = [
            own.velocity_after[mount.name] if index in self._hits else np.full(robots[index].n, np.nan)
            for index, mount in enumerate(self._task.arms)
        ]
        self.predictions.append((event.time, np.concatenate(after)))
        if len(robots) > 1:
            self._touched.setdefault(arm, event.position)
            self._touches.take(arm, Touch(event.time, event.position, event.velocity_before))
            last = self._touches.last_touch(self._task, robots, field)
            if last is None:
                return self._grasp(postures, field)
            self.falls[-1] = last.fall
            return last.object_velocity
        return own.velocity_after[self._task.object.name][:3]

    def _grasp(self, postures: list[Array], field: ReferenceField) -> Array:
        """Velocity (3,) of an object that all palms are to hit, m/s; what its weight adds then is kept apart."""
        for index, position in self._touched.items():
            postures[index] = position
        q = np.concatenate(postures)
        lasting = IMPACT_TIME * max(mount.pad_time_constant for mount in self._task.arms)
        velocity = predict_grasp(self._task, self._robots, field, q)
        self.falls[-1] = predict_grasp(self._task, self._robots, field, q, weighing=lasting) - velocity
        return velocity


def _field(
    task: Task,
    settings: EpisodeSettings,
    robots: Sequence[RobotModel],
    object_velocity: ArrayLike | None,
) -> ReferenceField:
    """The field at the start, with the velocity (3,) of an object that is assumed to move, m/s."""
    field = make_field(task, robots)
    if object_velocity is None:
        return field
    if settings.impact_map == "sampled":
        raise InvalidInputError("impact_map", "sampled", "direct, for an object that moves")
    return dataclasses.replace(field, object_velocity=np.asarray(object_velocity, dtype=float))


def task_plant(task: Task, settings: EpisodeSettings, robots: Sequence[RobotModel]) -> MujocoPlant:
    """The simulated plant of a task.

    Args:
        task: The task: arms, object, table.
        settings: The world's truth, sensors and joint stiffness.
        robots: One model per arm, as the arms really are.

    Raises:
        InvalidInputError: A scene that can't be, by the number that makes it so.
    """
    scene = task_scene(task, settings.truth)
    named = {mount.name: robot for mount, robot in zip(scene.arms, robots, strict=True)}
    elasticity = None
    if settings.joint_stiffness is not None:
        elasticity = {
            name: JointElasticity.of(robot, stiffness=settings.joint_stiffness, friction=True)
            for name, robot in named.items()
        }
    return MujocoPlant(scene, named, settings.sensors, elasticity=elasticity)
