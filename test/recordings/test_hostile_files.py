"""Recordings and tables made to harm: bombs, absurd sizes and times, links to other files, names that are formulas."""

import csv
import io
import sqlite3
import struct
from contextlib import closing, nullcontext

import h5py
import lz4.frame
import numpy as np
import pytest
import yaml
import zstandard
from hand_made import make_impact
from mcap.writer import CompressionType
from mcap.writer import Writer as McapWriter
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin
from small_recordings import ROWS, bag_bytes, write_bag

from impact_aware.bags import bag_files
from impact_aware.bags.bag import Bag, BagError
from impact_aware.bags.bag_files import LARGEST_CHUNK, decompress
from impact_aware.errors import ImpactAwareError, InvalidInputError
from impact_aware.recordings.impact_analysis import analyze
from impact_aware.recordings.options import AnalysisOptions
from impact_aware.recordings.whole_recording import samples_in_table
from impact_aware.report.result_files import impacts_csv
from impact_aware.tables.column_file import MOST_COLUMNS, open_columns
from impact_aware.tables.joint_table import open_table

TOPIC = "/joint_states"


def count(path):
    """Messages that can be read, and what is said about the damage."""
    with Bag(path) as bag:
        return sum(len(raw) for raw in bag.raw([TOPIC])), bag.damage or ""


def test_a_bomb_is_not_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr("impact_aware.resources.LEAST_UNPACKED", 1 << 20)
    bomb = tmp_path / "bag.mcap.zstd"
    bomb.write_bytes(zstandard.ZstdCompressor().compress(bytes(64 << 20)))
    assert bomb.stat().st_size < 10_000
    with pytest.raises(BagError, match=r"bag.mcap.zstd unpacks to more than \d+ bytes"), Bag(bomb):
        pass
    monkeypatch.setattr("impact_aware.resources.LEAST_UNPACKED", 1 << 28)
    with pytest.raises(BagError, match="not an MCAP file"), Bag(bomb):
        pass


@pytest.mark.parametrize("compression", ["zstd", "lz4"])
def test_a_chunk_is_unpacked_no_further_than_it_says(compression):
    content = bytes(range(256)) * 400
    packed = zstandard.ZstdCompressor().compress(content) if compression == "zstd" else lz4.frame.compress(content)
    assert decompress(packed, compression, len(content)) == content
    for most in (len(content) - 1, 1000, 0):
        with pytest.raises(ValueError, match=f"more than {most} bytes"):
            decompress(packed, compression, most)
    with pytest.raises(ValueError, match="unsupported compression 'xz'"):
        decompress(packed, "xz")


def chunk(content, said, compression="zstd"):
    """A chunk record whose header says that it unpacks to `said` bytes."""
    name = compression.encode()
    body = struct.pack("<QQQII", 0, 0, said, 0, len(name)) + name + struct.pack("<Q", len(content)) + content
    return struct.pack("<BQ", 6, len(body)) + body


