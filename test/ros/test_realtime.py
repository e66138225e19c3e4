"""Affinity, priority and memory locking: done where permitted, told in one line where not, never fatal."""

import ctypes
import os
import platform
import re
import struct
import threading

import pytest

from impact_aware.ros import realtime
from impact_aware.ros.realtime import RealtimeSettings

GETATTR = {"x86_64": 315, "aarch64": 275}
"""Number of the system call `sched_getattr`."""


@pytest.fixture
def restored():
    before = os.sched_getaffinity(0)
    yield before
    for thread in realtime.threads():
        os.sched_setaffinity(thread, before)


def test_nothing_is_done_unless_asked_for():
    assert list(realtime.requests(RealtimeSettings())) == []


def test_affinity_reaches_every_thread(restored):
    processor = min(restored)
    ((sentence, why_not),) = realtime.requests(RealtimeSettings(cpu_affinity=[str(processor)]))
    assert (sentence, why_not) == (f"runs on processors {processor}", "")
    assert all(os.sched_getaffinity(thread) == {processor} for thread in realtime.threads())


def test_a_processor_that_is_not_there_is_named(restored):
    ((_, why_not),) = realtime.requests(RealtimeSettings(cpu_affinity=["4095"]))
    assert "the processors here are" in why_not
    assert os.sched_getaffinity(0) == restored
    ((_, why_not),) = realtime.requests(RealtimeSettings(cpu_affinity=["two"]))
    assert "two" in why_not


@pytest.mark.parametrize(
    ("policy", "before", "asked", "after"),
    [(os.SCHED_OTHER, 0, 20, 20), (os.SCHED_FIFO, 30, 20, 30), (os.SCHED_FIFO, 5, 20, 20), (os.SCHED_RR, 30, 20, 20)],
)
def test_of_several_nodes_in_a_process_the_most_urgent_counts(monkeypatch, policy, before, asked, after):
    monkeypatch.setattr(os, "sched_getscheduler", lambda process: policy)
    monkeypatch.setattr(os, "sched_getparam", lambda process: os.sched_param(before))
    given = {}
    monkeypatch.setattr(
        os, "sched_setscheduler", lambda thread, own, parameter: given.update({thread: (own, parameter.sched_priority)})
    )
    realtime.set_priority(asked)
    assert given == dict.fromkeys(realtime.threads(), (os.SCHED_FIFO, after))


def test_what_is_not_permitted_is_said_and_nothing_more(monkeypatch):
    def refuse(*_arguments):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    monkeypatch.setattr(realtime, "_lock_memory", refuse)
    told = list(realtime.requests(RealtimeSettings(realtime_priority=80, lock_memory=True)))
    assert len(told) == 2
    assert all("limits.conf" in why_not for _, why_not in told)


def slice_of(thread):
    """Time slice of a thread, ns, and its nice value, by `sched_getattr`."""
    attributes = ctypes.create_string_buffer(48)
    assert ctypes.CDLL(None).syscall(GETATTR[platform.machine()], thread, attributes, 48, 0) == 0
    _, _, _, nice, _, runtime, _, _ = struct.unpack("=IIQiIQQQ", attributes.raw)
    return runtime, nice


def test_short_slices_are_asked_for_without_another_share_and_inherited():
    seen = {}

    def ask():
        number = threading.get_native_id()
        os.setpriority(os.PRIO_PROCESS, number, 7)
        before, _ = slice_of(number)
        realtime.request_short_slices()
        child = threading.Thread(target=lambda: seen.update(child=slice_of(threading.get_native_id())))
        child.start()
        child.join()
        seen.update(before=before, own=slice_of(number))

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    # Linux grants them since 6.12, and before it says nothing of a slice.
    release = tuple(int(part) for part in re.findall(r"\d+", platform.release())[:2])
    assert seen["own"] == seen["child"] == (100_000 if release >= (6, 12) else seen["before"], 7)
    # The other threads of the process were not asked about.
    assert slice_of(0)[0] == seen["before"]


def test_every_node_has_the_parameters(node):
    realtime.apply_realtime(node)
    assert node.get_parameter("realtime_priority").value == 0
    assert node.get_parameter("lock_memory").value is False
