"""In which band of frequencies the joints of an arm ring: all of them in one, found in what follows contacts.

An oscillation of any frequency from 12 to 60 Hz can imitate a weak second contact within 100 ms. The joints of one arm
share its natural frequencies: what follows contacts, of all joints together, tells the band in which those are by the
marginal likelihoods of `BranchModel`, and leaves an oscillation less freedom in all the rest of the recording.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from impact_aware.arrays import Array
from impact_aware.estimation.branch_model import BranchModel
from impact_aware.estimation.motion_parts import RINGING

BANDS = tuple(
    (lowest, ratio * lowest) for lowest in (RINGING[0] * 1.2 ** np.arange(8)).tolist() for ratio in (1.25, 1.6)
)
"""Those that are told apart, Hz."""

SURE = float(np.log(20.0 * len(BANDS)))
"""Logarithm of how much more likely a band must make the samples than all frequencies: it is one of several."""

LENGTH = 0.1
"""Of the stretches that are looked at, s: some periods of the slowest joints."""

FEWEST, MOST = 12, 30
"""Samples of a stretch: with less nothing is told, of more only some are taken."""


def stretches_between(times: Array, begin: float, end: float) -> list[slice]:
    """The stretches of samples, with stamps (k,), that lie between two times, s."""
    found: list[slice] = []
    while True:
        last = min(begin + LENGTH, end)
        first, after = np.searchsorted(times, (begin, last)).tolist()
        if after - first < FEWEST:
            return found
        found.append(slice(first, after, -(-(after - first) // MOST)))
        begin = last


def ringing_band(stretches: Sequence[tuple[Array, Array, Array]]) -> tuple[float, float]:
    """Lowest and highest frequency of an arm's joints, Hz; `RINGING` where no narrower band is sure.

    Args:
        stretches: Stamps (k,), positions (k, n) and their noise (n,) of motions in which joints may ring.
    """
    if not stretches:
        return RINGING

    def likelihood(band: tuple[float, float]) -> float:
        return sum(BranchModel(*stretch, band=band).without_event() for stretch in stretches)

    likelihoods = [likelihood(band) for band in BANDS]
    best = int(np.argmax(likelihoods))
    return BANDS[best] if likelihoods[best] > likelihood(RINGING) + SURE else RINGING