@pytest.mark.parametrize("said", [100, 7 << 30, 2**64 - 1])
def test_a_chunk_that_lies_about_its_size_is_left_out(tmp_path, said):
    bomb = zstandard.ZstdCompressor().compress(bytes(LARGEST_CHUNK // 16))
    path = tmp_path / "bag.mcap"
    good = bag_bytes("chunked")
    path.write_bytes(good[:8] + chunk(bomb, said) + good[8:])
    read, damage = count(path)
    assert read == ROWS
    assert "damaged chunk at byte 17, which was left out" in damage


def test_empty_records_and_many_chunks_take_bounded_time(tmp_path, monkeypatch):
    """A chunk of 256 MiB packs 28 million records of 9 bytes into 24 kB, and a file has room for thousands of them."""
    content, good = struct.pack("<BQ", 0x99, 0) * 100_000, bag_bytes("mcap")
    records = chunk(zstandard.ZstdCompressor().compress(content), len(content))
    path = tmp_path / "bag.mcap"
    path.write_bytes(good[:8] + records + good[8:])
    assert count(path) == (ROWS, "")
    monkeypatch.setattr("impact_aware.bags.mcap_scan.MOST_RECORDS", 1000)
    read, damage = count(path)
    assert read == ROWS and "has more than 1000 records in the chunk at byte 17" in damage
    path.write_bytes(good[:8] + 200 * records + good[8:])
    monkeypatch.setattr("impact_aware.resources.LEAST_UNPACKED", 1 << 20)
    monkeypatch.setattr("impact_aware.bags.mcap_scan.MOST_RECORDS", 1 << 20)
    with pytest.raises(BagError, match=r"unpacks to more than \d+ bytes: it was read up to byte"), Bag(path):
        pass


def test_values_of_any_type_in_a_column_are_no_messages(tmp_path):
    """SQLite keeps what it is given: a time that is no integer, and a size where bytes should be."""
    (path,) = write_bag(tmp_path / "bag", plugin=StoragePlugin.SQLITE3).glob("*.db3")
    odd = (("later", b""), (9e300, b""), (-(2**63), b""), (5, 10**11), (5, "text"), (5, 0.5))
    with closing(sqlite3.connect(path)) as base, base:
        base.executemany("INSERT INTO messages (topic_id, timestamp, data) VALUES (1, ?, ?)", odd)
    read, damage = count(path)
    assert read == ROWS and "has a message without a time or bytes, which was left out" in damage


def test_a_full_disk_is_no_recording_that_was_cut_off(tmp_path, monkeypatch):
    (tmp_path / "unpacked").mkdir()
    (tmp_path / "unpacked" / "bag.mcap").symlink_to("/dev/full")
    monkeypatch.setattr(bag_files, "TemporaryDirectory", lambda prefix: nullcontext(str(tmp_path / "unpacked")))
    (tmp_path / "bag.mcap.zstd").write_bytes(zstandard.ZstdCompressor().compress(bytes(4 << 20)))
    with pytest.raises(BagError, match="No space left"), Bag(tmp_path / "bag.mcap.zstd"):
        pass


def test_a_task_that_can_not_be_used_is_refused_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr("impact_aware.recordings.impact_analysis._read", None)
    with pytest.raises(InvalidInputError, match="task: got nobody.yaml, expected a recording of a reference field"):
        analyze([write_bag(tmp_path / "bag")], AnalysisOptions(task="nobody.yaml"))


def test_sizes_of_records_beyond_the_file_do_not_matter(tmp_path):
    good = bag_bytes("mcap")
    for size in (2**31, 2**40, 2**63, 2**64 - 1):
        for kind in (3, 4, 5, 6, 8, 0x7F):
            path = tmp_path / "bag.mcap"
            path.write_bytes(good[:8] + struct.pack("<BQ", kind, size) + good[8:])
            try:
                with Bag(path) as bag:
                    list(bag.raw([TOPIC]))
            except BagError as error:
                assert str(error).isprintable()


def test_times_after_2262_are_left_out_and_told(tmp_path):
    with open(tmp_path / "late.mcap", "wb") as stream:
        writer = McapWriter(stream, compression=CompressionType.NONE)
        writer.start(profile="ros2", library="test")
        schema = writer.register_schema("sensor_msgs/msg/JointState", "ros2msg", b"string[] name")
        channel = writer.register_channel(TOPIC, "cdr", schema)
        for time in (5, 2**63 - 1, 2**63, 2**64 - 1):
            writer.add_message(channel, log_time=time, publish_time=0, data=b"\0\1\0\0\0\0\0\0")
        writer.finish()
    read, damage = count(tmp_path / "late.mcap")
    assert read == 2 and "late.mcap has 2 messages after the year 2262" in damage


def test_a_message_shorter_than_its_header_is_left_out(tmp_path):
    good = bag_bytes("mcap")
    path = tmp_path / "bag.mcap"
    path.write_bytes(good[:8] + struct.pack("<BQ", 5, 3) + b"abc" + good[8:])
    read, damage = count(path)
    assert read == ROWS and "damaged message at byte 17" in damage
    with Bag(path) as recording:
        assert len(list(recording.records())) >= ROWS


@pytest.mark.parametrize("plugin", [StoragePlugin.MCAP, StoragePlugin.SQLITE3])
def test_messages_compressed_one_by_one_are_bounded(tmp_path, monkeypatch, plugin):
    path = write_bag(tmp_path / "bag", plugin=plugin, compression=(CompressionMode.MESSAGE, CompressionFormat.ZSTD))
    assert count(path) == (ROWS, "")
    with Bag(path) as recording:
        messages = [record for record in recording.records() if hasattr(record, "topic")]
    assert len(messages) == ROWS and all(b"elbow" in message.data for message in messages)
    monkeypatch.setattr("impact_aware.bags.bag_parts.LARGEST_MESSAGE", 20)
    read, damage = count(path)
    assert read == 0 and "can't be decompressed (it unpacks to more than 20 bytes)" in damage


def test_files_compressed_as_a_whole_stay_in_their_folder(tmp_path):
    path = write_bag(tmp_path / "bag", compression=(CompressionMode.FILE, CompressionFormat.ZSTD))
    assert count(path) == (ROWS, "")
    index = path / "metadata.yaml"
    secret = tmp_path / "secret.mcap"
    secret.write_bytes(bag_bytes("mcap"))
    content = yaml.safe_load(index.read_text())
    content["rosbag2_bagfile_information"]["relative_file_paths"] = ["../secret.mcap"]
    index.write_text(yaml.safe_dump(content))
    with pytest.raises(BagError, match="secret.mcap is missing"), Bag(path):
        pass


INDEXES = {
    "empty": "",
    "no mapping": "- 1",
    "brackets": "[" * 5000,
    "names are numbers": "rosbag2_bagfile_information: {relative_file_paths: [1, 2], topics_with_message_count: []}",
    "no topics": "rosbag2_bagfile_information: {relative_file_paths: [bag_0.mcap]}",
    "python": "!!python/object/apply:os.system [true]",
}


@pytest.mark.parametrize("text", INDEXES.values(), ids=INDEXES.keys())
def test_a_spoilt_index_leaves_the_files_readable(tmp_path, text):
    path = write_bag(tmp_path / "bag")
    (path / "metadata.yaml").write_text(text)
    read, damage = count(path)
    assert read == ROWS and "its files are read one after the other" in damage


HOSTILE_TABLES = {
    "200 000 publishers": ("UPDATE topics SET offered_qos_profiles = ?", "- {depth: 1}\n" * 200_000, "characters"),
    "long definitions": (
        "UPDATE message_definitions SET encoded_message_definition = ?", "int32 a\n" * 600_000, "encoded_message_def"
    ),
    "a computed column": (
        "ALTER TABLE messages ADD COLUMN more GENERATED ALWAYS AS (hex(zeroblob(400000000)))", None, "are computed",
    ),
    "a view": ("CREATE VIEW more AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT i FROM n", None,
               "are computed"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "text", "words"), HOSTILE_TABLES.values(), ids=HOSTILE_TABLES.keys())
def test_tables_that_would_take_for_ever_are_refused(tmp_path, change, text, words):
    path = tmp_path / "bag?#.db3"
    path.write_bytes(bag_bytes("db3"))
    assert count(path)[0] == ROWS
    with closing(sqlite3.connect(path)) as base:
        base.execute(change, () if text is None else (text,))
        base.commit()
    with pytest.raises(BagError, match=words), Bag(path):
        pass


@pytest.mark.parametrize("kind", ["mcap", "chunked", "db3", "mcap.zstd"])
def test_a_recording_cut_off_anywhere_gives_what_is_left_or_one_line(tmp_path, kind):
    good = bag_bytes(kind)
    path = tmp_path / f"bag.{kind.replace('chunked', 'mcap')}"
    for size in np.linspace(0, len(good) - 1, 25).astype(int).tolist():
        path.write_bytes(good[:size])
        try:
            read, damage = count(path)
        except ImpactAwareError as error:
            assert str(error).isprintable() and path.name in str(error)
        else:
            assert read <= ROWS and (damage or read == ROWS)


def test_bytes_of_other_files_do_not_come_out_of_hdf5(tmp_path):
    other = tmp_path / "secret"
    other.write_bytes(np.arange(3.0).tobytes())
    with h5py.File(tmp_path / "external.h5", "w") as file:
        file.create_dataset("time", (3,), "f8", external=[(str(other), 0, 24)])
    with h5py.File(tmp_path / "inner.h5", "w") as file:
        file["q1"] = np.arange(3.0)
    with h5py.File(tmp_path / "virtual.h5", "w") as file:
        layout = h5py.VirtualLayout((3,), "f8")
        layout[:] = h5py.VirtualSource(str(tmp_path / "inner.h5"), "q1", (3,))
        file.create_virtual_dataset("q1", layout)
    for name in ("external.h5", "virtual.h5"):
        with pytest.raises(InvalidInputError, match="in another file, expected datasets within the file"):
            open_columns(tmp_path / name)
    with h5py.File(tmp_path / "links.h5", "w") as file:
        file["time"] = np.arange(3.0)
        file["q1"] = h5py.ExternalLink(str(tmp_path / "inner.h5"), "q1")
        file["q2"] = h5py.SoftLink("/time")
    assert set(open_columns(tmp_path / "links.h5").widths) == {"time"}


@pytest.mark.slow
def test_arrays_that_exist_only_in_a_header_are_refused(tmp_path):
    with h5py.File(tmp_path / "huge.h5", "w") as file:
        file.create_dataset("time", (10**12,), "f8", chunks=(1024,))
    with pytest.raises(InvalidInputError, match="8000000000000 bytes when unpacked"):
        open_columns(tmp_path / "huge.h5")
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 3), }"
    (tmp_path / "huge.npy").write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
    with pytest.raises(InvalidInputError, match="a table that can be read"):
        open_columns(tmp_path / "huge.npy")
    np.savez_compressed(tmp_path / "bomb.npz", time=np.zeros(50_000_000))
    with pytest.raises(InvalidInputError, match="400000128 bytes when unpacked"):
        open_columns(tmp_path / "bomb.npz")


