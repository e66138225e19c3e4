"""A recording of a run whose every number was written by hand, of one arm or of two, without a bag file."""

from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace as Message

import numpy as np

from impact_aware.bags.bag import BagError

IDLE, ANTE, INTERIM, POST, SAFE, HOLD = range(6)
JOINTS = ["a", "b", "c"]


def xyz(*values):
    return Message(**dict(zip("xyz", values, strict=True)))


def stamp(time):
    return Message(sec=int(time), nanosec=round((time - int(time)) * 1e9))


def header(time):
    return Message(stamp=stamp(time))


def twist(linear, angular=(0.0, 0.0, 0.0)):
    return Message(linear=xyz(*linear), angular=xyz(*angular))


class HandMadeBag:
    """Messages by topic, as `Bag` gives them."""

    def __init__(self):
        self.path = Path("hand_made")
        self._messages = defaultdict(list)

    @property
    def topics(self):
        return {topic: "" for topic in self._messages}

    def add(self, topic, *messages):
        self._messages[topic] += messages

    def messages(self, name):
        found = [topic for topic in self._messages if topic == name or topic.endswith(f"/{name}")]
        if len(found) != 1:
            raise BagError(f"{len(found)} topics are named {name}")
        return iter([(getattr(message, "received", 0.0), message) for message in self._messages[found[0]]])

    def replace(self, topic, *messages):
        self._messages[topic] = list(messages)


def event(sequence, time, detected, kind=0, received=0.0):
    """An ImpactEvent, recorded at a time that no other one is of."""
    stamps = {"header": header(time), "stamp_detected": stamp(detected)}
    return Message(**stamps, sequence=sequence, kind=kind, received=received or detected + 0.0005)


def jump(
    time,
    after,
    *,
    before=(0.0, 0.0, 0.0),
    source=1,
    sequence=0,
    valid=True,
    obstacle="box",
    velocity=(0, 0, 0),
    received=0.0,
):
    """An ImpactPrediction."""
    return Message(
        received=received,
        header=header(time),
        source=source,
        event_sequence=sequence,
        arm="",
        joint_names=JOINTS,
        velocity_before=list(before),
        velocity_after=list(after),
        contacts=[Message(obstacle=obstacle, frame="tool")],
        object="box",
        object_twist_after=twist(velocity),
        valid=valid,
    )


MODES = [IDLE, ANTE, ANTE, ANTE, ANTE, INTERIM, INTERIM, POST, POST, HOLD, SAFE]
TIMES = 2.0 + 0.1 * np.arange(11)
CYCLES_US = [9000.0, 100.0, 110.0, 120.0, 130.0, 140.0, 150.0, 160.0, 170.0, 900.0, 200.0]


def arm_state(name, k, scale):
    # Far larger before the impact (k = 2) than around it (k = 5): norms 60 and 13, the latter of both parts.
    # What is just outside that time (k = 3 and 8) is larger again.
    target = {2: ((0.0, 60.0, 0.0), (0.0, 0.0, 0.0)), 5: ((3.0, 0.0, 4.0), (0.0, 12.0, 0.0))}
    target |= {3: ((0.0, 0.0, 30.0), (0.0, 0.0, 0.0)), 8: ((0.0, 20.0, 0.0), (0.0, 0.0, 0.0))}
    linear, angular = target.get(k, ((0.1, 0.0, 0.0), (0.0, 0.0, 0.0)))
    return Message(
        arm=name,
        tool_position=xyz(0.5, 0.01 * k, 0.2 + 0.002 * k * (scale - 1.0)),
        tool_velocity=twist((0.0, -0.3 * scale + 0.01 * k, 0.0)),
        reference_velocity=twist((0.0, -0.4, 0.0)),
        target_acceleration=twist(scale * np.array(linear), scale * np.array(angular)),
        joint_names=JOINTS,
        joint_reference_velocity=[1.0 * k, 2.0 * k, 3.0 * k],
        effort=[0.0, 0.0, 0.0],
    )


