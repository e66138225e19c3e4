"""First-order smoothstep: how one field blends into another."""

from __future__ import annotations

from impact_aware.compiled import NUMBER, PAIR, compiled


@compiled(PAIR, NUMBER, NUMBER, NUMBER)
def smoothstep(r: float, r_min: float, r_max: float) -> tuple[float, float]:
    """Blend from 0 at `r_min` to 1 at `r_max` with zero slope at both ends (van Steen 2024, eqs. 8-9).

    Args:
        r: Distance or time.
        r_min: Up to here the value is 0.
        r_max: From here the value is 1; larger than `r_min`.

    Returns:
        The value, 0..1, and its derivative with respect to `r`.
    """
    if r <= r_min:
        return 0.0, 0.0
    if r >= r_max:
        return 1.0, 0.0
    width = r_max - r_min
    w = (r - r_min) / width
    return w * w * (3.0 - 2.0 * w), 6.0 * w * (1.0 - w) / width