def test_a_table_has_a_bounded_number_of_columns(tmp_path):
    (tmp_path / "wide.csv").write_text(",".join(f"c{i}" for i in range(5000)) + "\n")
    with pytest.raises(InvalidInputError, match="5000 columns, expected 4096 at most"):
        open_columns(tmp_path / "wide.csv")


def test_a_name_is_no_formula_in_a_spreadsheet():
    names = ('=cmd|"/c calc"!A1', "@SUM(A1)")
    text = impacts_csv([make_impact(joint_names=names, arm="+1", label="-2")])
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["joint"] for row in rows] == [f"'{name}" for name in names]
    assert rows[0]["arm"] == "'+1" and rows[0]["label"] == "'-2"
    # Numbers are numbers, also below zero.
    assert float(rows[1]["position"]) == -2.0
    assert not any(value.startswith(("=", "@", "+")) for row in rows for value in row.values())


NAMES = ("a?b", "a#b", "a%23b", "a?mode=memory&cache=shared", "'quoted\"", "line\nbreak", "ä 😀", "-x")


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_may_have_any_name(tmp_path, name):
    """SQLite is asked for a file by a URI, in which some of these end the path."""
    for kind in ("db3", "mcap", "mcap.zstd"):
        path = tmp_path / f"{name}.{kind}"
        path.write_bytes(bag_bytes(kind))
        assert count(path) == (ROWS, "")
        with Bag(path) as recording:
            assert sum(hasattr(record, "topic") for record in recording.records()) == ROWS
    # The library's writer has the same fault, so that the folder gets its name afterwards.
    folder = write_bag(tmp_path / "plain", plugin=StoragePlugin.SQLITE3).rename(tmp_path / name)
    assert count(folder) == (ROWS, "")


