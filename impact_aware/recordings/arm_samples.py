"""Selection of one arm's joints from mixed joint states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from impact_aware.arrays import Array
from impact_aware.tables.joint_table import JointBatch


@dataclass(frozen=True, eq=False)
class ArmSamples:
    """Usable samples of one arm in the order of the recording; k samples of n joints.

    Attributes:
        times: (k,) Stamps, s, finite.
        positions: (k, n) rad, finite.
        velocities: (k, n) rad/s with NaN where a value is missing, or None without any.
        efforts: (k, n) N m with NaN where a value is missing, or None without any.
        time_std: (k,) Standard errors of the stamps beyond what all share, s, or None where these are 0.
    """

    times: Array
    positions: Array
    velocities: Array | None = None
    efforts: Array | None = None
    time_std: Array | None = None

    def rows(self, chosen: NDArray[np.bool_] | NDArray[np.intp] | slice) -> ArmSamples:
        """The samples of a slice, or those that are marked in `chosen` (k,), or at its places (m,)."""
        columns = (self.velocities, self.efforts, self.time_std)
        return ArmSamples(
            self.times[chosen],
            self.positions[chosen],
            *(None if column is None else column[chosen] for column in columns),
        )


class ArmSelector:
    """Picks one arm's joints by name and leaves out what can't be used, as the live nodes do.

    Attributes:
        joint_names: (n,) Names in the messages, in the order of the arrays.
        messages: Messages with all of these joints.
        unusable: Of those, the ones with a position or stamp that is missing or not finite.
        unstamped: Of those, the ones without a stamp, for which the recording time stands in.
    """

    def __init__(self, joint_names: Sequence[str], *, degrees: bool = False) -> None:
        """Remember the names, and whether positions and velocities are in degrees."""
        self.joint_names = tuple(joint_names)
        self._degrees = degrees
        self.messages = self.unusable = self.unstamped = 0
        self._places: dict[tuple[str, ...], NDArray[np.intp] | None] = {}

    def pick(self, batches: Sequence[JointBatch]) -> ArmSamples | None:
        """Samples of this arm among batches that were taken from the same messages; None without any."""
        parts = [(batch, places) for batch in batches if (places := self._locate(batch.names)) is not None]
        if not parts:
            return None
        samples = joined(
            [
                ArmSamples(
                    batch.times,
                    batch.positions[:, places],
                    *(None if column is None else column[:, places] for column in (batch.velocities, batch.efforts)),
                )
                for batch, places in parts
            ]
        )
        received = np.concatenate([batch.received for batch, _ in parts])
        if len(parts) > 1:
            order = np.argsort(np.concatenate([batch.rows for batch, _ in parts]), kind="stable")
            samples, received = samples.rows(order), received[order]
        return self._usable(samples, received)

    def _locate(self, names: tuple[str, ...]) -> NDArray[np.intp] | None:
        if names not in self._places:
            known = all(names.count(name) == 1 for name in self.joint_names)
            places = np.array([names.index(name) for name in self.joint_names], dtype=np.intp) if known else None
            self._places[names] = places
        return self._places[names]

    def _usable(self, samples: ArmSamples, received: Array) -> ArmSamples:
        times = samples.times
        self.messages += len(times)
        unstamped = ~(times > 0.0) & (received != times)
        if unstamped.any():
            self.unstamped += int(np.count_nonzero(unstamped))
            samples = replace(samples, times=np.where(unstamped, received, times))
        if self._degrees:
            turned = None if samples.velocities is None else np.radians(samples.velocities)
            samples = replace(samples, positions=np.radians(samples.positions), velocities=turned)
        # Nearly always all values are finite, which their sum shows at once.
        if not np.isfinite(samples.positions.sum() + samples.times.sum()):
            usable = np.asarray(np.isfinite(samples.positions).all(axis=1) & np.isfinite(samples.times))
            self.unusable += int(np.count_nonzero(~usable))
            samples = samples.rows(usable)
        return replace(samples, velocities=_known(samples.velocities), efforts=_known(samples.efforts))


def _known(values: Array | None) -> Array | None:
    return None if values is None or not np.isfinite(values).any() else values


def joined(parts: Sequence[ArmSamples]) -> ArmSamples:
    """Samples of several stretches, one after the other."""
    if len(parts) == 1:
        return parts[0]
    lengths = [len(part.times) for part in parts]
    positions = np.concatenate([part.positions for part in parts])
    return ArmSamples(
        np.concatenate([part.times for part in parts]),
        positions,
        _stacked([part.velocities for part in parts], positions, lengths),
        _stacked([part.efforts for part in parts], positions, lengths),
        None if any(part.time_std is None for part in parts) else np.concatenate([part.time_std for part in parts]),
    )


def _stacked(columns: Sequence[Array | None], like: Array, lengths: Sequence[int]) -> Array | None:
    """One array of parts of which some may be missing; None when all are."""
    if all(column is None for column in columns):
        return None
    filled = [
        np.full((length, like.shape[1]), np.nan) if column is None else column
        for column, length in zip(columns, lengths, strict=True)
    ]
    return np.concatenate(filled)
