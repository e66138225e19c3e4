import json

import numpy as np
import pytest

from impact_aware.cli.sample_map import sample_places
from impact_aware.errors import InvalidInputError
from impact_aware.impact.sampled_map import ImpactMap
from impact_aware.task import load_task
from impact_aware.task.impact_positions import IntendedImpact


@pytest.fixture(scope="module")
def direct():
    return IntendedImpact(load_task("hit_and_push"))


@pytest.fixture(scope="module")
def saved(direct, tmp_path_factory):
    path = tmp_path_factory.mktemp("map") / "map.npz"
    sample_places(direct, 0.05, 5).save(path)
    return path


def test_the_tool_hits_as_the_field_and_the_null_space_joint_want(direct):
    arm, robot = direct.task.arms[0], direct._robots[0]
    place = direct.tool_positions(direct.nominal + [0.02, -0.03])[0]
    q, dq = direct.state(0, place)
    # The tolerance of the inverse kinematics is 1e-8.
    np.testing.assert_allclose(robot.placement(q).translation, place, atol=1e-7)
    assert q[arm.null_space_joint] == arm.null_space_position
    wanted = [*direct.field.ante_impact().velocity(place), 0.0, 0.0, 0.0]
    np.testing.assert_allclose(robot.frame_jacobian(q) @ dq, wanted, atol=1e-9)
    assert dq[arm.null_space_joint] == pytest.approx(0.0, abs=1e-9)


def test_a_central_hit_moves_the_object_most_and_never_faster_than_the_tool(direct):
    speed = np.linalg.norm(direct.task.arms[0].impact_velocity)
    central = direct(direct.nominal)
    # Inelastic: the object's face leaves with the tool's velocity, which has dropped; it goes the way it was hit.
    assert 0.0 < central[1] / direct.task.arms[0].impact_velocity[1] < 1.0
    for offset in ((0.05, 0.0), (-0.05, 0.0), (0.0, 0.05), (0.0, -0.05)):
        off_centre = direct(direct.nominal + offset)
        assert abs(off_centre[1]) < abs(central[1]) < speed


def test_command_writes_one_map_and_says_how_good_it_is(command, refused, tmp_path, direct):
    status, out, err = command("sample-map", "map.npz", "--out", tmp_path / "new", "--count", 4, "--json")
    assert (status, err) == (0, "")
    result = json.loads(out)
    path = tmp_path / "new" / "map.npz"
    assert result["file"] == str(path) and result["samples"] == 16
    sampled = ImpactMap.load(path)
    assert sampled.notes["task"] == "hit_and_push" and sampled.input_names == ("x [m]", "z [m]")
    np.testing.assert_array_equal(sampled.values[3], direct(sampled.states[3]))
    for name in ("nominal", "beside_nominal"):
        entry = result[name]
        np.testing.assert_allclose(entry["direct"], direct(np.array(entry["place"])[direct.planes[0]]), atol=1e-12)
        # Neither place is a sample, and both have samples nearer than a left-out one has.
        assert 0.0 < entry["difference"] < result["leave_one_out_error"]["max"]
    before = path.read_bytes()
    assert "does not exist yet" in refused("sample-map", path)
    assert path.read_bytes() == before


def test_a_finer_grid_misses_by_less(direct):
    places = direct.nominal + np.random.default_rng(2).uniform(-0.05, 0.05, (30, 2))
    exact = np.array([direct(place) for place in places])
    maps = [sample_places(direct, 0.05, count) for count in (3, 5, 7)]
    errors = [np.median(np.linalg.norm(sampled(places) - exact, axis=1)) for sampled in maps]
    # Medians, because the kink where sticking turns into sliding converges slowly.
    assert errors[0] > errors[1] > errors[2]


def test_people_read_the_same(command, tmp_path):
    status, out, _ = command("sample-map", tmp_path / "m.npz", "--count", 3, "--object", "parcel")
    assert status == 0
    assert "9 positions of hit_and_push (parcel)" in out and "leave one out" in out
    assert "nominal" in out and "direct" in out


def test_predict_interpolates_a_saved_map(command, saved, direct):
    place = direct.tool_positions(direct.nominal + [0.013, -0.021])[0]
    status, out, err = command("predict", "--map", saved, "--position", *place, "--json")
    assert (status, err) == (0, "")
    result = json.loads(out)
    assert result["covered"] is True
    np.testing.assert_array_equal(result["object_velocity_after"], ImpactMap.load(saved)(place[direct.planes[0]]))
    # A hundredth of the object's speed of 0.3 m/s, well inside the region where the contact sticks.
    np.testing.assert_allclose(result["object_velocity_after"], direct(place[direct.planes[0]]), atol=3e-3)
    # Appendix A projects the place onto the impact plane.
    away = command("predict", "--map", saved, "--position", *(place + [0.0, 0.07, 0.0]), "--json")[1]
    assert json.loads(away)["object_velocity_after"] == result["object_velocity_after"]
    assert "not covered" not in command("predict", "--map", saved, "--position", *place)[1]


