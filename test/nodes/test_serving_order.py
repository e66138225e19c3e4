"""The controller is served first, whoever DDS hands a state to before it; nobody else loses one or gets it late."""

from functools import partial

import pytest
from node_harness import joint_state
from rclpy.serialization import serialize_message

from impact_aware.nodes.joint_state_source import ServingOrder


def state(time):
    return serialize_message(joint_state(time, ["a"], [time]))


@pytest.fixture
def served():
    return []


@pytest.fixture
def readers(served):
    """Of a detector, a controller that is first and a predictor, on one topic."""
    order, made = ServingOrder(), {}
    for name in ("detector", "controller", "predictor"):
        read = partial(lambda name, message: served.append((name, message)), name)
        made[name] = order.join("/joint_states", read, first=name == "controller")
    return made


def test_the_first_reader_is_served_before_those_that_got_the_state_earlier(readers, served):
    for time in (1.0, 1.001):
        for name in ("detector", "controller", "predictor"):
            readers[name](state(time))
    names = ["controller", "detector", "predictor"]
    assert served == [(name, state(time)) for time in (1.0, 1.001) for name in names]


def test_what_waits_is_served_at_the_latest_before_the_readers_own_next_state(readers, served):
    readers["detector"](state(1.999999999))
    readers["predictor"](state(1.999999999))
    assert served == []
    readers["detector"](state(2.0))
    assert served == [("detector", state(1.999999999)), ("predictor", state(1.999999999))]
    # The controller takes only the newest, which makes nobody wait for an older one.
    readers["controller"](state(2.002))
    readers["predictor"](state(2.0))
    readers["detector"](state(2.001))
    assert served[2:] == [
        ("controller", state(2.002)),
        ("detector", state(2.0)),
        ("predictor", state(2.0)),
        ("detector", state(2.001)),
    ]


def test_a_clock_that_is_set_back_stops_nobody(readers, served):
    for time in (9.0, 1.0, 1.001):
        for name in ("detector", "controller", "predictor"):
            readers[name](state(time))
    assert [name for name, _ in served].count("predictor") == 3
    assert served[-3:] == [(name, state(1.001)) for name in ("controller", "detector", "predictor")]


def test_without_a_first_reader_nobody_waits_and_topics_are_apart(served):
    order = ServingOrder()
    alone = order.join("/left/joint_states", lambda message: served.append("left"), first=False)
    order.join("/right/joint_states", lambda message: served.append("right"), first=True)
    alone(state(1.0))
    assert served == ["left"]


def test_bytes_that_are_no_message_are_passed_on_and_an_error_loses_nothing(served):
    order = ServingOrder()

    def fail(message):
        raise ValueError(len(message))

    first = order.join("/joint_states", fail, first=True)
    other = order.join("/joint_states", served.append, first=False)
    other(b"short")
    assert served == [b"short"]
    other(state(1.0))
    with pytest.raises(ValueError, match=str(len(state(1.0)))):
        first(state(1.0))
    assert served[1:] == [state(1.0)]
