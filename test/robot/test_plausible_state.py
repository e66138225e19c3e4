"""States that no arm can be in are refused by the joint's name; what an arm does beyond its limits is not."""

import numpy as np
import pytest

from impact_aware.errors import InvalidInputError
from impact_aware.robot import RobotModel
from impact_aware.robot.plausible_state import check_state, implausible_position, implausible_speed, limit_notes

PANDA = RobotModel.from_profile("panda")
LOW, HIGH = PANDA.model.lowerPositionLimit.copy(), PANDA.model.upperPositionLimit.copy()


@pytest.mark.parametrize("joint", [0, 3, 6])
def test_positions_up_to_half_a_radian_past_the_urdf_s_limits_are_plausible(joint):
    for end, outward in ((LOW, -1.0), (HIGH, 1.0)):
        for past, expected in ((0.499, False), (0.501, True)):
            q = PANDA.home.copy()
            q[joint] = end[joint] + outward * past
            assert implausible_position(PANDA, q).tolist() == [expected and other == joint for other in range(7)]


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_speeds_up_to_ten_times_the_urdf_s_limit_are_plausible(sign):
    for factor, expected in ((9.99, False), (10.01, True)):
        dq = np.zeros((2, 7))
        dq[1, 4] = sign * factor * PANDA.limits.velocity[4]
        assert implausible_speed(PANDA, dq).tolist() == [[False] * 7, [expected and j == 4 for j in range(7)]]


def test_a_speed_without_a_limit_is_plausible():
    model = PANDA.model.copy()
    limit = model.upperVelocityLimit.copy()
    limit[2] = 0.0
    model.upperVelocityLimit = limit
    robot = RobotModel(model, name="free", tool_frame=PANDA.tool_frame)
    assert not implausible_speed(robot, np.array([0.0, 0.0, 1e6, 0.0, 0.0, 0.0, 0.0])).any()


def test_the_first_implausible_joint_is_named_with_its_row_its_number_and_its_range():
    q, dq = np.tile(PANDA.home, (3, 1)), np.zeros((3, 7))
    check_state(PANDA, q, dq)
    # Degrees: joint 4 of the panda has no positive angle of this size.
    q[1, 3] = 45.0
    q[2, 0] = 90.0
    with pytest.raises(InvalidInputError) as caught:
        check_state(PANDA, q, dq, "; degrees need --degrees")
    assert str(caught.value) == (
        "q: got 45 for panda_joint4 in row 2, expected radians within -3.072 and -0.0698; degrees need --degrees"
    )
    dq[2, 5] = -150.0
    with pytest.raises(InvalidInputError) as caught:
        check_state(PANDA, np.tile(PANDA.home, (3, 1)), dq)
    assert str(caught.value) == "dq: got -150 for panda_joint6 in row 3, expected rad/s, of which the URDF allows 2.61"


def test_of_one_state_no_row_is_named():
    q = PANDA.home.copy()
    q[0] = -170.0
    with pytest.raises(InvalidInputError) as caught:
        check_state(PANDA, q, np.zeros(7))
    assert str(caught.value) == "q: got -170 for panda_joint1, expected radians within -2.897 and 2.897"


def test_a_posture_outside_the_limits_is_told_with_its_worst_joint_and_both_ends():
    q = PANDA.home.copy()
    q[1] = LOW[1]
    assert limit_notes(PANDA, q) == () == limit_notes(PANDA, np.tile(q, (2, 1)))
    q[3] = HIGH[3] + 0.0998
    assert limit_notes(PANDA, q) == (
        "the posture is outside the URDF's joint limits: panda_joint4 at 0.03 rad, limits -3.072 and -0.0698",
    )
    q[5] = LOW[5] - 0.2
    (note,) = limit_notes(PANDA, q)
    assert "panda_joint6 at -0.2175 rad" in note and note.endswith(", and 1 more joint")
    check_state(PANDA, q, np.zeros(7))


def test_of_many_postures_the_number_outside_and_the_farthest_row_are_told():
    rows = np.tile(PANDA.home, (5, 1))
    rows[1, 0], rows[3, 6], rows[4, 2] = HIGH[0] + 0.1, LOW[6] - 0.3, np.nan
    (note,) = limit_notes(PANDA, rows)
    assert note.startswith(
        "2 of 5 postures are outside the URDF's joint limits, farthest in row 4: panda_joint7 at -3.197"
    )
