"""Quality of service of every topic of the suite, and the names of those that several arms share."""

from __future__ import annotations

from rclpy.duration import Duration
from rclpy.qos import DurabilityPolicy, HistoryPolicy, LivelinessPolicy, QoSProfile, ReliabilityPolicy


def own_and_common(namespace: str, topic: str) -> tuple[str, ...]:
    """Return a topic of an arm in a namespace, and that of several arms, which is one level above each of them."""
    above, _, name = namespace.strip("/").rpartition("/")
    return (topic, f"/{above}/{topic}".replace("//", "/")) if name else (topic,)


LIVELINESS_LEASE = 2.0
"""How long a publisher of events or fields may be silent as a process before it counts as lost, s."""


BACKLOG = 4
"""Queue length of a node that answers states: those of a longer stall are too old to be answered."""

WATCHED = 100
"""Queue length of a node that only observes states: late on a busy machine, it still receives each one."""


def state_qos(reliable: bool, answered: bool = False) -> QoSProfile:
    """joint_states: best effort receives from every driver, reliable ones too; lockstep needs each message to arrive.

    The queue holds `BACKLOG` states for a node that answers each one, else `WATCHED`.
    """
    policy = ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT
    return QoSProfile(depth=BACKLOG if answered else WATCHED, history=HistoryPolicy.KEEP_LAST, reliability=policy)


def _reliable(depth: int, *, latched: bool = False, leased: bool = False) -> QoSProfile:
    """Keeps the last `depth`, for late joiners too when `latched`; `leased` shows the death of a publisher."""
    profile = QoSProfile(depth=depth, history=HistoryPolicy.KEEP_LAST, reliability=ReliabilityPolicy.RELIABLE)
    if latched:
        profile.durability = DurabilityPolicy.TRANSIENT_LOCAL
    if leased:
        profile.liveliness = LivelinessPolicy.AUTOMATIC
        profile.liveliness_lease_duration = Duration(seconds=LIVELINESS_LEASE)
    return profile


COMMAND_QOS = _reliable(1)

STREAM_QOS = _reliable(50)

EVENT_QOS = _reliable(50, leased=True)
"""impacts and predicted_jumps: a subscriber that requests the lease detects the death of their node."""

LATCHED_QOS = _reliable(1, latched=True)

LATCHED_EVENT_QOS = _reliable(1, latched=True, leased=True)
"""reference_field: kept for late joiners, and its node's death is detected."""

LATEST_QOS = QoSProfile(depth=1, history=HistoryPolicy.KEEP_LAST, reliability=ReliabilityPolicy.BEST_EFFORT)
"""Topics of which only the newest message matters."""

HEARTBEAT_QOS = _reliable(1)
"""Heartbeats: only the last one counts. Listeners that must not hold their sender up ask for best effort."""

READINESS_QOS = _reliable(50, latched=True)
"""readiness: deep, since all nodes write into one history of the reader, and each must be there for who comes late."""

STEP_DONE_QOS = _reliable(50, latched=True)
"""step_done: kept, so that a simulator which DDS introduces late still gets the answer it waits for; deep, since all
participants write into one history."""
