"""True impacts, observed at every physics step: the reference for predictions and estimates."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import mujoco
import numpy as np
import pinocchio as pin

from impact_aware.arrays import Array
from impact_aware.records import ContactImpulse, Impact
from impact_aware.robot import RobotModel
from impact_aware.simulation.world import OBJECT, TABLE, World

COMPRESSION_END = 0.01
"""Share of the approach speed below which compression is over: a contact without bounce reaches zero asymptotically."""

SETTLING_TIME = 0.005
"""Time after the compression within which a contact may still bounce, s: several times the compression."""

SEPARATION_TIME = 0.005
"""Time without contact after which an impact is over, s."""

CONTACT_GAP = 1e-5
"""Gap up to which surfaces that met still count as touching, m: less than their roughness. A sliding contact in MuJoCo
chatters at well under a micrometre, which is no bounce."""


@dataclass(frozen=True)
class ImpactTruth:
    """One impact of one arm, from first touch to the end of compression; everything in the world frame.

    Joint arrays hold the scene's arms one after the other. `time` is exact to one physics step.

    Attributes:
        arm: Arm that hit.
        partner: What it hit: `object`, `table`, or another arm.
        time: First contact, s.
        time_after: End of compression, s: the contact points' normal relative velocity first reaches -1 % of its value
            at first contact.
        point: (3,) Contact point at first contact, m.
        normal: (3,) Unit normal there, from what was hit into the arm.
        q: (n,) Posture at first contact, rad.
        velocity_before: (n,) Joint velocity at first contact, before any contact force acted, rad/s.
        velocity_after: (n,) Joint velocity at `time_after`, rad/s.
        object_twist_before: (6,) Object's linear (of its centre) and angular velocity at first contact, m/s, rad/s.
        object_twist_after: (6,) Object's twist at `time_after`, m/s, rad/s.
        impulse: (3,) Contact impulse on the arm over the compression, N s.
        approach_speed: Normal relative speed at first contact, m/s, > 0.
        separation_speed: Largest normal relative speed afterwards, until contact was lost for good or now, m/s, >= 0.
        losses: How often contact was lost and made again within this event.
        time_lost: When contact ended, s; NaN while it lasts.
        link: Link that hit; empty for the tool.
    """

    arm: str
    partner: str
    time: float
    time_after: float
    point: Array
    normal: Array
    q: Array
    velocity_before: Array
    velocity_after: Array
    object_twist_before: Array
    object_twist_after: Array
    impulse: Array
    approach_speed: float
    separation_speed: float
    losses: int
    time_lost: float
    link: str = ""

    @property
    def duration(self) -> float:
        """Duration of the compression, s."""
        return self.time_after - self.time

    @property
    def restitution(self) -> float:
        """Newton's coefficient as it came out: separation over approach speed."""
        return self.separation_speed / self.approach_speed

    @property
    def jump(self) -> Array:
        """(n,) Joint velocity after minus before, rad/s."""
        return self.velocity_after - self.velocity_before


def impact_of_truth(
    truth: ImpactTruth,
    robot: RobotModel,
    base: pin.SE3,
    joints: slice,
    *,
    arm: str,
    object_name: str,
    start_time: float,
) -> Impact:
    """The impact of one arm.

    Args:
        truth: In the world frame, with the joints of all arms.
        robot: The arm's model.
        base: Pose of its base in the world.
        joints: Its joints among those of all arms.
        arm: Its name.
        object_name: Name of the free object.
        start_time: Stamp of the simulation's start, s.
    """
    rotation = base.rotation.T

    def rotated(twist: Array) -> Array:
        return np.concatenate((rotation @ twist[:3], rotation @ twist[3:]))

    contact = ContactImpulse(
        frame=truth.link or robot.tool_frame,
        obstacle=object_name if truth.partner == OBJECT else truth.partner,
        point=base.actInv(truth.point),
        normal=rotation @ truth.normal,
        impulse=rotation @ truth.impulse,
        restitution=truth.restitution,
    )
    return Impact(
        source="plant",
        time=start_time + truth.time,
        arm=arm,
        frame=robot.base_frame,
        joint_names=robot.joint_names,
        position=truth.q[joints],
        velocity_before=truth.velocity_before[joints],
        velocity_after=truth.velocity_after[joints],
        contacts=(contact,),
        object=object_name,
        object_twist_before=rotated(truth.object_twist_before),
        object_twist_after=rotated(truth.object_twist_after),
    )


