"""The samples of one arm out of whatever company its joints keep in the messages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError, UnknownNameError
from impact_aware.joint_columns import ColumnMap
from impact_aware.recordings.bag import Bag
from impact_aware.recordings.joint_state_reader import JointBatch, JointStateDecoder
from impact_aware.recordings.joint_table import open_table

TURN_SLACK = 0.5
"""How far a step may be from whole turns to be one of the angle's counting, rad: no joint moves as far in a sample."""

TURN_PERIOD = 0.03
"""Longest time between samples in which a whole turn can be no motion, s."""


@dataclass(frozen=True, eq=False)
class ArmSamples:
    """Usable samples of one arm in the order of the recording; k samples of n joints.

    Attributes:
        times: (k,) Stamps, s, finite.
        positions: (k, n) rad, finite.
        velocities: (k, n) rad/s with NaN where a value is missing, or None without any.
        efforts: (k, n) N m with NaN where a value is missing, or None without any.
    """

    times: Array
    positions: Array
    velocities: Array | None = None
    efforts: Array | None = None

    def rows(self, chosen: NDArray[np.bool_] | slice) -> ArmSamples:
        """The samples of a slice, or those that are marked in `chosen` (k,)."""
        columns = (self.velocities, self.efforts)
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
        turns: How often a joint's angle began anew, such as at pi, and was carried on instead.
    """

    def __init__(self, joint_names: Sequence[str], *, degrees: bool = False) -> None:
        """Remember the names, and whether positions and velocities are in degrees."""
        self.joint_names = tuple(joint_names)
        self._degrees = degrees
        self.messages = self.unusable = self.unstamped = self.turns = 0
        self._carried = np.zeros(len(self.joint_names))
        self._last: tuple[float, Array] | None = None
        self._places: dict[tuple[str, ...], NDArray[np.intp] | None] = {}

    def pick(self, batches: Sequence[JointBatch]) -> ArmSamples | None:
        """Samples of this arm among batches that were taken from the same messages; None without any."""
        parts = [(batch, places) for batch in batches if (places := self._locate(batch.names)) is not None]
        if not parts:
            return None
        if len(parts) == 1:
            batch, places = parts[0]
            return self._usable(
                batch.times,
                batch.received,
                batch.positions[:, places],
                None if batch.velocities is None else batch.velocities[:, places],
                None if batch.efforts is None else batch.efforts[:, places],
            )
        order = np.argsort(np.concatenate([batch.rows for batch, _ in parts]), kind="stable")
        columns = [self._together(parts, name)[order] for name in ("positions", "velocities", "efforts")]
        received = np.concatenate([batch.received for batch, _ in parts])[order]
        return self._usable(np.concatenate([batch.times for batch, _ in parts])[order], received, *columns)

    def _locate(self, names: tuple[str, ...]) -> NDArray[np.intp] | None:
        if names not in self._places:
            known = all(names.count(name) == 1 for name in self.joint_names)
            places = np.array([names.index(name) for name in self.joint_names], dtype=np.intp) if known else None
            self._places[names] = places
        return self._places[names]

    def _together(self, parts: list[tuple[JointBatch, NDArray[np.intp]]], name: str) -> Array:
        shape = len(self.joint_names)
        return np.concatenate(
            [
                np.full((len(batch.rows), shape), np.nan)
                if getattr(batch, name) is None
                else getattr(batch, name)[:, places]
                for batch, places in parts
            ]
        )

    def _usable(
        self, times: Array, received: Array, positions: Array, velocities: Array | None, efforts: Array | None
    ) -> ArmSamples:
        self.messages += len(times)
        unstamped = ~(times > 0.0) & (received != times)
        if unstamped.any():
            self.unstamped += int(np.count_nonzero(unstamped))
            times = np.where(unstamped, received, times)
        if self._degrees:
            positions, velocities = np.radians(positions), None if velocities is None else np.radians(velocities)
        samples = ArmSamples(times, positions, velocities, efforts)
        # Sums tell that all is well, which is nearly always.
        if not np.isfinite(positions.sum() + times.sum()):
            usable = np.asarray(np.isfinite(positions).all(axis=1) & np.isfinite(times))
            self.unusable += int(np.count_nonzero(~usable))
            samples = samples.rows(usable)
        samples = self._without_turns(samples)
        return replace(samples, velocities=_known(samples.velocities), efforts=_known(samples.efforts))

    def _without_turns(self, samples: ArmSamples) -> ArmSamples:
        """Carry angles on that begin anew after a turn, as drivers of joints without an end count them."""
        if not len(samples.times):
            return samples
        time, position = self._last or (float(samples.times[0]), samples.positions[0])
        steps = np.diff(samples.positions, axis=0, prepend=position[None, :])
        soon = np.abs(np.diff(samples.times, prepend=time)) <= TURN_PERIOD
        turns = np.rint(steps / (2.0 * np.pi)) * soon[:, None]
        turns[np.abs(steps - 2.0 * np.pi * turns) > TURN_SLACK] = 0.0
        self._last = (float(samples.times[-1]), samples.positions[-1])
        counted = int(np.count_nonzero(turns))
        if not (counted or self._carried.any()):
            return samples
        self.turns += counted
        carried = self._carried - 2.0 * np.pi * np.cumsum(turns, axis=0)
        self._carried = carried[-1]
        return replace(samples, positions=samples.positions + carried)


def _known(values: Array | None) -> Array | None:
    return None if values is None or not np.isfinite(values).any() else values


def samples_in_bag(
    bag: Bag, name: str, joint_names: Sequence[str] | None = None, *, degrees: bool = False
) -> tuple[tuple[str, ...], ArmSamples]:
    """Joint names and all samples of one arm of an opened recording.

    Args:
        bag: The recording.
        name: Of the joint states' topic, or what it ends in.
        joint_names: Joints to pick; those of the first message when None.
        degrees: Whether positions and velocities are in degrees.

    Raises:
        BagError: None or several topics of this name.
        UnknownNameError: A joint that the messages don't have.
        InvalidInputError: No message, or none with finite positions.
    """
    topic = bag.topic_named(name)
    decoder = JointStateDecoder(lambda raw: bag.deserialize(topic, raw))
    return _all_samples(
        (decoder.decode(raw) for raw in bag.raw([topic])), f"{bag.path}: {topic}", joint_names, degrees=degrees
    )


def samples_in_table(
    path: Path,
    joint_names: Sequence[str] | None = None,
    columns: ColumnMap | None = None,
    *,
    degrees: bool = False,
) -> tuple[tuple[str, ...], ArmSamples]:
    """Joint names and all samples of a table, with the arguments and errors of `samples_in_bag`.

    Args, beside those:
        columns: What is known about its columns.
        degrees: Whether positions and velocities are in degrees.
    """
    table = open_table(path, columns, joint_names or (), degrees=degrees)
    return _all_samples(([piece] for piece in table.pieces()), str(path), joint_names, degrees=degrees)


def _all_samples(
    groups: Iterable[list[JointBatch]], source: str, joint_names: Sequence[str] | None, *, degrees: bool = False
) -> tuple[tuple[str, ...], ArmSamples]:
    selector: ArmSelector | None = None
    parts = []
    for batches in groups:
        if selector is None and batches:
            known = min(batches, key=lambda batch: int(batch.rows[0])).names
            for name in joint_names or ():
                if name not in known:
                    raise UnknownNameError("joint", name, known)
            selector = ArmSelector(joint_names or known, degrees=degrees)
        part = None if selector is None else selector.pick(batches)
        if part is not None and len(part.times):
            parts.append(part)
    if selector is None or not parts:
        raise InvalidInputError("recording", source, "joint states with finite positions")
    return selector.joint_names, joined(parts)


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
