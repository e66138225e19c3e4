"""One run of a task in process: plant, detection, prediction and control in a closed loop, without ROS."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from impact_aware.contact.geometry import Contact, FreeObject
from impact_aware.control import Command, ControlParameters, Mode, ReferenceSpreadingController
from impact_aware.detection import ImpactEvent, JointSample, make_detector
from impact_aware.errors import InvalidInputError
from impact_aware.impact import DEFAULT_METHOD, ImpactPrediction, predict
from impact_aware.reference import (
    ReferenceField,
    Task,
    base_placement,
    make_field,
    start_posture,
)
from impact_aware.reference.grasp_prediction import predict_grasp
from impact_aware.robot import RobotModel
from impact_aware.simulation.impact_truth import ImpactTruth
from impact_aware.simulation.joint_elasticity import JointElasticity
from impact_aware.simulation.mujoco_model import ToolTip
from impact_aware.simulation.plant import MujocoPlant
from impact_aware.simulation.scene import COMPLIANT_PAD, TABLE_CONTACT, ArmMount, ContactSettings, Scene, SceneObject
from impact_aware.simulation.sensors import SensorSettings

Array = NDArray[np.float64]

_TRUTH_MARGIN = 0.010


@dataclass(frozen=True)
class Truth:
    """How the world differs from what the task says, unknown to detection, prediction and control.

    Attributes:
        displacement: (3,) Of the object from its estimated place, m.
        yaw: Of the object from its estimated orientation, rad.
        mass_factor: True over assumed object mass.
        friction_table_factor: True over assumed friction between object and table.
        friction_tool_factor: True over assumed friction between object and tool.
        tool_softness: Time constant of the contact between tool and object, s; None for 1 ms of a spherical tip and
            4 ms of a silicone palm.
    """

    displacement: tuple[float, float, float] = (0.0, 0.0, 0.0)
    yaw: float = 0.0
    mass_factor: float = 1.0
    friction_table_factor: float = 1.0
    friction_tool_factor: float = 1.0
    tool_softness: float | None = None


@dataclass(frozen=True)
class EpisodeSettings:
    """Everything that makes a run, apart from its task and seed.

    Attributes:
        control: Gains, limits and variant of the controller.
        detector: Name of the detector.
        detector_parameters: What differs from its defaults.
        impact_method: Name of the impact map.
        sensors: How the joint states come about.
        joint_stiffness: Of flexible joints with their motors and torque loop, N m/rad; None for rigid joints.
        truth: How the world differs from the task.
        start: Index of the start place, or of the arms' start places.
        start_position: (arms, 3) Tool positions to start from instead, m.
        duration: Simulated time, s.
        settle_time: The run ends when the object has been at rest for so long after the impact, s; None for never.
    """

    control: ControlParameters = field(default_factory=ControlParameters)
    detector: str = "adaptive_window"
    detector_parameters: Mapping[str, Any] = field(default_factory=dict)
    impact_method: str = DEFAULT_METHOD
    sensors: SensorSettings = field(default_factory=SensorSettings)
    joint_stiffness: float | None = None
    truth: Truth = field(default_factory=Truth)
    start: int = 0
    start_position: tuple[tuple[float, float, float], ...] | None = None
    duration: float = 4.0
    settle_time: float | None = None


@dataclass(frozen=True, eq=False)
class EpisodeResult:
    """What happened, one row per control cycle (k rows, n joints of all arms, m arms).

    Attributes:
        time: (k,) Stamp of the state, s.
        q: (k, n) Measured, rad.
        dq: (k, n) Measured, rad/s.
        effort: (k, n) Commanded, N m.
        mode: (k,) Mode of the controller.
        blend: (k,) gamma.
        tool_position: (k, m, 3) m.
        tool_twist: (k, m, 6) m/s and rad/s.
        reference_twist: (k, m, 6) m/s and rad/s.
        target_acceleration: (k, m, 6) m/s^2 and rad/s^2.
        object_position: (k, 3) True, m.
        object_twist: (k, 6) True, m/s and rad/s.
        object_rotation: (3, 3) True, at the end.
        qp_status: (k,).
        events: What the detectors said, by arm, in order.
        predictions: What was predicted at the events acted upon, by arm.
        impacts: What really happened.
        field: The reference at the end.
        task: The task.
        settings: The settings.
        seed: Of the sensors.
        interventions: Commands that the envelope had to change.
        safe_reason: Why the controller went to the safe mode, or None.
    """

    time: Array
    q: Array
    dq: Array
    effort: Array
    mode: NDArray[np.int64]
    blend: Array
    tool_position: Array
    tool_twist: Array
    reference_twist: Array
    target_acceleration: Array
    object_position: Array
    object_twist: Array
    object_rotation: Array
    qp_status: NDArray[np.int64]
    events: tuple[tuple[int, ImpactEvent], ...]
    predictions: tuple[tuple[int, ImpactPrediction], ...]
    impacts: tuple[ImpactTruth, ...]
    field: ReferenceField
    task: Task
    settings: EpisodeSettings
    seed: int
    interventions: int
    safe_reason: str | None

    @property
    def first_impact(self) -> ImpactTruth | None:
        """The first true impact of a tool with the object."""
        return next((impact for impact in self.impacts if impact.partner == "object"), None)

    @property
    def detection_delay(self) -> float:
        """From the first true impact to its detection, s; NaN when either is missing."""
        impact = self.first_impact
        if impact is None:
            return float("nan")
        later = [event.time_detected for _, event in self.events if event.time_detected >= impact.time]
        return min(later) - impact.time if later else float("nan")

    @property
    def false_detections(self) -> int:
        """Detections that no true contact precedes by less than 10 ms."""
        times = np.array([impact.time for impact in self.impacts])
        count = 0
        for _, event in self.events:
            since = event.time_detected - times
            count += not np.any((since >= 0.0) & (since <= _TRUTH_MARGIN))
        return count

    @property
    def prediction_error(self) -> float:
        """Norm of predicted minus true joint velocity after, over the norm of the true jump.

        NaN without impact or prediction, and for several arms, whose joint predictions are those of a single contact.
        """
        impact = self.first_impact
        if impact is None or not self.predictions or len(self.task.arms) > 1:
            return float("nan")
        arm, prediction = self.predictions[0]
        joints = slice(arm * prediction.velocity_after.size, (arm + 1) * prediction.velocity_after.size)
        error = prediction.velocity_after - impact.velocity_after[joints]
        return float(np.linalg.norm(error) / np.linalg.norm(impact.jump[joints]))

    @property
    def goal_error(self) -> float:
        """Horizontal distance of the object from its goal at the end, m."""
        return float(np.linalg.norm(self.object_position[-1, :2] - np.array(self.task.goal[:2])))

    @property
    def hit_arms(self) -> NDArray[np.bool_]:
        """(m,) Which arms truly hit the object."""
        names = [arm.name or "arm" for arm in self.task.arms]
        return np.array([any(i.arm == name and i.partner == "object" for i in self.impacts) for name in names])

    @property
    def slip(self) -> float:
        """Largest way of a tool along the face it touches, relative to the object, in the post-impact mode, m.

        It counts from 0.1 s after contact is entered, when the interim mode of the paper ends; NaN without contact.
        """
        contact = np.flatnonzero(self.mode >= Mode.INTERIM)
        begin = contact[0] + 100 if contact.size else self.time.size
        if begin >= self.time.size:
            return float("nan")
        relative = self.tool_position[begin:] - self.object_position[begin:, None, :]
        moved = relative - relative[0]
        normals = np.array([own.normal for own in self.field.arms])
        along = np.einsum("kmi,mi->km", moved, normals)
        return float(np.linalg.norm(moved - along[..., None] * normals, axis=2).max())

    @property
    def time_to_track(self) -> float:
        """From the first detection until every tool keeps to its reference within 0.02 m/s for 50 ms, s.

        Infinite when that does not happen, NaN without a detection.
        """
        contact = np.flatnonzero(self.mode >= Mode.INTERIM)
        if not contact.size:
            return float("nan")
        error = np.linalg.norm((self.tool_twist - self.reference_twist)[contact[0] :, :, :3], axis=2).max(axis=1)
        within = np.convolve(error < 0.02, np.ones(50), mode="valid") >= 49.5
        return 1e-3 * float(np.argmax(within)) if within.any() else float("inf")

    @property
    def peak_target_acceleration(self) -> float:
        """Largest norm of the linear target acceleration, averaged over the arms, m/s^2."""
        norms = np.linalg.norm(self.target_acceleration[:, :, :3], axis=2)
        return float(norms.max(axis=0).mean())


def task_scene(task: Task, truth: Truth | None = None) -> Scene:
    """The scene that a task takes place in, with the object as it truly is."""
    truth = truth or Truth()
    body = task.object
    if len(task.arms) > 1 and len({arm.name for arm in task.arms}) < len(task.arms):
        raise InvalidInputError("arms", [arm.name for arm in task.arms], "names that differ")
    tool_friction = body.friction_tool * truth.friction_tool_factor
    tip_contact = COMPLIANT_PAD if any(any(arm.pad_half_sizes) for arm in task.arms) else ContactSettings()
    softness = tip_contact.time_constant if truth.tool_softness is None else truth.tool_softness
    return Scene(
        name=task.name,
        arms=tuple(
            ArmMount(
                name=arm.name or "arm",
                robot=arm.robot,
                position=arm.base_position,
                yaw=arm.base_yaw,
                tip=ToolTip("pad", arm.pad_half_sizes) if any(arm.pad_half_sizes) else ToolTip(),
            )
            for arm in task.arms
        ),
        object=SceneObject(
            name=body.name,
            mass=body.mass * truth.mass_factor,
            half_sizes=body.half_extents,
            position=tuple(np.add(body.position, truth.displacement).tolist()),
            yaw=truth.yaw,
        ),
        table_height=task.table_height,
        tool_object=dataclasses.replace(tip_contact, time_constant=softness, friction=tool_friction),
        object_table=dataclasses.replace(TABLE_CONTACT, friction=body.friction_table * truth.friction_table_factor),
    )


def predict_impact(
    task: Task, arm: int, robot: RobotModel, field: ReferenceField, event: ImpactEvent, method: str = DEFAULT_METHOD
) -> ImpactPrediction:
    """What the impact does to arm and object, from the state that the detector found just before it.

    Everything is in the base frame of the arm. The object stands where the touching tool says it does.
    """
    own, base = field.arms[arm], base_placement(task.arms[arm])
    tool = base.act(robot.placement(event.position).translation)
    centre = field.object_position + own.normal * float(own.normal @ (tool - own.impact_position))
    half = field.object_half_extents
    inertia = (
        field.object_mass
        / 3.0
        * np.diag([half[1] ** 2 + half[2] ** 2, half[0] ** 2 + half[2] ** 2, half[0] ** 2 + half[1] ** 2])
    )
    turn = base.rotation.T
    contact = Contact(
        robot.tool_frame,
        turn @ own.normal,
        radius=robot.tool_radius,
        friction=task.object.friction_tool,
        restitution=task.object.restitution,
    )
    body = FreeObject(field.object_mass, turn @ inertia @ base.rotation, base.actInv(centre))
    return predict(robot, event.position, event.velocity_before, contact, obstacle=body, method=method)


def run_episode(
    task: Task,
    settings: EpisodeSettings | None = None,
    seed: int = 0,
    *,
    robots: Sequence[RobotModel] | None = None,
    on_cycle: Callable[[Command], None] | None = None,
) -> EpisodeResult:
    """Run a task from rest at its start place until its duration is over or the object has come to rest.

    Args:
        task: What shall be done, as the controller believes it.
        settings: Detector, impact map, controller, sensors, and how the world differs from the task.
        seed: Seed of the sensors.
        robots: One model per arm; the task's profiles when None.
        on_cycle: Called with every command.

    Raises:
        InvalidInputError: A task that can't be done, by the number that makes it so.
    """
    settings = settings or EpisodeSettings()
    robots = [RobotModel.from_profile(arm.robot) for arm in task.arms] if robots is None else list(robots)
    field = make_field(task, robots)
    starts = settings.start_position or [arm.starts[min(settings.start, len(arm.starts) - 1)] for arm in task.arms]
    posture = np.concatenate([start_posture(a, r, s) for a, r, s in zip(task.arms, robots, starts, strict=True)])
    scene = task_scene(task, settings.truth)
    names = [mount.name for mount in scene.arms]
    stiffness = settings.joint_stiffness
    elasticity = (
        None
        if stiffness is None
        else {name: JointElasticity.of(robot, stiffness=stiffness) for name, robot in zip(names, robots, strict=True)}
    )
    plant = MujocoPlant(scene, dict(zip(names, robots, strict=True)), settings.sensors, elasticity=elasticity)
    bases = [base_placement(arm) for arm in task.arms]
    controller = ReferenceSpreadingController(robots, settings.control, field, bases)
    detectors = [make_detector(settings.detector, robot.n, **settings.detector_parameters) for robot in robots]
    slices = [plant.slices[name] for name in names]
    state = plant.reset(posture, seed=seed)
    controller.start(state.time, posture, np.zeros(plant.n))
    recorder = _Recorder()
    events: list[tuple[int, ImpactEvent]] = []
    predictions: list[tuple[int, ImpactPrediction]] = []
    rest_since = np.inf
    while state.time < settings.duration:
        reading = plant.reading
        for index, detector in enumerate(detectors):
            part = slices[index]
            event = detector.update(JointSample(reading.time, reading.q[part], reading.dq[part]))
            if event is None:
                continue
            events.append((index, event))
            if controller.mode not in (Mode.ANTE, Mode.INTERIM):
                continue
            velocity_before = np.where(
                np.isfinite(event.velocity_before), event.velocity_before, reading.dq[slices[index]]
            )
            event = dataclasses.replace(event, velocity_before=velocity_before)
            prediction = predict_impact(task, index, robots[index], field, event, settings.impact_method)
            if len(robots) > 1:
                velocity: Array | None = predict_grasp(task, robots, field, reading.q)
            else:
                twist = prediction.object_twist_after
                velocity = None if twist is None else bases[index].rotation @ twist[:3]
            if controller.notify_impact(event.time, reading.time, velocity, arm=index, event_sequence=len(events)):
                predictions.append((index, prediction))
        command = controller.update(reading.time, reading.q, reading.dq)
        recorder.add(command, reading.q, reading.dq, state.object_placement.translation, state.object_twist)
        if on_cycle is not None:
            on_cycle(command)
        state = plant.step(command.effort)
        if settings.settle_time is not None:
            moving = command.mode is not Mode.POST or np.linalg.norm(state.object_twist) > 2e-3
            rest_since = np.inf if moving else min(rest_since, state.time)
            if state.time - rest_since > settings.settle_time:
                break
    return EpisodeResult(
        **recorder.arrays(),
        object_rotation=state.object_placement.rotation.copy(),
        events=tuple(events),
        predictions=tuple(predictions),
        impacts=plant.impacts,
        field=controller.field or field,
        task=task,
        settings=settings,
        seed=seed,
        interventions=controller.limiter.interventions,
        safe_reason=command.reason,
    )


class _Recorder:
    """Collects the cycles."""

    def __init__(self) -> None:
        """Start with no row."""
        self._rows: list[tuple[Any, ...]] = []

    def add(self, command: Command, q: Array, dq: Array, position: Array, twist: Array) -> None:
        """One row."""
        self._rows.append(
            (
                command.time,
                q,
                dq,
                command.effort,
                int(command.mode),
                command.blend,
                command.tool_position,
                command.tool_twist,
                command.reference_twist,
                command.target_acceleration,
                position,
                twist,
                int(command.qp_status),
            )
        )

    def arrays(self) -> dict[str, Any]:
        """All rows, column by column."""
        names = (
            "time",
            "q",
            "dq",
            "effort",
            "mode",
            "blend",
            "tool_position",
            "tool_twist",
            "reference_twist",
            "target_acceleration",
            "object_position",
            "object_twist",
            "qp_status",
        )
        return {name: np.array(column) for name, column in zip(names, zip(*self._rows, strict=True), strict=True)}