@dataclass
class _Touch:
    """The contacts of one pair at one instant, taken together."""

    point: Array
    normal: Array
    contacts: list[int]
    axes: Array  # (contacts, 3, 3): rows are each contact's normal, into the arm, and tangents
    geoms: tuple[int, int]  # of the arm, and of what it touches


_Pair: TypeAlias = tuple[str, str, str]
"""Arm, what it touches, and the link, which is empty for the tool."""


class _Event:
    """An impact while it is being watched.

    Attributes:
        touch: At first contact.
        time_after: End of compression, s; NaN before.
        impulse: (3,) So far, N s.
        absent_since: When contact was lost, s; NaN while it lasts.
    """

    def __init__(self, key: _Pair, time: float, touch: _Touch, state: tuple[Array, Array, Array], speed: float) -> None:
        arm, partner, link = key
        q, dq, twist = state
        self.touch, self.approach_speed = touch, max(-speed, 0.0)
        self._begin: dict[str, Any] = {"arm": arm, "partner": partner, "link": link, "time": time, "q": q}
        self._begin |= {"point": touch.point, "normal": touch.normal}
        self._begin |= {"velocity_before": dq, "object_twist_before": twist, "approach_speed": self.approach_speed}
        self._end: dict[str, Any] = {}
        self.time_after = self.absent_since = math.nan
        self.impulse = np.zeros(3)
        self.separation_speed, self.losses = 0.0, 0

    @property
    def compressing(self) -> bool:
        return not self._end

    @property
    def lost(self) -> bool:
        return not math.isnan(self.absent_since)

    def end_compression(self, time: float, state: tuple[Array, Array, Array]) -> None:
        self.time_after = time
        self._end = {"time_after": time, "velocity_after": state[1], "object_twist_after": state[2]}

    def truth(self) -> ImpactTruth:
        return ImpactTruth(
            **self._begin,
            **self._end,
            impulse=self.impulse.copy(),
            separation_speed=self.separation_speed,
            losses=self.losses,
            time_lost=self.absent_since,
        )


