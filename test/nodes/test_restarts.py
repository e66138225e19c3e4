"""Nodes killed in mid-motion and started anew, and a robot whose clock begins anew: real nodes over DDS."""

import signal

import pytest
from std_srvs.srv import Trigger

from impact_aware.robot import load_profile

pytestmark = [pytest.mark.dds, pytest.mark.slow]

NODES = {
    "reference_field": {},
    "impact_detector": {"joints": list(load_profile("panda").joint_names)},
    "jump_predictor": {},
}
"""What `rs_controller` depends on, and parameters."""

PATIENT = {"state_timeout": 60.0, "state_age_limit": 0.9, "give_up": 60.0}
"""Of a controller: a test may be held up anywhere, and its robot never moves."""


def move_again(suite) -> None:
    """Out of the safe mode and into motion, asked for."""
    assert suite.call(Trigger, "rs_controller/reset", Trigger.Request()).success
    suite.until_mode("IDLE")
    # A new node is refused until its first heartbeat was heard.
    for _ in range(200):
        answer = suite.call(Trigger, "rs_controller/start", Trigger.Request())
        if answer.success or "heartbeat" not in answer.message:
            break
    assert answer.success, answer.message
    suite.until_mode("ANTE")


def test_each_node_that_dies_in_mid_motion_stops_the_arm_which_moves_again_with_a_new_one(suite):
    # Late enough that a clock which begins anew is far off.
    suite.time = 10.0
    running = {name: suite.start(name, **parameters) for name, parameters in NODES.items()}
    controller = suite.start("rs_controller", autostart=True, **PATIENT)
    suite.until_mode("ANTE")
    for name, parameters in NODES.items():
        running[name].signal(signal.SIGKILL)
        suite.until_mode("SAFE")
        assert suite.diagnosed("rs_controller", "reason") == "UPSTREAM_LOST", name
        again = suite.start(name, **parameters)
        suite.until_said(again, "[INFO]")
        move_again(suite)
    # The robot's driver is started anew, with a clock that is.
    suite.time = 1.0
    suite.until_mode("SAFE")
    assert suite.diagnosed("rs_controller", "reason") == "CLOCK_JUMP"
    move_again(suite)
    # Asked to end, the controller brings the arm to rest, tells nobody to move any more, and is gone.
    controller.signal(signal.SIGTERM)
    suite.until(lambda: not controller.running, "the end of the controller")
    assert controller.process.returncode == 0
    assert "bringing the arm to rest before the end" in controller.log.read_text()
    suite.until(lambda: not suite.node.count_publishers("effort_controller/commands"), "the end of its topic")
    suite.drain()
    commands, states = suite.commands, suite.time
    suite.until(lambda: suite.time > states + 0.05, "more states")
    assert suite.commands == commands