def test_a_cell_without_end_is_told_with_its_line(tmp_path):
    path = tmp_path / "cell.csv"
    path.write_text('time,q_a\n0,1\n0.1,"' + "x" * 200_000)
    with pytest.raises(InvalidInputError, match="line 3, expected cells .field larger than field limit"):
        open_columns(path).whole(["time", "q_a"])


def test_a_stamp_is_one_number_and_an_arm_has_a_bounded_number_of_joints(tmp_path):
    times, path = np.arange(60) * 0.001, tmp_path / "wide.npz"
    np.savez(path, time=np.column_stack([times, times]), q=np.ones((60, 2)))
    with pytest.raises(InvalidInputError, match="time with 2 numbers per row, expected one number per row"):
        open_table(path)
    np.savez(path, time=times, q=np.ones((60, MOST_COLUMNS + 1)))
    with pytest.raises(InvalidInputError, match=f"{MOST_COLUMNS + 1} numbers per row, expected {MOST_COLUMNS} at most"):
        open_table(path)
    np.savez(path, time=times, q=np.ones((60, MOST_COLUMNS)))
    assert len(open_table(path).joint_names) == MOST_COLUMNS


def test_samples_without_a_finite_stamp_are_left_out(tmp_path):
    path = tmp_path / "run.csv"
    path.write_text("time,q_a\n1,0.0\ninf,0.1\n3,0.2\nnan,0.3\n-inf,0.4\n4,0.5\n")
    names, samples = samples_in_table(path)
    assert names == ("a",) and samples.times.tolist() == [1.0, 3.0, 4.0]
    np.testing.assert_allclose(samples.positions[:, 0], [0.0, 0.2, 0.5])


def test_messages_that_name_no_joint_are_told(tmp_path):
    for plugin in (StoragePlugin.MCAP, StoragePlugin.SQLITE3):
        path = write_bag(tmp_path / plugin.name, plugin=plugin, names=())
        with pytest.raises(BagError, match="its messages of joint states name no joint"):
            analyze([path], AnalysisOptions())


def test_a_message_about_thousands_of_names_is_a_short_line(tmp_path):
    path = write_bag(tmp_path / "bag", names=[f"joint{number}\n" for number in range(5000)])
    with pytest.raises(BagError, match="no topic has the joints of panda: /joint_states lacks|has joint0") as caught:
        analyze([path], AnalysisOptions(robot="panda"))
    assert len(str(caught.value)) < 1700 and str(caught.value).isprintable()