class ImpactObserver:
    """Watches what arms touch; contact lost for longer than `SEPARATION_TIME` ends an event.

    Call `look` between MuJoCo's `mj_step1` and `mj_step2`, when positions, velocities and contacts belong to the same
    instant, and `accumulate` after `mj_step2`, when the contact forces of that step are known.

    Attributes:
        geoms: MuJoCo's indices of each tool and of the object or table, by arm, partner and an empty link.
    """

    def __init__(self, world: World, joint_state: Callable[[], tuple[Array, Array, Array]]) -> None:
        """Prepare; `joint_state` gives copies of q (n,), dq (n,) and the object's twist (6,)."""
        self._world = world
        self._joint_state = joint_state
        self._pairs: dict[tuple[int, int], tuple[_Pair, float]] = {}
        self.geoms: dict[_Pair, tuple[int, int]] = {}
        seen: list[tuple[str, int]] = []
        for name, arm in world.arms.items():
            self.geoms[name, OBJECT, ""] = arm.tool_geom, world.object_geom
            self.geoms[name, TABLE, ""] = arm.tool_geom, world.table_geom
            for own, link in ((arm.tool_geom, ""), *arm.link_geoms.items()):
                table = world.board_geom if link else world.table_geom
                for partner, geom in ((OBJECT, world.object_geom), (TABLE, table), *seen):
                    # MuJoCo's normal leads from the first geom to the second.
                    self._pairs[geom, own] = (name, partner, link), 1.0
                    self._pairs[own, geom] = (name, partner, link), -1.0
            seen += [(name, geom) for geom in (arm.tool_geom, *arm.link_geoms)]
        self._jacobians = np.zeros((2, 3, world.model.nv))
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._active: dict[_Pair, _Event] = {}
        self._finished: list[_Event] = []
        self._touches: dict[_Pair, _Touch] = {}

    @property
    def touching(self) -> tuple[_Pair, ...]:
        """What touched at the last look: arm, partner, and link, which is empty for the tool."""
        return tuple(self._touches)

    def unsettled(self, time: float) -> bool:
        """Whether an event is so young, or so recently without contact, that every physics step must be looked at."""
        return any(
            event.compressing or event.lost or time - event.time_after < SETTLING_TIME
            for event in self._active.values()
        )

    def look(self, data: mujoco.MjData) -> None:
        """Find first contacts, ends of compression, losses; `data` must be consistent (after `mj_step1`)."""
        self._touches = self._find_touches(data) if data.ncon else {}
        if not (self._touches or self._active):
            return
        time = float(data.time)
        for key, touch in self._touches.items():
            speed = self._separation_speed(data, touch)
            event = self._active.get(key)
            if event is None:
                event = _Event(key, time, touch, self._joint_state(), speed)
                self._active[key] = event
            elif event.lost:
                event.losses += 1
                event.absent_since = math.nan
            self._follow(event, time, speed)
        for key, event in list(self._active.items()):
            if key in self._touches:
                continue
            if not event.lost and self._gap(data, event.touch) <= CONTACT_GAP:
                self._touches[key] = dataclasses.replace(event.touch, contacts=[], axes=event.touch.axes[:0])
                self._follow(event, time, self._separation_speed(data, event.touch))
            else:
                self._follow_lost(key, event, data, time)

    def accumulate(self, data: mujoco.MjData, timestep: float) -> None:
        """Add the contact impulses of the step just made."""
        wrench = np.zeros(6)
        for key, touch in self._touches.items():
            event = self._active[key]
            if not event.compressing:
                continue
            for index, axes in zip(touch.contacts, touch.axes, strict=True):
                mujoco.mj_contactForce(self._world.model, data, index, wrench)
                event.impulse += timestep * (wrench[:3] @ axes)

    def impacts(self) -> tuple[ImpactTruth, ...]:
        """Every impact whose compression is over, in order of first contact."""
        records = [own.truth() for own in (*self._finished, *self._active.values()) if not own.compressing]
        return tuple(sorted(records, key=lambda record: (record.time, record.arm)))

    def _find_touches(self, data: mujoco.MjData) -> dict[_Pair, _Touch]:
        # Whole arrays at once: asking MuJoCo contact by contact costs several times more than its physics step.
        contacts = data.contact
        distances = contacts.dist.tolist()
        pairs = contacts.geom.tolist()
        members: dict[_Pair, list[int]] = {}
        signs: dict[_Pair, float] = {}
        for index, (first, second) in enumerate(pairs):
            found = self._pairs.get((first, second))
            if found is not None and distances[index] < 0.0:
                members.setdefault(found[0], []).append(index)
                signs[found[0]] = found[1]
        if not members:
            return {}
        points, frames = contacts.pos, contacts.frame
        touches: dict[_Pair, _Touch] = {}
        for key, indices in members.items():
            axes = signs[key] * frames[indices].reshape(-1, 3, 3)
            summed = axes[:, 0].sum(axis=0)
            partner, own = pairs[indices[0]][:: int(signs[key])]
            touches[key] = _Touch(
                point=points[indices].mean(axis=0),
                normal=summed / math.sqrt(summed @ summed),
                contacts=indices,
                axes=axes,
                geoms=(own, partner),
            )
        return touches

    def _gap(self, data: mujoco.MjData, touch: _Touch) -> float:
        return float(mujoco.mj_geomDistance(self._world.model, data, *touch.geoms, 2.0 * CONTACT_GAP, None))

    def _separation_speed(self, data: mujoco.MjData, touch: _Touch) -> float:
        """Normal velocity of the arm relative to its partner at the contact point, m/s; negative on approach."""
        for jacobian, geom in zip(self._jacobians, touch.geoms, strict=True):
            body = int(self._world.model.geom_bodyid[geom])
            mujoco.mj_jac(self._world.model, data, jacobian, None, touch.point, body)
        own, partner = self._jacobians
        return float(touch.normal @ ((own - partner) @ data.qvel))

    def _follow(self, event: _Event, time: float, speed: float) -> None:
        if event.compressing:
            if speed >= -COMPRESSION_END * event.approach_speed:
                event.end_compression(time, self._joint_state())
        else:
            event.separation_speed = max(event.separation_speed, speed)

    def _follow_lost(self, key: _Pair, event: _Event, data: mujoco.MjData, time: float) -> None:
        if not event.lost:
            event.absent_since = time
            self._follow(event, time, self._separation_speed(data, event.touch))
            if event.compressing:
                event.end_compression(time, self._joint_state())
        elif time - event.absent_since > SEPARATION_TIME:
            self._finished.append(self._active.pop(key))
