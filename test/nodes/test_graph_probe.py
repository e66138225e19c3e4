"""What `impact-aware doctor` finds in a graph: each thing that is wrong has a remedy, and nothing else."""

import json
import re
import time
from dataclasses import fields

import numpy as np
import pytest
import yaml
from machines import worst_machine
from node_harness import joint_state
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from impact_aware.bringup import host_check
from impact_aware.bringup.host_check import Finding
from impact_aware.cli.doctor import screen
from impact_aware.nodes.graph_probe import GraphProbeNode
from impact_aware.ros.realtime import RealtimeSettings

JOINTS = [f"panda_joint{number}" for number in range(1, 8)]


LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


@pytest.fixture
def probe(ros_context, monkeypatch):
    """What is found beside a driver whose messages have these stamps and joints, by name."""
    made, printed = [], []
    monkeypatch.setattr("builtins.print", lambda text, **_how: printed.append(text))

    def node(name, **ros):
        made.append(Node(name, **ros))
        return made[-1]

    def probe(
        *, age=0.0, joints=JOINTS, count=300, publishers=1, stamped=True, topics=("joint_states",), clocks=0, gaps=1,
        named="", name="driver", step=1e-4,
    ):  # fmt: skip
        made.append(GraphProbeNode(parameter_overrides=[Parameter("robot", value="panda"),
                                                        Parameter("joint_states", value=named)]))  # fmt: skip
        own = made[-1]
        for number in range(publishers):
            driver = node(f"{name}{number or ''}")
            for topic in topics:
                driver.create_publisher(JointState, topic, 10)
            if number < clocks:
                driver.create_publisher(Clock, "/clock", 10)
        for number in range(gaps):
            driver.create_publisher(String, f"{name}/words{number or ''}", 10)
            driver.create_subscription(String, f"{name}/words{number or ''}", print, LATCHED)
        if not named:
            own._discover()
        begin = time.time()
        for listening in [own for own in own.subscriptions if own.msg_type is JointState]:
            own._received[listening.topic_name].since = time.monotonic() - 0.001 * max(count, 500)
            for k in range(count):
                # Handed over at once, whatever the machine does: 300 messages in 0.5 s are 600 Hz.
                when = begin - age + step * k if stamped else 0.0
                listening.callback(joint_state(when, joints, [0.0] * len(joints)))
        printed.clear()
        own._print()
        assert own.finished
        return {own["name"]: own for own in map(json.loads, printed)}

    yield probe
    for own in made:
        own.destroy_node()


def wrong(found):
    return {name for name, own in found.items() if own["advice"]}


def test_a_good_driver_has_no_remedy_but_the_mismatch_of_others_is_named(probe):
    found = probe()
    assert wrong(found) == {"quality of service"}
    assert found["quality of service"]["found"] == (
        "1 mismatches: /driver/words from /driver to /driver: Volatile publisher and transient local subscription"
    )
    states = found["/joint_states"]["found"]
    rate, rest = states.split(" Hz, stamps ")
    assert 500 < float(rate) <= 600 and " ms old, from /driver, 7 joints: panda_joint1, " in rest


GOOD = {"gaps": 0}
"""A graph in which all is well: what each remedy leads to."""


@pytest.mark.parametrize(
    ("change", "name", "words"),
    [
        ({"age": 3.0}, "/joint_states", "synchronise"),
        ({"age": -3.0}, "/joint_states", "synchronise"),
        ({"stamped": False}, "/joint_states", "stamp its messages"),
        ({"step": 0.0}, "/joint_states", "a second publisher or a repeating bridge"),
        ({"joints": JOINTS[:-1]}, "/joint_states", "panda_joint7 of panda"),
        ({"joints": [f"left_{name}" for name in JOINTS]}, "/joint_states", "`joint_prefix: left_`"),
        ({"count": 20}, "/joint_states", "the driver's own topic"),
        ({"publishers": 2}, "/joint_states", "all but one publisher"),
        ({"publishers": 2, "clocks": 2}, "/clock", "all but one"),
        ({"count": 0}, "/joint_states", "no message came"),
        ({"topics": ()}, "joint_states", "is the robot's driver running there?"),
        (
            {"named": "/states", "count": 0, "topics": ["x/joint_states"]},
            "/states",
            "or --joint-states /x/joint_states",
        ),
        ({"gaps": 1}, "quality of service", "offer what the subscription requests"),
    ],
)
def test_each_fault_has_its_remedy_and_is_gone_without_it(probe, change, name, words):
    found = probe(**{**GOOD, **change})
    assert name in wrong(found) and words in found[name]["advice"]
    if change.get("publishers", 1) == 1:
        assert wrong(found) == {name}


def test_a_graph_in_order_has_no_remedy_also_in_simulated_time(probe):
    assert not wrong(probe(**GOOD))
    found = probe(**GOOD, age=1e9, clocks=1, name="simulator", publishers=1, topics=("cell/joint_states",))
    assert "stamps of /clock" in found["/cell/joint_states"]["found"] and not found["/cell/joint_states"]["advice"]


def test_everything_that_can_be_wrong_with_two_arms_and_many_publishers_fits_one_screen(probe, tmp_path, monkeypatch):
    long = "a_driver_with_a_name_as_long_as_the_names_that_integrators_give_to_their_nodes"
    arms = [f"{long}/{name}/joint_states" for name in ("left", "right", "table", "tower")]
    joints = [f"{long}_{name}" for name in JOINTS[:-1]]
    found = probe(topics=arms, publishers=6, clocks=6, gaps=6, joints=joints, count=20, age=5.0, name=long, step=0.0)
    assert wrong(found) == {f"/{arms[0]}", f"/{arms[1]}", "/clock", "quality of service"}
    assert found[f"/{arms[0]}"]["advice"].count("; ") == 3
    monkeypatch.setattr(host_check, "_lateness", lambda count, _period: np.full(count, 0.9))
    host = [*worst_machine(tmp_path), host_check.measure_jitter(0.1)]
    assert all(own.advice for own in host) and len(host) == 11
    lines = screen([Finding(**own) for own in found.values()] + host).splitlines()
    assert len(lines) <= 40 and max(map(len, lines)) <= 100, "\n".join(lines)
    # No remedy is cut.
    text = " ".join(" ".join(lines).split())
    assert all(own.advice in text for own in host) and all(own["advice"] in text for own in found.values())


def test_a_flood_of_names_and_topics_fills_no_memory(probe):
    many = [f"{name}/joint_states" for name in "abcdefghij"]
    found = probe(topics=many, joints=[f"joint{k}" for k in range(50_000)], count=3)
    assert "and 4 more" in found["more joint_states"]["found"]
    assert "1000 joints" in found["/a/joint_states"]["found"]


def test_parameters_that_remedies_name_are_those_of_every_node(tmp_path):
    named = [own for finding in worst_machine(tmp_path) for own in re.findall(r"`(\w+: [^`]+)`", finding.advice)]
    values = {name: value for own in named for name, value in yaml.safe_load(own).items()}
    assert values == {"realtime_priority": 20, "lock_memory": True, "cpu_affinity": ["2"]}
    assert {own.name for own in fields(RealtimeSettings)} >= set(values)
