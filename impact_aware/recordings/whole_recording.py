"""All samples of one arm of a recording at once, clean."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from impact_aware.bags.bag import Bag
from impact_aware.bags.joint_states import JointStateDecoder, joint_state_deserializer
from impact_aware.errors import InvalidInputError, check_name
from impact_aware.recordings.arm_samples import ArmSamples, ArmSelector, joined
from impact_aware.recordings.input_stage import cleaned
from impact_aware.tables.joint_table import JointBatch, open_table
from impact_aware.tables.options import ColumnMap


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
    decoder = JointStateDecoder(joint_state_deserializer(bag, topic))
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
                check_name("joint", name, known)
            selector = ArmSelector(joint_names or known, degrees=degrees)
        part = None if selector is None else selector.pick(batches)
        if part is not None and len(part.times):
            parts.append(part)
    if selector is None or not parts:
        raise InvalidInputError("recording", source, "joint states with finite positions")
    return selector.joint_names, joined(cleaned(parts))
