"""What a stranger can send, each as a function of bytes: it returns or raises an error of the project in one line."""

import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pinocchio as pin
from small_recordings import URDF, bag_bytes, table_bytes

from impact_aware.bags.bag import Bag
from impact_aware.bags.joint_states import JointStateDecoder
from impact_aware.control.live_field import LiveField
from impact_aware.errors import ImpactAwareError
from impact_aware.recordings.arm_samples import ArmSelector
from impact_aware.recordings.arm_selection import arms_in_bag
from impact_aware.robot import RobotModel, load_profile
from impact_aware.tables.column_file import open_columns
from impact_aware.tables.joint_table import open_table
from impact_aware.tables.options import ColumnMap
from impact_aware.task import load_task
from impact_aware.task.arms import arms_of_task
from impact_aware.yaml_text import read_yaml_mapping


def fuzz_bag(data: bytes, suffix: str = ".mcap") -> None:
    """A recording: its arms, every joint state decoded, and every record as it would be copied."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"bag{suffix}"
        path.write_bytes(data)
        with Bag(path) as bag:
            arms, _ = arms_in_bag(bag, None, ())
            for arm in arms:
                decoder = JointStateDecoder(lambda raw, topic=arm.topic: bag.deserialize(topic, raw))
                selector = ArmSelector(arm.message_names)
                for raw in bag.raw([arm.topic]):
                    selector.pick(decoder.decode(raw))
            for _ in bag.records():
                pass


def fuzz_table(data: bytes, suffix: str = ".csv") -> None:
    """A table of joint states, read whole and in pieces."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"run{suffix}"
        path.write_bytes(data)
        names = tuple(open_columns(path).widths)
        table = open_table(path, ColumnMap(time=0, q=(1, 2)) if suffix == ".npy" else None)
        for batch in table.pieces():
            assert batch.positions.shape == (len(batch.rows), len(table.joint_names))
        open_columns(path).whole(names[:2])


def fuzz_profile(data: bytes) -> None:
    """A robot profile beside its URDF."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "arm.urdf").write_text(URDF)
        path = Path(folder) / "profile.yaml"
        path.write_bytes(data)
        robot = RobotModel.from_profile(path)
        assert np.isfinite(robot.home).all() and (robot.apparent_motor_inertia >= 0.0).all()


def fuzz_urdf(data: bytes) -> None:
    """A robot description: its model, and one look at its dynamics."""
    robot = RobotModel.from_urdf(data.decode(errors="replace"))
    pin.crba(robot.model, robot.data, robot.home)


@cache
def _live() -> LiveField:
    task = load_task("hit_and_push")
    return LiveField(task, arms_of_task(task, "panda"))


def fuzz_set_task(data: bytes) -> None:
    """The YAML of a request to `set_task`, up to the field that follows from it."""
    changes = read_yaml_mapping("yaml", "the request", data.decode(errors="replace"))
    live = _live()
    live.set_task(load_task("hit_and_push", changes))
    assert np.isfinite(live.field.goal).all()


def _profile() -> bytes:
    known = load_profile("panda")
    text = "urdf: arm.urdf\njoints: [elbow, wrist]\napparent_motor_inertia: [0.1, 0.2]\nhome: [0.1, -0.3]\n"
    text += "tool: {mount_frame: upper, position: [0, 0, 0.1], radius: 0.02, mass: 0.2, inertia_diagonal: [1, 1, 1]}\n"
    text += "safety: {velocity: [1.0, 2.0], effort: 20, tool_speed: 1.5, workspace_lower: [-1, -1, 0]}\n"
    return (text + f"position_margin: {known.position_margin}\n").encode()


SET_TASK = b"object: {mass: 1.3, position: [0.5, 0.01, 0.1]}\ngoal: [0.5, -0.25, 0.1]\nfields: {alpha: 4.0}\n"

TARGETS = {
    **{
        f"bag-{kind}": (fuzz_bag, {"suffix": suffix}, lambda kind=kind: bag_bytes(kind))
        for kind, suffix in (("mcap", ".mcap"), ("chunked", ".mcap"), ("db3", ".db3"), ("mcap.zstd", ".mcap.zstd"))
    },
    **{
        f"table-{kind}": (fuzz_table, {"suffix": f".{kind}"}, lambda kind=kind: table_bytes(kind))
        for kind in ("csv", "npz", "npy", "parquet", "h5", "mat")
    },
    "profile": (fuzz_profile, {}, _profile),
    "urdf": (fuzz_urdf, {}, lambda: URDF.encode()),
    "set_task": (fuzz_set_task, {}, lambda: SET_TASK),
}
"""By name: the function, its arguments, and what makes a good input to begin with."""


def run(name: str, data: bytes) -> str | None:
    """Give a target some bytes; returns the line with which they were refused, or None.

    Raises:
        Exception: Whatever is not an error of the project, or is no single line.
    """
    function, arguments, _ = TARGETS[name]
    try:
        function(data, **arguments)
    except ImpactAwareError as error:
        assert str(error).isprintable() and len(str(error)) < 2000, repr(str(error)[:4000])
        return str(error)
    return None
