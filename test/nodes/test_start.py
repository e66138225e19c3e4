"""Nodes started by their names, and interrupted before they are nodes."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from patience import LONGEST, patient

from impact_aware.bringup import start
from impact_aware.bringup.middleware import PROFILES, RMW, TRANSPORT


def command(*words):
    return [sys.executable, "-m", "impact_aware.bringup.start", *words]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_the_midst_of_the_imports_ends_the_process_at_once_and_without_a_word(number):
    process = subprocess.Popen(command("rs_controller"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        maps, deadline = Path(f"/proc/{process.pid}/maps"), time.monotonic() + patient(60.0)
        while "llvmlite" not in maps.read_text() and time.monotonic() < deadline:
            time.sleep(0.005)
        process.send_signal(number)
        output, _ = process.communicate(timeout=LONGEST)
    finally:
        process.kill()
    assert process.returncode == 0
    assert output == ""


def test_each_node_is_an_entry_point_and_nothing_else_is():
    assert callable(start.impact_detector)
    with pytest.raises(AttributeError, match="no_such_node"):
        _ = start.no_such_node


def test_a_node_that_does_not_exist_is_answered_with_the_usage():
    for words in ((), ("no_such_node",)):
        result = subprocess.run(command(*words), capture_output=True, text=True, env=os.environ, timeout=LONGEST)
        assert result.returncode == 1
        assert result.stderr.startswith("usage: python -m impact_aware.bringup.start NODE")


@pytest.mark.parametrize(
    ("words", "variables", "reason"),
    [
        ((), {"ROS_DOMAIN_ID": "seven"}, "ROS_DOMAIN_ID is not an integral number"),
        (("--params-file", "/nowhere"), {}, "/nowhere"),
        ((), {"ROS_SECURITY_ENABLE": "true", "ROS_SECURITY_STRATEGY": "Enforce", "ROS_SECURITY_KEYSTORE": "/n"}, "/n"),
    ],
)
def test_what_ros_can_not_start_from_is_one_line(words, variables, reason):
    given = {**os.environ, **variables}
    words = ("impact_detector", "--ros-args", *words)
    result = subprocess.run(command(*words), capture_output=True, text=True, env=given, timeout=LONGEST)
    # Lines that rcl itself logs stand before it.
    last = result.stderr.splitlines()[-1]
    assert result.returncode == 2 and "Traceback" not in result.stderr
    assert last.startswith("impact_detector: error: no ROS node can be made: ") and reason in last


@pytest.mark.skipif(
    not (os.environ.get(RMW) or "rmw_fastrtps").startswith("rmw_fastrtps"), reason="about settings of Fast DDS alone"
)
@pytest.mark.parametrize(("chosen", "shared"), [("", False), ("DEFAULT", True)])
def test_nodes_use_no_shared_memory_of_fast_dds_unless_asked_to_and_reach_those_that_do(
    suite, monkeypatch, chosen, shared
):
    monkeypatch.setenv(TRANSPORT, chosen)
    for name in PROFILES if chosen else ():
        monkeypatch.delenv(name)
    node = suite.start("impact_detector")
    suite.until(lambda: suite.diagnosed("impact_detector", "received").isdecimal(), "diagnostics")
    suite.until(lambda: int(suite.diagnosed("impact_detector", "received")) > 0, "states that were received")
    assert ("/dev/shm/fastrtps" in Path(f"/proc/{node.process.pid}/maps").read_text()) is shared
