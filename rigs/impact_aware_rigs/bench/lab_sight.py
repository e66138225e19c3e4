"""What a lab's perception publishes of an object: poses in the frame of a camera, late, noisy and with gaps; and TF."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pinocchio as pin
from geometry_msgs.msg import PoseStamped

from impact_aware.arrays import Array
from impact_aware.messages.geometry import write_quaternion, write_vector
from impact_aware.messages.stamps import write_stamp
from impact_aware.reference.rotation import rotation_from_rpy
from impact_aware.swing import Swing
from impact_aware.task.task import TaskObject

GOOD = ("still", "moving")
BAD = ("stale", "jumping", "unknown_frame", "turned")
SWINGING = "swinging"
KINDS = (*GOOD, *BAD, SWINGING)
"""What may be seen."""

SWUNG_FOR = 3.2
"""How long an object that swings was looked at before, s."""

START = 1000.0
"""Stamp of the moment at which the motion is asked for, s; by the clock of the arrivals that is 0."""

SEEN_FOR = 1.5
"""How long the object was looked at before, s."""

POSITION_NOISE, ROTATION_NOISE = 0.5e-3, np.radians(0.5)
"""Standard deviations about each axis, m and rad."""

DROPPED = 0.1
"""Share of the poses that never arrive."""

TF_PERIOD, TF_DELAY = 0.02, 0.005
"""Of the transforms of a camera that pans, s."""


class Transform(NamedTuple):
    """One transform, as TransformBuffer.add takes it."""

    parent: str
    child: str
    time: float
    pose: pin.SE3
    static: bool


@dataclass(frozen=True, eq=False)
class LabSight:
    """A camera and what it looks at; times in s, 0 when the motion is asked for.

    Attributes:
        kind: One of `KINDS`.
        base: Frame in which the task is.
        base_in_lab: Pose of that frame in the root of TF.
        camera: Pose of the camera in the base frame while it looks straight on.
        pan: Amplitude with which it swings about its own y axis at 0.3 Hz, rad; 0 for a camera that stands.
        placement: True pose of the object in the base frame at 0.
        velocity: (3,) True, in the base frame, at 0, m/s.
        swing: True, at 0; None where it keeps its velocity.
        other: (3,) Where another box stands from this one, in the base frame, m: a jumping feed shows either.
        rate: Poses per second.
        delay: From the stamp to the arrival, from and to, s.
        seed: Of noise, delays and gaps.
        shape: Of the object: of a round one any turn about its axis is seen.
    """

    kind: str
    base: str
    base_in_lab: pin.SE3
    camera: pin.SE3
    pan: float
    placement: pin.SE3
    velocity: Array
    other: Array
    rate: float
    delay: tuple[float, float]
    seed: int
    shape: str = "box"
    swing: Swing | None = None

    @property
    def seen_for(self) -> float:
        """How long the object is looked at before 0, s."""
        return SEEN_FOR if self.swing is None else SWUNG_FOR

    def camera_at(self, time: float) -> pin.SE3:
        """Pose of the camera in the base frame."""
        return self.camera * self._panned(time)

    def _panned(self, time: float) -> pin.SE3:
        return pin.SE3(pin.utils.rotate("y", self.pan * np.sin(0.6 * np.pi * time + self.seed % 7)), np.zeros(3))

    def object_at(self, time: float) -> pin.SE3:
        """True pose of the object in the base frame."""
        swing = self.swing
        moved = time * self.velocity if swing is None else swing.displacement(self.velocity, time)
        return pin.SE3(self.placement.rotation, self.placement.translation + moved)

    def arrivals(self) -> list[tuple[float, Transform | PoseStamped]]:
        """Everything that arrives until 0, in order, with when it does."""
        events = [*self._transforms(), *self._poses()]
        return sorted((event for event in events if event[0] <= 0.0), key=lambda event: event[0])

    def _transforms(self) -> Iterator[tuple[float, Transform]]:
        begin = -self.seen_for - 0.1
        yield begin, Transform("lab", self.base, 0.0, self.base_in_lab, True)
        yield begin, Transform("lab", "mount", 0.0, self.base_in_lab * self.camera, True)
        if not self.pan:
            yield begin, Transform("mount", "camera", 0.0, pin.SE3.Identity(), True)
            return
        for time in np.arange(begin - TF_DELAY, 0.0, TF_PERIOD).tolist():
            yield time + TF_DELAY, Transform("mount", "camera", START + time, self._panned(time), False)

    def _poses(self) -> Iterator[tuple[float, PoseStamped]]:
        random = np.random.default_rng(self.seed)
        # One publisher's messages arrive in order.
        last, message = -np.inf, None
        stops = -0.7 if self.kind == "stale" else 0.0
        stuck = random.random() < 0.5
        for time in (-self.seen_for + np.arange(int(self.seen_for * self.rate)) / self.rate).tolist():
            shown = self._seen(time, random)
            last = max(last, time + random.uniform(*self.delay))
            if random.random() < DROPPED:
                continue
            if time > stops:
                # Some perceptions fall silent, others go on to publish what they last saw.
                if stuck and message is not None:
                    yield last, message
                continue
            message = shown
            yield last, message

    def _seen(self, time: float, random: np.random.Generator) -> PoseStamped:
        """The object as the camera has it at `time`."""
        pose = self.camera_at(time).actInv(self.object_at(time))
        moved = POSITION_NOISE * random.normal(size=3)
        if self.kind == "jumping" and random.random() < 0.5:
            moved += self.camera_at(time).rotation.T @ self.other
        turned = pose.rotation @ pin.exp3(ROTATION_NOISE * random.normal(size=3))
        if self.shape == "cylinder":
            end = np.eye(3) if random.random() < 0.5 else np.diag([1.0, -1.0, -1.0])
            turned = turned @ pin.utils.rotate("z", random.uniform(-np.pi, np.pi)) @ end
        message = PoseStamped()
        message.header.frame_id = "camera_of_last_week" if self.kind == "unknown_frame" else "camera"
        write_stamp(message.header.stamp, START + time)
        write_vector(message.pose.position, pose.translation + moved)
        write_quaternion(message.pose.orientation, pin.Quaternion(turned).coeffs())
        return message


def draw_sight(
    kind: str,
    base: str,
    place: Array,
    generator: np.random.Generator,
    yaw: float = 0.0,
    thing: TaskObject | None = None,
) -> LabSight:
    """Draw a camera, half of them panning, and how it sees an object.

    Args:
        kind: One of `KINDS`; a turned object is turned by 37 to 45 deg.
        base: Name of the base frame.
        place: (3,) True centre of the object in it at the moment of asking, m.
        generator: Draws everything.
        yaw: Largest rotation of the object about the vertical that is no fault, rad.
        thing: The object as the task has it; a box along the axes when None.
    """
    thing = TaskObject() if thing is None else thing
    azimuth, elevation, roll, distance = generator.uniform((-np.pi, 0.35, -np.pi, 0.7), (np.pi, 1.2, np.pi, 1.5))
    turn = generator.uniform(-yaw, yaw)
    if kind == "turned":
        turn = float(generator.choice((-1.0, 1.0))) * generator.uniform(np.radians(37.0), np.radians(45.0))
    heading = generator.uniform(-np.pi, np.pi)
    speed = generator.uniform(0.03, 0.2) if kind == "moving" else 0.0
    swing, swung = _draw_swing(generator, heading) if kind == SWINGING else (None, np.zeros(3))
    # z of a camera's optical frame points away from it, here at the object.
    looks = pin.utils.rotate("z", azimuth) @ pin.utils.rotate("y", np.pi / 2 + elevation) @ pin.utils.rotate("z", roll)
    camera = pin.SE3(looks, place - distance * looks[:, 2])
    lab_rpy = generator.uniform((-0.2, -0.2, -np.pi), (0.2, 0.2, np.pi))
    base_in_lab = pin.SE3(rotation_from_rpy(tuple(lab_rpy.tolist())), generator.uniform(-2.0, 2.0, 3))
    other = generator.uniform(0.06, 0.3) * np.array([np.cos(azimuth), np.sin(azimuth), 0.0])
    low = generator.uniform(0.02, 0.06)
    return LabSight(
        kind=kind,
        base=base,
        base_in_lab=base_in_lab,
        camera=camera,
        pan=float(generator.choice((0.0, 0.2))),
        placement=pin.SE3(pin.utils.rotate("z", turn) @ thing.rotation, np.array(place)),
        velocity=speed * np.array([np.cos(heading), np.sin(heading), 0.0]) if swing is None else swung,
        other=other,
        rate=float(generator.uniform(15.0, 120.0)),
        delay=(low, low + 0.02),
        seed=int(generator.integers(2**31)),
        swing=swing,
        shape=thing.shape,
    )


def _draw_swing(generator: np.random.Generator, heading: float) -> tuple[Swing, Array]:
    """A narrow ellipse of 2 to 4 cm with a period of 1 to 2 s, anywhere in it; and the velocity (3,) there, m/s."""
    frequency, amplitude = 2.0 * np.pi / generator.uniform(1.0, 2.0), generator.uniform(0.02, 0.04)
    along, phase = np.array([np.cos(heading), np.sin(heading), 0.0]), generator.uniform(-np.pi, np.pi)
    across = generator.uniform(-0.3, 0.3) * np.array([-along[1], along[0], 0.0])
    swing = Swing(amplitude * (np.cos(phase) * along + np.sin(phase) * across), float(frequency))
    return swing, amplitude * frequency * (np.cos(phase) * across - np.sin(phase) * along)
