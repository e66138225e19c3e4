"""A law as ros2_control's linear_feedback_controller reads it, with messages of the same fields."""

from types import SimpleNamespace

import numpy as np
import pytest

from impact_aware.control import Mode
from impact_aware.control.local_law import LocalLaw
from impact_aware.messages.linear_feedback import law_to_control

LAW = LocalLaw(
    joint_names=("a", "b"),
    effort=np.array([1.0, -2.0]),
    effort_rate=np.array([20.0, -30.0]),
    position_gain=np.array([[10.0, 2.0], [0.0, 5.0]]),
    velocity_gain=np.array([[3.0, 0.0], [1.0, 4.0]]),
    position=np.array([0.5, -0.5]),
    velocity=np.array([0.1, 0.2]),
    stamp=12.25,
    validity=0.05,
    sequence=1,
    mode=Mode.POST,
)


class Fields:
    """Messages by their definitions in linear_feedback_controller_msgs 1.2.2 and std_msgs; no other field is known."""

    def new(self, name: str) -> SimpleNamespace:
        header = lambda: SimpleNamespace(stamp=SimpleNamespace(sec=0, nanosec=0), frame_id="")  # noqa: E731
        matrix = lambda: SimpleNamespace(layout=SimpleNamespace(dim=[], data_offset=0), data=[])  # noqa: E731
        if name == "std_msgs/msg/MultiArrayDimension":
            return SimpleNamespace(label="", size=0, stride=0)
        assert name == "linear_feedback_controller_msgs/msg/Control"
        joint_state = SimpleNamespace(header=header(), name=[], position=[], velocity=[], effort=[])
        pose = SimpleNamespace(orientation=SimpleNamespace(x=0.0, y=0.0, z=0.0, w=0.0))
        state = SimpleNamespace(header=header(), base_pose=pose, joint_state=joint_state, contacts=[])
        return SimpleNamespace(header=header(), feedback_gain=matrix(), feedforward=matrix(), initial_state=state)

    def doubles(self, values: np.ndarray) -> list[float]:
        return [float(value) for value in values]


def matrix_of(message: SimpleNamespace) -> np.ndarray:
    """As matrixMsgToEigen of the messages' package reads it, with what it asserts."""
    rows, columns = message.layout.dim
    assert (rows.label, columns.label) == ("rows", "cols")
    assert rows.stride == rows.size * columns.size
    assert columns.stride == columns.size
    offset, stride = message.layout.data_offset, columns.stride
    return np.array(
        [[message.data[offset + stride * i + j] for j in range(columns.size)] for i in range(rows.size)],
    )


@pytest.fixture
def message():
    return law_to_control(LAW, Fields(), frame="base")


def test_the_controller_makes_the_laws_torque_of_it(message):
    q, dq = np.array([0.4, -0.7]), np.array([0.3, 0.6])
    desired = message.initial_state.joint_state
    difference = np.concatenate([np.array(desired.position) - q, np.array(desired.velocity) - dq])
    torque = matrix_of(message.feedforward)[:, 0] + matrix_of(message.feedback_gain) @ difference
    # By hand, as in the tests of the law itself.
    np.testing.assert_allclose(torque, [1.0 + 1.0 + 0.4 - 0.6, -2.0 + 1.0 - 0.2 - 1.6])


def test_joints_stamp_and_frame_are_the_laws(message):
    state = message.initial_state
    assert state.joint_state.name == ["a", "b"]
    assert state.base_pose.orientation.w == 1.0
    for header in (message.header, state.header, state.joint_state.header):
        assert (header.stamp.sec, header.stamp.nanosec, header.frame_id) == (12, 250_000_000, "base")