def recording(arms):
    """A run whose controller is active from 2.1 s to 3.0 s, in command to 2.9 s; arms hit at 2.395 s and 2.41 s."""
    bag = HandMadeBag()
    bag.add(
        "/controller_state",
        *(
            Message(
                header=header(time),
                mode=mode,
                arms=[arm_state(name, k, 1.0 + index) for index, name in enumerate(arms)],
                cycle_time=stamp(1e-6 * CYCLES_US[k]),
                cycles=100 * k,
                missed=k,
            )
            for k, (time, mode) in enumerate(zip(TIMES, MODES, strict=True))
        ),
    )
    bag.add(
        "/reference_field",
        *(
            Message(
                arms=[Message(normal=xyz(0.0, 1.0, 0.0)), Message(normal=xyz(0.0, -1.0, 0.0))][: len(arms)],
                object_velocity_after=xyz(*velocity),
                goal=xyz(*goal),
                object_position=xyz(0.5, 0.0, 0.4),
            )
            for velocity, goal in (((9.0, 9.0, 9.0), (8.0, 8.0, 8.0)), ((0.0, -0.3, 0.4), (0.47, -0.26, 0.55)))
        ),
    )
    for index, name in enumerate(arms):
        space = f"/{name}" if len(arms) > 1 else ""
        hit = 2.395 + 0.015 * index
        if space:
            bag.add(f"{space}/object_pose")
        bag.add(
            f"{space}/joint_states",
            *(
                Message(header=header(t), name=JOINTS, position=[t, 0.0, 0.0], velocity=[0.0, t, -t])
                for t in (2.2, 2.4, 2.45)
            ),
        )
        bag.add(
            f"{space}/true_impacts",
            jump(2.2, (7.0, 7.0, 7.0), obstacle="table"),
            jump(hit, (1.0, 2.0, 3.0), before=(1.0, -2.0, 0.0), velocity=(0.03, -0.28, 0.04 * (1 + index))),
            jump(2.8, (8.0, 8.0, 8.0)),
        )
        bag.add(
            f"{space}/impacts",
            event(1, 2.29, 2.3),  # before anything was hit: false
            event(2, hit - 0.001, hit + 0.002),
            event(2, hit - 0.001, hit + 0.009),  # the same, published again
            event(3, 2.31, 2.32, kind=1),  # contact lost
            event(4, 2.95, 2.96),  # after the task, as the next one
            event(5, 2.97, 2.98),
        )
        bag.add(
            f"{space}/predicted_jumps",
            jump(2.31, (9.0, 9.0, 9.0), source=0),
            jump(2.33, (9.0, 9.0, 9.0), source=0, valid=False),
            jump(2.35, (9.0, 9.0, 9.0), source=0),
            jump(2.5, (9.0, 9.0, 9.0), source=0, sequence=2, received=hit + 0.003),
            jump(2.3, (5.0, 5.0, 5.0), sequence=1),
            jump(hit, (5.0, 5.0, 5.0), sequence=2, valid=False, received=hit + 0.004),
            jump(hit, (1.0, 2.3, 2.6), sequence=2, velocity=(0.0, -0.3, 0.0), received=hit + 0.0125 + 0.02 * index),
            jump(hit, (6.0, 6.0, 6.0), sequence=2, received=hit + 0.05),
        )
    bag.add(
        "/object_pose",
        *(
            Message(header=header(t), pose=Message(position=xyz(*p)))
            for t, p in (
                (2.1, (0.5, 0.0, 0.4)),
                (2.45, (0.5, 0.04, 0.4)),
                (2.6, (0.5, 0.06, 0.5)),  # from here on the slip counts
                (2.7, (0.5, 0.08, 0.56)),
                (2.8, (0.496, 0.08, 0.503)),
                (2.9, (0.5, -0.30, 0.54)),
                (2.95, (0.9, 0.9, 0.9)),  # after the task
            )
        ),
    )
    return bag
