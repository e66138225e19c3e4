"""Reading recordings: messages per second beside the library's bare reading of the same file, and peak memory.

A recording of one arm's joint states at 1 kHz is made in a temporary folder. Each way of reading runs in a process of
its own, so that its peak memory is its own too.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rosbags.highlevel import AnyReader
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from impact_aware.cli.options import MOST
from impact_aware.cli.output import progress
from impact_aware.errors import ImpactAwareError
from impact_aware.parameters import Options, described
from impact_aware.recordings.impact_analysis import analyze
from impact_aware.recordings.options import AnalysisOptions
from impact_aware.robot import RobotModel

_TOPIC, _TYPE = "/joint_states", "sensor_msgs/msg/JointState"
_STORAGES = {"mcap": StoragePlugin.MCAP, "sqlite3": StoragePlugin.SQLITE3}
_IMPACT_PERIOD = 60.0
"""One jump of the velocity per minute, so that windows are kept and impacts explained, s."""

KNOCKED_MESSAGES, KNOCK_PERIOD = 5000, 0.42
"""Messages of a short recording at 200 Hz, and the time between two knocks in it, s: the hardest 25 s to analyse."""

Motion = Callable[[np.ndarray, RobotModel], tuple[np.ndarray, np.ndarray, np.ndarray]]


class BenchError(ImpactAwareError):
    """A measuring process failed."""


@dataclass(frozen=True, kw_only=True)
class BenchOptions(Options):
    """The recording that is made and read."""

    messages: int = described(360_000, "messages at 1 kHz", 1000, MOST)
    storage: str = described("mcap", "storage of the recording", choices=tuple(_STORAGES))
    robot: str = described("panda", "robot profile whose joints are recorded")


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Make the recording and measure.

    Raises:
        BenchError: A measurement failed.
    """
    robot = RobotModel.from_profile(options.robot)
    joints = robot.joint_names
    with tempfile.TemporaryDirectory(prefix="bench_bag_") as folder:
        bag = Path(folder) / "bag"
        make_recording(bag, robot, options.messages, storage=options.storage)
        size = sum(file.stat().st_size for file in bag.iterdir())
        measured = {way: _measure(bag, way, options.robot) for way in ("raw", "analyze")}
        knocked = Path(folder) / "knocked"
        make_recording(knocked, robot, KNOCKED_MESSAGES, motion=_knocked, milliseconds=5)
        knocks = _measure(knocked, "analyze", options.robot)
    raw, analysis = measured["raw"], measured["analyze"]
    per_second = raw["messages"] / raw["seconds"]
    whole = analysis["messages"] / analysis["seconds"]
    return {
        "messages": options.messages,
        "joints": len(joints),
        "storage": options.storage,
        "megabytes": size / 1e6,
        "raw_messages_per_second": per_second,
        "read_messages_per_second": analysis["messages"] / analysis["seconds_read"],
        "analyze_messages_per_second": whole,
        "ratio_read_to_raw": analysis["messages"] / analysis["seconds_read"] / per_second,
        "ratio_analyze_to_raw": whole / per_second,
        "peak_memory_megabytes": analysis["peak_megabytes"],
        "raw_peak_memory_megabytes": raw["peak_megabytes"],
        "impacts_made": int((options.messages * 1e-3 - 1.0) // _IMPACT_PERIOD),
        "impacts_found": analysis["impacts"],
        "knocks_found": knocks["impacts"],
        "knocks_processor_seconds": knocks["processor_seconds"],
    }


def make_recording(
    bag: Path,
    robot: RobotModel,
    count: int,
    *,
    storage: str = "mcap",
    motion: Motion | None = None,
    milliseconds: int = 1,
) -> None:
    """Write a recording of a moving arm.

    Args:
        bag: Folder to make.
        robot: The arm.
        count: Number of messages.
        storage: `mcap` or `sqlite3`.
        motion: Positions, velocities and torques at times, s; swinging joints with one jump a minute when None.
        milliseconds: Time between two messages, ms.
    """
    motion = motion or _motion
    store = get_typestore(Stores.ROS2_JAZZY)
    types = store.types
    joints, n = robot.joint_names, robot.n
    stamp = types["builtin_interfaces/msg/Time"](0, 0)
    # Recognizable numbers locate stamp and arrays among the bytes.
    marks = np.arange(1.0, 3 * n + 1).reshape(3, n) * np.pi
    header = types["std_msgs/msg/Header"](stamp, "")
    template = bytes(store.serialize_cdr(types[_TYPE](header, list(joints), *marks), _TYPE))
    offsets = [template.index(row.tobytes()) for row in marks]
    with Writer(bag, version=9, storage_plugin=_STORAGES[storage]) as writer:
        connection = writer.add_connection(_TOPIC, _TYPE, typestore=store)
        bar = progress(total=count, unit=" messages", unit_scale=True, leave=False)
        for begin in range(0, count, 10_000):
            index = np.arange(begin, min(begin + 10_000, count))
            rows = np.tile(np.frombuffer(template, dtype=np.uint8), (len(index), 1))
            whole = 1_000_000 + milliseconds * index
            rows[:, 4:8] = (whole // 1000).astype("<i4")[:, None].view(np.uint8)
            rows[:, 8:12] = (whole % 1000 * 1_000_000).astype("<u4")[:, None].view(np.uint8)
            for offset, values in zip(offsets, motion(milliseconds * 1e-3 * index, robot), strict=True):
                rows[:, offset : offset + 8 * n] = np.ascontiguousarray(values, dtype="<f8").view(np.uint8)
            for row, time_ns in zip(rows, (whole * 1_000_000).tolist(), strict=True):
                writer.write(connection, time_ns, row.tobytes())
            bar.update(len(index))
        bar.close()


def _motion(times: np.ndarray, robot: RobotModel) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions in encoder steps, velocities and torques of joints that swing and, once a minute, are hit."""
    low, high = robot.limits.position_lower, robot.limits.position_upper
    swing = np.minimum(1.0, 0.4 * (high - low))
    phase = 0.5 * times[:, None] + np.arange(robot.n)
    # The jump dies out long before the next one, so that the motion goes on as it was.
    hit = np.where(times >= _IMPACT_PERIOD, times % _IMPACT_PERIOD, 0.0)[:, None]
    struck = hit * np.exp(-hit)
    positions = np.round((0.5 * (low + high) + swing * np.sin(phase) + 0.3 * struck) / 1e-5) * 1e-5
    jump = 0.3 * np.where(hit > 0.0, (1.0 - hit) * np.exp(-hit), 0.0)
    return positions, 0.5 * swing * np.cos(phase) + jump, np.sin(phase)


def _knocked(times: np.ndarray, robot: RobotModel) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions, velocities and torques of joints that swing slowly, are knocked often, and oscillate after it."""
    generator = np.random.default_rng(3)
    low, high = robot.limits.position_lower, robot.limits.position_upper
    positions = 0.5 * (low + high) + 0.1 * np.sin(np.outer(times, np.linspace(0.8, 1.6, robot.n)))
    for knock in np.arange(KNOCK_PERIOD, times[-1], KNOCK_PERIOD) + generator.uniform(-0.1, 0.1):
        since = np.maximum(times - knock, 0.0)[:, None]
        jump, turn = generator.uniform(-0.6, 0.6, robot.n), 2.0 * np.pi * generator.uniform(18.0, 40.0, robot.n)
        positions += jump * (1.0 - np.exp(-12.0 * since)) / 12.0 * np.exp(-2.0 * since)
        positions += 0.5 * jump / turn * np.exp(-0.05 * turn * since) * np.sin(turn * since)
    positions += 1e-5 * generator.standard_normal(positions.shape)
    torques = np.array([robot.gravity(posture) for posture in positions])
    torques += 0.1 * generator.standard_normal(positions.shape)
    return positions, np.gradient(positions, times, axis=0), torques


def _measure(bag: Path, way: str, robot: str) -> dict[str, Any]:
    command = [sys.executable, "-m", __name__ if __name__ != "__main__" else "impact_aware_rigs.bench.bag"]
    done = subprocess.run(
        [*command, str(bag), way, robot], capture_output=True, text=True, check=False, env=dict(os.environ)
    )
    if done.returncode != 0:
        raise BenchError(f"measuring {way} failed: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def _raw(bag: Path, robot: str) -> dict[str, Any]:
    started = time.perf_counter()
    with AnyReader([bag]) as reader:
        count = sum(1 for _ in reader.messages(reader.connections))
    return {"messages": count, "seconds": time.perf_counter() - started}


def _analyze(bag: Path, robot: str) -> dict[str, Any]:
    started, processor = time.perf_counter(), time.process_time()
    found = analyze([bag], AnalysisOptions(robot=robot, normal=(0.0, 0.0, 1.0)))
    return {
        "messages": found.messages,
        "seconds": time.perf_counter() - started,
        "processor_seconds": time.process_time() - processor,
        "seconds_read": found.seconds_read,
        "impacts": len(found.impacts),
    }


def peak_megabytes() -> float:
    """Return the peak resident memory of this process since its program started, MB.

    Linux hands `ru_maxrss` of the parent on to a child, so there the peak comes from the kernel's status file.
    """
    status = Path("/proc/self/status")
    if status.is_file():
        (line,) = (line for line in status.read_text(encoding="ascii").splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024 / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6  # macOS counts bytes.


_WAYS: dict[str, Callable[[Path, str], dict[str, Any]]] = {"raw": _raw, "analyze": _analyze}


if __name__ == "__main__":
    result = _WAYS[sys.argv[2]](Path(sys.argv[1]), sys.argv[3])
    result["peak_megabytes"] = peak_megabytes()
    print(json.dumps(result))
