"""Starting in any order, twice, in another domain, without a description: real nodes over DDS, one clear line each."""

import signal

import pytest
from impact_aware_msgs.srv import PredictPostImpact
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from impact_aware.robot import load_profile
from impact_aware.ros.qos import LATCHED_QOS

pytestmark = [pytest.mark.dds, pytest.mark.slow]

PATIENT = {"state_timeout": 60.0, "state_age_limit": 0.9, "give_up": 60.0, "upstream_timeout": 20.0}
"""Of a controller: a test may be held up anywhere, and its robot never moves."""

AGAIN = "runs already: is the suite running twice in ROS domain"


def test_in_any_order_it_comes_to_run_and_a_second_suite_is_told_so_and_stops_it_but_commands_nothing(suite):
    suite.start("rs_controller", autostart=True, **PATIENT)
    suite.start("reference_field")
    suite.start("impact_detector", joints=list(load_profile("panda").joint_names))
    suite.start("jump_predictor")
    suite.until_mode("ANTE")
    rival = suite.start("rs_controller", name="another_controller", **PATIENT)
    seconds = [suite.start(name) for name in ("reference_field", "impact_detector", "jump_predictor")]
    for process in seconds:
        assert suite.until_said(process, f"another /{process.spec.name} {AGAIN} {suite.domain}?") == 1
    for transition in (Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE):
        request = ChangeState.Request(transition=Transition(id=transition))
        if transition == Transition.TRANSITION_ACTIVATE:
            # What a rival needs to be activated is all there.
            suite.until(lambda: suite.diagnosed("another_controller", "state_rate") not in ("", "nan"), "states")
        answer = suite.call(ChangeState, "another_controller/change_state", request)
        assert answer.success is (transition == Transition.TRANSITION_CONFIGURE)
    assert suite.until_said(rival, "another node publishes /effort_controller/commands too") == 1
    assert " mode " not in rival.log.read_text()
    # Who could command the same arm stops the motion, even before it does, and is named.
    suite.until_mode("SAFE")
    assert suite.diagnosed("rs_controller", "reason") == "COMMAND_RIVAL"
    assert "/another_controller" in suite.diagnosed("rs_controller", "detail")
    suite.drain()
    before, states = suite.commands, suite.time
    suite.until(lambda: suite.time > states + 0.05, "states")
    suite.drain()
    # One command per state.
    assert 0 < suite.commands - before <= round((suite.time - states) / 0.001)
    twin = suite.start("rs_controller", autostart=True, **PATIENT)
    words = "another /rs_controller runs already, and only one of them can be active: is the suite running twice"
    assert suite.until_said(twin, words) == 1
    assert " mode " not in twin.log.read_text()


def test_a_second_simulator_waits_for_the_first_and_takes_its_place(suite):
    suite.driving = False
    heard = []
    suite.node.create_subscription(JointState, "joint_states", heard.append, 10)
    first = suite.start("sim_robot")
    suite.until(lambda: heard, "states of the first one")
    second = suite.start("sim_robot")
    words = "another /sim_robot runs already, this one publishes no states until that has ended: is the suite running"
    assert suite.until_said(second, words) == 1
    suite.until(
        lambda: len(suite.node.get_publishers_info_by_topic("/joint_states")) == 3,
        "three publishers: the driver's, which is silent, and both",
    )
    first.signal(signal.SIGTERM)
    suite.until(lambda: not first.running, "the end of the first one")
    heard.clear()
    suite.until_said(second, "the other /sim_robot is gone")
    suite.until(lambda: heard, "states of the second one")


def test_a_node_in_another_domain_says_where_it_listens(suite):
    elsewhere = 1 + suite.domain % 100
    detector = suite.start("impact_detector", domain=elsewhere)
    words = f"no /joint_states for 5 s: no node publishes it in ROS domain {elsewhere}, is the robot's driver running"
    assert suite.until_said(detector, words) == 1


def test_without_a_profile_it_waits_for_the_description_and_says_so(suite):
    predictor = suite.start("jump_predictor", robot="")
    suite.until_said(predictor, "waiting for robot_description")
    words = f"no /robot_description for 5 s: no node publishes it in ROS domain {suite.domain}, is robot_state"
    assert suite.until_said(predictor, words) == 1
    publisher = suite.node.create_publisher(String, "robot_description", LATCHED_QOS)
    publisher.publish(String(data="no robot at all"))
    assert suite.until_said(predictor, "robot_description can't be used") == 1
    publisher.publish(String(data=load_profile("panda").urdf.read_text()))
    suite.until_said(predictor, "predicting impacts of ")
    request = PredictPostImpact.Request(position=[0.0, -0.8, 0.0, -2.4, 0.0, 1.6, 0.8], velocity=[-0.1] * 7)
    answer = suite.call(PredictPostImpact, "predict_post_impact", request)
    assert answer.success, answer.message
