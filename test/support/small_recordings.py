"""Recordings small enough to be spoilt thousands of times, of every kind that is read."""

from functools import cache
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

import h5py
import numpy as np
import pyarrow
import pyarrow.parquet
import scipy.io
import zstandard
from recorded_bag import STORE, write_messages
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin

TYPE = "sensor_msgs/msg/JointState"
NAMES = ("elbow", "wrist")
ROWS = 40
URDF = """<robot name="arm"><link name="base"/><link name="lower"><inertial><mass value="2"/><origin xyz="0 0 0.1"/>
<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link><link name="upper"><inertial>
<mass value="1"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
<joint name="elbow" type="revolute"><parent link="base"/><child link="lower"/><axis xyz="0 1 0"/><origin xyz="0 0 0.3"/>
<limit lower="-2" upper="2" velocity="3" effort="50"/></joint><joint name="wrist" type="revolute"><parent link="lower"/>
<child link="upper"/><axis xyz="0 1 0"/><origin xyz="0 0 0.4"/><limit lower="-2" upper="2" velocity="3" effort="50"/>
</joint></robot>"""


def columns():
    times = 100.0 + 0.001 * np.arange(ROWS)
    return {"time": times, "q_elbow": 0.3 + 0.2 * (times - 100.0), "q_wrist": -0.4 + np.sin(times - 100.0)}


def write_bag(path, *, names=NAMES, **how):
    types, found, messages = STORE.types, columns(), []
    for row in range(ROWS):
        stamp = types["builtin_interfaces/msg/Time"](*divmod(10**11 + 10**6 * row, 10**9))
        position = np.array([found["q_elbow"][row], found["q_wrist"][row]])
        header = types["std_msgs/msg/Header"](stamp, "base")
        message = types[TYPE](header, list(names), position, np.zeros(2), np.zeros(0))
        messages.append(("/joint_states", 100.0 + 1e-3 * row, message))
    return write_messages(path, messages, **how)


@cache
def bag_bytes(kind):
    """`mcap`, `chunked` (MCAP with compressed chunks), `db3` or `mcap.zstd`, one file."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "bag"
        if kind == "db3":
            return next(write_bag(path, plugin=StoragePlugin.SQLITE3).glob("*.db3")).read_bytes()
        if kind == "chunked":
            write_bag(path, compression=(CompressionMode.STORAGE, CompressionFormat.ZSTD))
        else:
            write_bag(path)
        content = next(path.glob("*.mcap")).read_bytes()
        return zstandard.ZstdCompressor().compress(content) if kind == "mcap.zstd" else content


@cache
def table_bytes(kind):
    """`csv`, `npz`, `npy`, `parquet`, `mat` or `h5`."""
    found, out = columns(), BytesIO()
    if kind == "csv":
        rows = zip(*found.values(), strict=True)
        return "\n".join([",".join(found), *(",".join(map(repr, map(float, row))) for row in rows)]).encode()
    if kind == "npz":
        np.savez_compressed(out, **found)
    elif kind == "npy":
        np.save(out, np.column_stack(list(found.values())))
    elif kind == "parquet":
        pyarrow.parquet.write_table(pyarrow.table(found), out)
    elif kind == "mat":
        scipy.io.savemat(out, found, do_compression=True)
    else:
        with h5py.File(out, "w") as file:
            for name, values in found.items():
                file[name] = values
    return out.getvalue()
