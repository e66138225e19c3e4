"""Header stamps as seconds and back, without losing nanoseconds where it matters."""

from __future__ import annotations

from builtin_interfaces.msg import Time


def seconds(stamp: Time) -> float:
    """A stamp in seconds; a double holds it to 0.2 microseconds at today's dates."""
    return stamp.sec + 1e-9 * stamp.nanosec


def stamp(time: float) -> Time:
    """A stamp from seconds, rounded to the nanosecond."""
    whole = int(time // 1.0)
    nanoseconds = round((time - whole) * 1e9)
    return Time(sec=whole + nanoseconds // 1_000_000_000, nanosec=nanoseconds % 1_000_000_000)
