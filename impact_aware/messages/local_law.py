"""`LocalLaw`: what an arm shall do between two messages of its controller, to and from the message."""

from __future__ import annotations

from typing import Any

import numpy as np

from impact_aware.arrays import Array
from impact_aware.control import Mode
from impact_aware.control.local_law import LocalLaw
from impact_aware.errors import InvalidInputError
from impact_aware.messages.stamps import seconds, stamp_seconds, write_stamp
from impact_aware.messages.types import MessageTypes

TYPE = "impact_aware_msgs/msg/LocalLaw"

_ARRAYS, _GAINS = ("effort", "effort_rate", "position", "velocity"), ("position_gain", "velocity_gain")


def law_to_message(law: LocalLaw, types: MessageTypes, *, frame: str) -> Any:
    """A law as a message; `frame` is that of the arm's base."""
    message = types.new(TYPE)
    write_stamp(message.header.stamp, law.stamp)
    message.header.frame_id = frame
    message.sequence = law.sequence
    message.mode = int(law.mode)
    write_stamp(message.validity, law.validity)
    message.joint_names = list(law.joint_names)
    for name in (*_ARRAYS, *_GAINS):
        # A gain may be a view of another array: the message wants it row by row.
        setattr(message, name, types.doubles(np.ravel(getattr(law, name))))
    return message


def law_from_message(message: Any) -> LocalLaw:
    """Convert a message to a law.

    Raises:
        InvalidInputError: Numbers that make no law, by name.
    """
    names = tuple(message.joint_names)
    if message.mode not in {int(mode) for mode in Mode}:
        raise InvalidInputError("law.mode", int(message.mode), f"one of {', '.join(str(int(mode)) for mode in Mode)}")
    return LocalLaw(
        joint_names=names,
        **{name: np.array(getattr(message, name)) for name in _ARRAYS},
        **{name: _square(name, getattr(message, name), len(names)) for name in _GAINS},
        stamp=stamp_seconds(message),
        validity=seconds(message.validity),
        sequence=int(message.sequence),
        mode=Mode(message.mode),
    )


def _square(name: str, values: Any, n: int) -> Array:
    """The (n, n) of a message's row by row."""
    if len(values) != n * n:
        raise InvalidInputError(f"law.{name}", f"{len(values)} numbers", f"{n * n}, as the law has {n} joints")
    return np.array(values, dtype=float).reshape(n, n)
