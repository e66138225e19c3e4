"""Joint states by NumPy views: what the library's deserialiser gives, for whatever messages come."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from rosbags.typesys import Stores, get_typestore

from impact_aware.bags.joint_states import JointStateDecoder
from impact_aware.bags.raw_messages import RawMessages, batches
from impact_aware.tables.joint_table import JointBatch

STORE = get_typestore(Stores.ROS2_JAZZY)
TYPE = "sensor_msgs/msg/JointState"


def message(
    names: Sequence[str],
    position: Sequence[float],
    velocity: Sequence[float] = (),
    effort: Sequence[float] = (),
    *,
    stamp: tuple[int, int] = (12, 345),
    frame: str = "",
) -> bytes:
    types = STORE.types
    header = types["std_msgs/msg/Header"](types["builtin_interfaces/msg/Time"](*stamp), frame)
    arrays = (np.array(values, dtype=np.float64) for values in (position, velocity, effort))
    return bytes(STORE.serialize_cdr(types[TYPE](header, list(names), *arrays), TYPE))


def deserialize(raw: bytes) -> Any:
    return STORE.deserialize_cdr(raw, TYPE)


def joined(payloads: Sequence[bytes]) -> RawMessages:
    return next(batches((("/joint_states", 10**9 + row, data) for row, data in enumerate(payloads)), len(payloads) + 1))


def check_against_library(payloads: Sequence[bytes], found: Sequence[JointBatch]) -> None:
    """Every message once, with every figure as the library reads it."""
    rows = np.sort(np.concatenate([batch.rows for batch in found]))
    assert rows.tolist() == list(range(len(payloads)))
    for batch in found:
        for place, row in enumerate(batch.rows.tolist()):
            expected = deserialize(payloads[row])
            assert tuple(expected.name) == batch.names
            assert batch.received[place] == pytest.approx(1.0 + 1e-9 * row, abs=1e-12)
            assert batch.times[place] == expected.header.stamp.sec + 1e-9 * expected.header.stamp.nanosec
            columns = (batch.positions, batch.velocities, batch.efforts)
            for values, wanted in zip(columns, (expected.position, expected.velocity, expected.effort), strict=True):
                if values is None:
                    assert len(wanted) == 0
                else:
                    shared = min(len(wanted), len(batch.names))
                    np.testing.assert_array_equal(values[place][:shared], wanted[:shared])
                    assert np.isnan(values[place][shared:]).all()


@pytest.mark.parametrize("seed", range(5))
def test_reads_what_the_library_reads(seed: int) -> None:
    rng = np.random.default_rng(seed)
    payloads = []
    for _ in range(300):
        count = int(rng.integers(1, 9))
        names = [f"joint_{'x' * int(rng.integers(0, 5))}{index}" for index in range(count)]
        lengths = [count, count * int(rng.integers(0, 2)), count * int(rng.integers(0, 2))]
        arrays = [rng.standard_normal(length) for length in lengths]
        stamp = (int(rng.integers(-5, 2**31 - 1)), int(rng.integers(0, 10**9)))
        payloads.append(message(names, *arrays, stamp=stamp, frame="f" * int(rng.integers(0, 9))))
    decoder = JointStateDecoder(deserialize)
    check_against_library(payloads, decoder.decode(joined(payloads)))
    assert decoder.fast + decoder.slow == 300
    assert decoder.failed == 0


def test_one_layout_takes_the_fast_way() -> None:
    rng = np.random.default_rng(0)
    names = [f"panda_joint{index}" for index in range(1, 8)]
    payloads = [message(names, *rng.standard_normal((3, 7)), stamp=(5, row)) for row in range(1000)]
    # Others between them, so that they do not lie at equal distances.
    payloads[40:40] = payloads[700:700] = [message(names[:1], [0.5])]
    decoder = JointStateDecoder(deserialize)
    found = decoder.decode(joined(payloads))
    assert len(found) == 2
    assert (decoder.fast, decoder.slow) == (1002, 0)
    check_against_library(payloads, found)


def test_swapped_names_of_equal_length_are_told_apart() -> None:
    """Two arms on one topic: messages of the very same size, only the names differ."""
    left, right = (message([f"{side}_1", f"{side}_2"], [1.0, 2.0]) for side in ("lefty", "right"))
    swapped = message(["right_2", "right_1"], [1.0, 2.0])
    payloads = [left, right, swapped] * 20
    decoder = JointStateDecoder(deserialize)
    found = decoder.decode(joined(payloads))
    assert {batch.names for batch in found} == {("lefty_1", "lefty_2"), ("right_1", "right_2"), ("right_2", "right_1")}
    check_against_library(payloads, found)
    assert decoder.slow == 0


def test_changing_frame_id_does_not_matter() -> None:
    payloads = [message(["a", "b"], [row, 1.0], frame=f"{row:03d}") for row in range(200)]
    decoder = JointStateDecoder(deserialize)
    check_against_library(payloads, decoder.decode(joined(payloads)))
    assert decoder.slow == 0


def test_many_layouts_and_odd_encodings_go_through_the_library() -> None:
    payloads = [message([f"joint{row:02d}"], [float(row)]) for row in range(40)]
    decoder = JointStateDecoder(deserialize)
    found = decoder.decode(joined(payloads))
    assert decoder.slow > 0
    check_against_library(payloads, found)


def test_missing_values_become_nan() -> None:
    payloads = [message(["a", "b", "c"], [1.0, 2.0], [3.0]) for _ in range(10)]
    batch = JointStateDecoder(deserialize).decode(joined(payloads))[0]
    np.testing.assert_array_equal(batch.positions[0], [1.0, 2.0, np.nan])
    assert batch.velocities is not None
    np.testing.assert_array_equal(batch.velocities[0], [3.0, np.nan, np.nan])


def test_broken_bytes_are_counted_not_raised() -> None:
    good = message(["a", "b"], [1.0, 2.0])
    cut = good[: len(good) - 12]
    lying = bytearray(good)
    lying[good.index(b"b\0") - 4] = 200  # a name that claims to be longer than the message
    decoder = JointStateDecoder(deserialize)
    found = decoder.decode(joined([good, cut, bytes(lying), good]))
    assert sum(len(batch.rows) for batch in found) == 2
    assert decoder.failed == 2


def test_big_endian_is_left_to_the_library() -> None:
    header = b"\x00\x00\x00\x00"
    body = (7).to_bytes(4, "big") + (8).to_bytes(4, "big") + (1).to_bytes(4, "big") + b"\0" + b"\0" * 3
    body += (1).to_bytes(4, "big") + (2).to_bytes(4, "big") + b"a\0" + b"\0" * 2
    body += (1).to_bytes(4, "big")
    body += b"\0" * (-len(body) % 8) + np.array([4.0]).astype(">f8").tobytes() + (0).to_bytes(4, "big") * 2
    payload = header + body
    decoder = JointStateDecoder(deserialize)
    found = decoder.decode(joined([payload] * 3))
    assert decoder.slow == 3
    assert found[0].names == ("a",)
    assert found[0].positions[0, 0] == 4.0
