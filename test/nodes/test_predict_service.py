import numpy as np
import pytest
from geometry_msgs.msg import Vector3
from impact_aware_msgs.srv import PredictPostImpact
from rclpy.parameter import Parameter

from impact_aware.contact import Contact
from impact_aware.impact import predict
from impact_aware.nodes.jump_predictor import JumpPredictorNode
from impact_aware.robot import RobotModel

ROBOT = RobotModel.from_profile("panda")
CONTACT = Contact(ROBOT.tool_frame, np.array([0.0, 0.0, 1.0]), friction=0.3, radius=ROBOT.tool_radius)
DOWN = np.linalg.lstsq(ROBOT.frame_jacobian(ROBOT.home)[:3], np.array([0.02, 0.0, -0.3]), rcond=None)[0]


@pytest.fixture
def make_node(ros_context):
    made = []

    def make(**parameters):
        overrides = [Parameter(name, value=value) for name, value in parameters.items()]
        made.append(JumpPredictorNode(parameter_overrides=overrides))
        return made[-1]

    yield make
    for node in made:
        node.destroy_node()


def request(**fields):
    state = {"position": ROBOT.home.tolist(), "velocity": DOWN.tolist()}
    return PredictPostImpact.Request(**{**state, **fields})


def ask(node, **fields):
    return node._on_request(request(**fields), PredictPostImpact.Response())


def test_the_service_answers_what_the_library_predicts(make_node):
    answer = ask(make_node(friction=0.3))
    expected = predict(ROBOT, ROBOT.home, DOWN, CONTACT)
    assert answer.success
    np.testing.assert_array_equal(answer.prediction.velocity_after, expected.velocity_after)
    np.testing.assert_array_equal(answer.prediction.contacts[0].impulse.z, expected.impulse[2])


def test_without_deviations_there_is_no_covariance(make_node):
    assert len(ask(make_node(motor_inertia_std=0.0), covariance=True).prediction.velocity_after_covariance) == 0
    # As it is, the motors' apparent inertia is not known better than its ratio.
    assert len(ask(make_node(), covariance=True).prediction.velocity_after_covariance) == 49


def test_with_deviations_the_reply_carries_the_covariance_that_was_asked_for(make_node):
    node = make_node(friction=0.3, velocity_std=0.01, friction_std=0.05)
    assert len(ask(node).prediction.velocity_after_covariance) == 0
    prediction = ask(node, covariance=True).prediction
    covariance = np.array(prediction.velocity_after_covariance).reshape(7, 7)
    np.testing.assert_allclose(covariance, covariance.T, atol=1e-15)  # rounding of a product and its transpose
    assert np.linalg.eigvalsh(covariance)[0] > -1e-12  # of a positive semidefinite matrix, but for rounding
    assert len(prediction.contacts[0].impulse_covariance) == 9


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"position": [0.0] * 6}, "position"),
        ({"velocity": [float("nan")] + [0.0] * 6}, "velocity"),
        ({"joint_names": ["a", "b"]}, "joint_names"),
        ({"contact_frame": "nowhere"}, "frame"),
        ({"method": "magic"}, "method"),
        ({"inertia": "X"}, "inertia"),
        ({"restitution": 1.5}, "restitution"),
        ({"normal": Vector3(x=float("nan"))}, "normal"),
    ],
)
def test_bad_requests_are_refused_by_name(make_node, fields, word):
    answer = ask(make_node(), **fields)
    assert not answer.success
    assert word in answer.message
    assert not answer.prediction.valid


def test_a_separating_velocity_changes_nothing(make_node):
    prediction = ask(make_node(), velocity=(-DOWN).tolist()).prediction
    assert prediction.valid
    np.testing.assert_array_equal(prediction.velocity_after, -DOWN)
    assert prediction.contacts[0].mode == prediction.contacts[0].MODE_SEPARATE


def test_before_any_state_the_present_one_can_not_be_asked_for(make_node):
    answer = ask(make_node(), position=[], velocity=[])
    assert not answer.success
    assert "joint_states" in answer.message
