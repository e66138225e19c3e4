import numpy as np
import pytest

from impact_aware.contact import Contact, FreeObject, contact_point
from impact_aware.errors import InvalidInputError, NoSolutionError
from impact_aware.impact import predict
from impact_aware.impact.sampled_map import ImpactMap
from impact_aware.robot import RobotModel


def smooth(state):
    x, y = state
    return [np.sin(3.0 * x) + y, x * y]


@pytest.fixture(scope="module")
def sampled():
    grid = {"x [m]": np.linspace(-0.5, 0.5, 9), "y [m]": np.linspace(0.0, 1.0, 7)}
    return ImpactMap.sample(smooth, grid, ("a", "b"), notes={"from": "a smooth function"})


def test_passes_through_its_samples(sampled):
    # Rounding times the condition of the basis.
    np.testing.assert_allclose(sampled(sampled.states), sampled.values, atol=1e-6)
    assert sampled(sampled.states[5]).shape == (2,)


def test_interpolates_between_them(sampled):
    states = np.random.default_rng(3).uniform([-0.4, 0.1], [0.4, 0.9], (50, 2))
    expected = np.array([smooth(state) for state in states])
    # The function's own range is 2; the grid is an eighth of it wide.
    assert np.abs(sampled(states) - expected).max() < 0.01
    assert np.median(np.abs(sampled.leave_one_out_errors())) < 0.05


def test_formula_of_paper_002():
    # Eqs. (40)-(41) by hand for two samples: phi(1) = exp(-rho^2).
    two = ImpactMap([[0.0], [1.0]], [[1.0], [2.0]], input_names=["p"], output_names=["v"], shape=0.8, trend="none")
    phi = np.exp(-(0.8**2))
    weights = np.linalg.solve([[1.0, phi], [phi, 1.0]], [1.0, 2.0])
    assert two([0.3])[0] == pytest.approx(weights @ np.exp(-(0.8**2) * np.array([0.09, 0.49])), rel=1e-12)


def test_outside_it_stays_at_the_border(sampled):
    np.testing.assert_array_equal(sampled([9.0, 0.5]), sampled([0.5, 0.5]))
    assert not sampled.covers([9.0, 0.5]) and sampled.covers([0.1, 0.5])


def test_one_file_keeps_everything(sampled, tmp_path):
    path = tmp_path / "map.npz"
    sampled.save(path)
    again = ImpactMap.load(path)
    np.testing.assert_array_equal(again([0.12, 0.34]), sampled([0.12, 0.34]))
    assert (again.input_names, again.output_names) == (sampled.input_names, sampled.output_names)
    assert again.notes == {"from": "a smooth function"}
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(InvalidInputError, match="does not exist yet"):
        sampled.save(path)


def test_stands_in_for_a_prediction():
    robot = RobotModel.from_profile("panda")
    contact = Contact("tool", (-1, 0, 0), friction=0.3, radius=robot.tool_radius)
    dq = np.linalg.pinv(robot.frame_jacobian(robot.home)[:3]) @ [0.5, 0.0, 0.0]

    def box_velocity(state):
        q = robot.home + np.array([0.0, state[0], 0.0, state[1], 0.0, 0.0, 0.0])
        box = FreeObject(2.2, 0.02 * np.eye(3), contact_point(robot, q, contact) + [0.1, 0.0, 0.0])
        return predict(robot, q, dq, contact, obstacle=box).object_twist_after[:3]

    angles = np.linspace(-0.1, 0.1, 5)
    sampled = ImpactMap.sample(box_velocity, {"joint 2 [rad]": angles, "joint 4 [rad]": angles}, ("vx", "vy", "vz"))
    for state in np.random.default_rng(4).uniform(-0.08, 0.08, (10, 2)):
        # A thousandth of the box's speed, which is near 0.35 m/s.
        np.testing.assert_allclose(sampled(state), box_velocity(state), atol=4e-4)


def test_refuses_bad_input(sampled, tmp_path):
    names = {"input_names": ["x"], "output_names": ["y"]}
    with pytest.raises(InvalidInputError, match="values"):
        ImpactMap([[0.0], [1.0]], [[0.0]], **names)
    with pytest.raises(InvalidInputError, match="states"):
        ImpactMap([[np.nan]], [[0.0]], **names)
    with pytest.raises(InvalidInputError, match="shape"):
        ImpactMap([[0.0]], [[0.0]], shape=0.0, **names)
    with pytest.raises(InvalidInputError, match="input_names"):
        ImpactMap([[0.0, 1.0]], [[0.0]], **names)
    with pytest.raises(NoSolutionError, match="too close"):
        ImpactMap([[0.0], [1e-9]], [[0.0], [1.0]], **names)
    with pytest.raises(InvalidInputError, match="trend"):
        ImpactMap([[0.0]], [[0.0]], trend="cubic", **names)
    with pytest.raises(InvalidInputError, match="state"):
        sampled([1.0])
    with pytest.raises(InvalidInputError, match="grid: x"):
        ImpactMap.sample(smooth, {"x": [1.0, 0.0]}, ("a",))
    with pytest.raises(InvalidInputError, match="a readable file"):
        ImpactMap.load(tmp_path / "none.npz")
    (tmp_path / "text.npz").write_text("no map")
    with pytest.raises(InvalidInputError, match="written by"):
        ImpactMap.load(tmp_path / "text.npz")


def test_axes_of_a_grid_keep_their_order_and_units():
    def plane(state):
        return [2.0 * state[0] - 0.01 * state[1] + 3.0, state[1]]

    made = ImpactMap.sample(plane, {"x [m]": [0.0, 0.1, 0.2], "angle [deg]": [10.0, 30.0, 50.0, 70.0]}, ("a", "b"))
    assert (made.input_names, made.output_names) == (("x [m]", "angle [deg]"), ("a", "b"))
    np.testing.assert_allclose(made.scale, [0.1, 20.0])
    np.testing.assert_array_equal(made.states[:5], [[0.0, 10.0], [0.0, 30.0], [0.0, 50.0], [0.0, 70.0], [0.1, 10.0]])
    # A plane is met everywhere within, and outside at the border.
    np.testing.assert_allclose(made([0.13, 44.0]), plane([0.13, 44.0]), atol=1e-9)
    np.testing.assert_allclose(made([0.5, 44.0]), plane([0.2, 44.0]), atol=1e-9)
    np.testing.assert_allclose(made([[0.05, 90.0], [-1.0, 0.0]]), [plane([0.05, 70.0]), plane([0.0, 10.0])], atol=1e-9)
    assert made.covers([0.2, 10.0]) and not made.covers([0.2, 9.9]) and not made.covers([0.21, 20.0])