def test_the_error_of_the_interpolation_bounds_what_a_saved_map_misses(command, saved, direct):
    """Predicted at places between the samples: most are inside, and the bound is no excuse for a coarse map."""
    inside, widest = [], 0.0
    for aside in np.random.default_rng(3).uniform(-0.05, 0.05, (20, 2)):
        place = direct.tool_positions(direct.nominal + aside)[0]
        result = json.loads(command("predict", "--map", saved, "--position", *place, "--json")[1])
        bound = np.array(result["interpolation_error"])
        missed = np.abs(result["object_velocity_after"] - direct(place[direct.planes[0]]))
        inside.append((missed <= bound + 1e-9).all())
        widest = max(widest, missed.max())
    assert np.mean(inside) >= 0.95 and widest < bound.max() < 20.0 * widest
    text = command("predict", "--map", saved, "--position", *place)[1]
    assert "+- at most " in text and f"{bound[0]:.4g}"[:5] in text


def test_a_place_beyond_the_map_is_said_to_be(command, saved, direct):
    corner = json.loads(command("predict", "--map", saved, "--position", 0.55, 0.1, 0.15, "--json")[1])
    beyond = json.loads(command("predict", "--map", saved, "--position", 0.7, 0.1, 0.3, "--json")[1])
    assert corner["covered"] and not beyond["covered"]
    assert beyond["object_velocity_after"] == corner["object_velocity_after"]
    assert "not covered" in command("predict", "--map", saved, "--position", 0.7, 0.1, 0.3)[1]


def test_the_square_of_places_is_on_a_face_with_oblique_edges_too():
    """By hand: the face's right edge is x = 0.1 - (z + 0.0771) / 3, with its middle at 0, on which x = z = 0.0557 m."""
    corners = [[s * x, y, z] for z, x in ((-0.08, 0.1), (0.1, 0.04)) for s in (-1, 1) for y in (-0.065, 0.065)]
    hull = IntendedImpact(load_task("hit_and_push", {"object": {"shape": "hull", "vertices": corners}}))
    assert len(sample_places(hull, 0.0557, 2).states) == 4
    with pytest.raises(InvalidInputError, match="half-width: got 0.0558, expected 0..0.05571 m"):
        sample_places(hull, 0.0558, 2)


def test_bad_input_is_answered_in_one_line(refused, tmp_path, saved):
    new = tmp_path / "new.npz"
    assert "half-width" in refused("sample-map", new, "--half-width", 0.2)
    assert "half-width" in refused("sample-map", new, "--half-width", "nan")
    assert "count" in refused("sample-map", new, "--count", 1)
    assert "task of one arm" in refused("sample-map", new, "--task", "dual_arm_grab")
    assert "task" in refused("sample-map", new, "--task", "juggle")
    assert "object" in refused("sample-map", new, "--object", "anvil")
    assert ".npz" in refused("sample-map", tmp_path / "map.txt", "--count", 2)
    assert "can be written" in refused("sample-map", saved / "below a file.npz", "--count", 2)
    assert "too close" in refused("sample-map", new, "--count", 3, "--shape", 1e-5)
    assert not new.exists()
    place = ["--position", 0.5, 0.1, 0.1]
    assert "position: got nothing" in refused("predict", "--map", saved)
    assert "--map: got nothing" in refused("predict", *place)
    assert "expected 3 arguments" in refused("predict", "--map", saved, "--position", 0.5, 0.1)
    assert "a number" in refused("predict", "--map", saved, "--position", 0.5, 0.1, "nan")
    assert "not both" in refused("predict", "--map", saved, *place, "--q", 0)
    assert "a readable file" in refused("predict", "--map", tmp_path / "none.npz", *place)
    other = tmp_path / "other.npz"
    ImpactMap([[0.0], [1.0]], [[0.0], [1.0]], input_names=["p"], output_names=["v"]).save(other)
    assert "sample-map" in refused("predict", "--map", other, *place)
    for content in (b"PK\x03\x04 cut off", b"text", b""):
        (tmp_path / "broken.npz").write_bytes(content)
        assert "ImpactMap.save" in refused("predict", "--map", tmp_path / "broken.npz", *place)


def test_the_place_must_be_within_reach(direct):
    with pytest.raises(InvalidInputError, match="reach"):
        direct([3.0, 0.1])
