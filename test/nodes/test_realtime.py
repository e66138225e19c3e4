"""Affinity, priority and memory locking: done where permitted, told in one line where not, never fatal."""

import os

import pytest

from impact_aware.nodes.ros import realtime
from impact_aware.nodes.ros.realtime import RealtimeSettings


@pytest.fixture
def restored():
    before = os.sched_getaffinity(0)
    yield before
    for thread in realtime._threads():
        os.sched_setaffinity(thread, before)


def test_nothing_is_done_unless_asked_for():
    assert list(realtime._requests(RealtimeSettings())) == []


def test_affinity_reaches_every_thread(restored):
    processor = min(restored)
    ((sentence, why_not),) = realtime._requests(RealtimeSettings(cpu_affinity=[str(processor)]))
    assert (sentence, why_not) == (f"runs on processors {processor}", "")
    assert all(os.sched_getaffinity(thread) == {processor} for thread in realtime._threads())


def test_a_processor_that_is_not_there_is_named(restored):
    ((_, why_not),) = realtime._requests(RealtimeSettings(cpu_affinity=["4095"]))
    assert "the processors here are" in why_not
    assert os.sched_getaffinity(0) == restored
    ((_, why_not),) = realtime._requests(RealtimeSettings(cpu_affinity=["two"]))
    assert "two" in why_not


def test_what_is_not_permitted_is_said_and_nothing_more(monkeypatch):
    def refuse(*_arguments):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    monkeypatch.setattr(realtime, "_lock_memory", refuse)
    told = list(realtime._requests(RealtimeSettings(realtime_priority=80, lock_memory=True)))
    assert len(told) == 2
    assert all("limits.conf" in why_not for _, why_not in told)


def test_every_node_has_the_parameters(node):
    realtime.apply_realtime(node)
    assert node.get_parameter("realtime_priority").value == 0
    assert node.get_parameter("lock_memory").value is False
