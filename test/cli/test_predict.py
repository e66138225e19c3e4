import json
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from impact_aware.contact import Contact
from impact_aware.contact.box import Box, homogeneous_box
from impact_aware.contact.cylinder import Cylinder
from impact_aware.contact.geometry import contact_point
from impact_aware.contact.shape import PlacedShape
from impact_aware.impact import predict
from impact_aware.impact.hit import not_unique, predict_hit
from impact_aware.impact.hit_uncertainty import predict_hit_with_covariance
from impact_aware.impact.material import ANY_PADS
from impact_aware.impact.palm import face_middle
from impact_aware.impact.uncertainty import InputCovariance
from impact_aware.robot import RobotModel

Q = "0.1 -0.7 0.2 -2.2 0.05 1.5 0.7".split()
DQ = "0.1 1e-1 -2e-1 -0.5 .3 -.2 0.1".split()
PALM_HALF = ["0.04", "0.035", "0.03"]
PALM = ["--pad-half-sizes", *PALM_HALF]
BOX = ["--object-mass", "2.2", "--object-half-extents", "0.1", "0.065", "0.12"]
CONTACT = ["--contact-frame", "tool", "--normal", "0.1", "-1e-2", "1", "--friction", "0.3"]


def test_json_and_text_agree_with_the_library(command):
    robot = RobotModel.from_profile("panda")
    contact = Contact("tool", (0.1, -1e-2, 1.0), friction=0.3, radius=robot.tool_radius)
    found = predict(robot, [float(x) for x in Q], [float(x) for x in DQ], contact)
    words = ("predict", "--robot", "panda", "--q", *Q, "--dq", *DQ, *CONTACT)
    status, out, err = command(*words, "--json")
    assert (status, err) == (0, "")
    answer = json.loads(out)
    for name in ("velocity_before", "velocity_after", "impulse", "contact_velocity_before", "contact_velocity_after"):
        np.testing.assert_array_equal(answer[name], getattr(found, name), err_msg=name)
    assert answer["contact_point"] == found.point.tolist() and answer["mode"] == found.mode != "separate"
    for name in ("effective_mass", "reduced_mass", "energy_loss"):
        assert answer[name] == getattr(found, name), name
    text = command(*words)[1]
    columns = (robot.joint_names, found.velocity_before, found.velocity_after, found.jump)
    for name, before, after, jump in zip(*columns, strict=True):
        assert f"{name}  {before:9.4f}  {after:9.4f}  {jump:+9.4f}" in text
    assert "impulse         " + "  ".join(f"{part:9.4f}" for part in found.impulse) + "  N s" in text
    assert f"effective mass  {found.effective_mass:9.4f}  kg" in text
    assert f"energy loss     {found.energy_loss:9.4f}  J" in text


def test_a_point_in_place_of_the_tools_ball_touches_at_the_frame(command):
    robot = RobotModel.from_profile("panda")
    out = command("predict", "--robot", "panda", "--q", *Q, "--dq", *DQ, *CONTACT, "--tool-radius", "0", "--json")[1]
    frame = robot.placement(np.array(Q, dtype=np.float64), "tool").translation
    np.testing.assert_allclose(json.loads(out)["contact_point"], frame, atol=1e-9)


def test_separating_velocity_says_so_and_changes_nothing(command):
    backwards = [str(-float(word)) for word in DQ]
    status, out, _ = command("predict", "--q", *Q, "--dq", *backwards, *CONTACT, "--json")
    result = json.loads(out)
    assert status == 0
    assert result["mode"] == "separate"
    assert result["velocity_after"] == result["velocity_before"]
    assert result["impulse"] == [0.0, 0.0, 0.0]


def test_object_takes_the_opposite_momentum(command):
    box = ["--object-mass", "2.2", "--object-twist", "0", "0", "-1e-2", "0", "0", "0"]
    status, out, _ = command("predict", "--q", *Q, "--dq", *DQ, *CONTACT, *box, "--json")
    result = json.loads(out)
    assert status == 0
    change = np.subtract(result["object_twist_after"], result["object_twist_before"])
    np.testing.assert_allclose(2.2 * change[:3], -np.array(result["impulse"]), atol=1e-12)
    assert result["reduced_mass"] < min(2.2, result["effective_mass"])


def test_velocities_that_are_not_unique_are_said_to_be_so(command):
    """Found by drawing palms: the corners of a box that turns on its table can share its weight in several ways."""
    dq = "-0.5 -0.2 0.1 -1.2 -0.2 1.3 0.7".split()
    palm = [*"--pad-half-sizes 0.04 0.03 0.02 --object-mass 1.2 --table-friction 0.1 --friction".split(), "0.2"]
    result = json.loads(command("predict", "--dq", *dq, *palm, "--json")[1])
    robot = RobotModel.from_profile("panda")
    middle = robot.placement(robot.home).translation - [0.0, 0.0, 0.02]
    body = PlacedShape(Box((0.1, 0.1, 0.1)), middle - [0.0, 0.0, 0.1])
    contact = Contact("tool", (0.0, 0.0, 1.0), friction=0.2)
    where = {"obstacle": body.free_object(1.2), "shape": body, "table_friction": 0.1}
    found = predict_hit(robot, robot.home, [float(x) for x in dq], contact, (0.04, 0.03, 0.02), search=True, **where)
    assert result["unique"] is found.unique is False
    assert result["other_energy_losses"] == pytest.approx(found.other_energy_losses) and found.other_energy_losses
    line = command("predict", "--dq", *dq, *palm)[1].splitlines()[-1]
    assert line == not_unique(found.energy_loss, found.other_energy_losses)
    usual = ["predict", "--dq", *DQ, *CONTACT]
    assert json.loads(command(*usual, "--json")[1])["unique"] is True and "several" not in command(*usual)[1]


def test_out_keeps_the_result(command, tmp_path):
    folder = tmp_path / "new" / "folder"
    status, out, _ = command("predict", "--dq", *DQ, "--json", "--out", str(folder))
    assert status == 0
    assert json.loads((folder / "prediction.json").read_text()) == json.loads(out)


def test_urdf_file_with_motor_inertia(command, tmp_path):
    urdf = tmp_path / "slider.urdf"
    urdf.write_text(
        """<robot name="slider"><link name="base"/><link name="body"><inertial><mass value="2.0"/>
        <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
        <joint name="z" type="prismatic"><parent link="base"/><child link="body"/><axis xyz="0 0 1"/>
        <limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""
    )
    options = f"--robot {urdf} --q 0 --dq -1 --apparent-motor-inertia 0.5 --restitution 0.5".split()
    status, out, _ = command("predict", *options, "--json")
    result = json.loads(out)
    assert status == 0
    assert result["effective_mass"] == pytest.approx(2.5, rel=1e-12)
    assert result["velocity_after"] == pytest.approx([0.5], rel=1e-12)
    assert result["impulse"] == pytest.approx([0.0, 0.0, 3.75], rel=1e-12)


def test_covariance_adds_the_spread(command, tmp_path):
    file = tmp_path / "covariance.json"
    file.write_text(json.dumps({"velocity": 1e-4, "friction": 1e-4, "normal": [1e-6, 1e-6, 1e-6], "object_mass": 0.01}))
    options = ["--q", *Q, "--dq", *DQ, *CONTACT, "--covariance", str(file)]
    status, out, _ = command("predict", *options, "--json")
    spread = json.loads(out)["covariance"]
    assert status == 0
    assert np.shape(spread["velocity_after"]) == (7, 7) and np.shape(spread["impulse"]) == (3, 3)
    assert np.linalg.eigvalsh(spread["velocity_after"]).min() > -1e-12
    assert isinstance(spread["mode_may_change"], bool)
    status, out, _ = command("predict", *options)
    assert status == 0 and "standard deviations" in out
    palm = [*options, "--pad-half-sizes", "0.04", "0.03", "0.02", "--object-mass", "2", "--table-friction", "0.3"]
    status, out, _ = command("predict", *palm, "--json")
    assert status == 0 and np.shape(json.loads(out)["covariance"]["velocity_after"]) == (7, 7)


def test_any_material_is_the_mean_of_drawn_pads_and_their_spread(command, refused):
    options = ["predict", "--q", *Q, "--dq", *DQ, *CONTACT]
    result = json.loads(command(*options, *PALM, *BOX, "--material", "any", "--json")[1])
    robot = RobotModel.from_profile("panda")
    contact = Contact("tool", (0.1, -1e-2, 1.0), friction=0.3, radius=robot.tool_radius)
    q, half = [float(x) for x in Q], [float(x) for x in PALM_HALF]
    shape = Box((0.1, 0.065, 0.12))
    middle = face_middle(contact.normal, robot.placement(np.array(q), "tool"), half)
    body = PlacedShape(shape, middle - PlacedShape(shape, np.zeros(3)).plane_point(contact.normal))
    where = {"obstacle": body.free_object(2.2), "shape": body, "pads": ANY_PADS}
    dq = [float(x) for x in DQ]
    found = predict_hit_with_covariance(robot, q, dq, contact, half, InputCovariance(), **where)
    np.testing.assert_allclose(result["velocity_after"], found.prediction.velocity_after, atol=1e-12)
    np.testing.assert_allclose(result["covariance"]["velocity_after"], found.velocity_after_covariance, atol=1e-12)
    assert np.trace(found.velocity_after_covariance) > 0.0
    text = command(*options, *PALM, *BOX, "--material", "any")[1]
    assert "the prediction is the mean of 60 drawn materials of the pads: two deviations hold 95 % of them" in text
    rigid = [command(*options, *PALM, *BOX, *more, "--json")[1] for more in ((), ("--material", "rigid"))]
    assert rigid[0] == rigid[1] and "covariance" not in json.loads(rigid[0])
    for option, value in (("--material", "any"), ("--pad-stiffness-ratio", "2")):
        assert f"{option}: got no --pad-half-sizes" in refused(*options, option, value)
    known = ["--material", "Hunt-Crossley", "--pad-stiffness-ratio", "1"]
    alike = json.loads(command(*options, *PALM, *BOX, *known, "--json")[1])
    assert not np.any(alike["covariance"]["velocity_after"]) and alike["velocity_after"] != result["velocity_after"]
    assert "the mean of 1 drawn materials" in command(*options, *PALM, *BOX, *known)[1]
    expected = "--pad-stiffness-ratio: got rigid pads, expected --material any or dashpot or Hunt-Crossley or set"
    assert expected in refused(*options, *PALM, *BOX, "--pad-stiffness-ratio", "2")


@pytest.mark.parametrize(
    ("content", "names"),
    [
        (None, "covariance: got "),
        ("{", "covariance: got "),
        ("[" * 100_000, "covariance: got "),
        ("\ud800", "covariance: got "),
        ("[1]", "covariance: got "),
        ('{"colour": 1}', "covariance entry: got 'colour'"),
        ('{"velocity": [[1, 2], [3, 4]]}', "covariance of velocity: "),
        ('{"normal": [[1, 2, 0], [0, 1, 0], [0, 0, 1]]}', "covariance of normal: "),
        ('{"friction": -1}', "covariance of friction: "),
    ],
)
def test_bad_covariance_is_one_clear_line(refused, tmp_path, content, names):
    file = tmp_path / "covariance.json"
    if content is not None:
        file.write_bytes(content.encode(errors="surrogatepass"))
    assert f"impact-aware: error: {names}" in refused("predict", "--dq", *DQ, "--covariance", file)


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (["--robot", "r2d2"], "robot: got 'r2d2'"),
        (["--robot", "nowhere.urdf"], "robot: got nowhere.urdf"),
        (["--q", "0", "0"], "--q: got 2 values, expected 7"),
        (["--dq", "1"], "--dq: got 1 values, expected 7"),
        (["--dq", *["nan"] * 7], "--dq: got 'nan', expected a number"),
        (["--dq", *["-inf"] * 7], "--dq: got '-inf', expected a number"),
        (["--dq", *["fast"] * 7], "--dq: got 'fast', expected a number"),
        (["--contact-frame", "nose"], "frame: got 'nose'"),
        (["--normal", "0", "0", "0"], "normal: "),
        (["--normal", "0", "0"], "--normal: expected 3 arguments"),
        (["--friction", "-0.1"], "--friction: got '-0.1', expected a number, 0 to 1000"),
        (["--friction", "much"], "--friction: got 'much'"),
        (["--restitution", "1.5"], "--restitution: got '1.5', expected a number, 0 to 1"),
        (["--tool-radius", "-1"], "--tool-radius: got '-1', expected a number, 0 to 10 m"),
        (["--inertia", "M+B"], "--inertia: got 'M+B', expected one of M, M+B_theta"),
        (["--method", "frictonless"], "--method: got 'frictonless', expected one of coulomb"),
        (["--object-mass", "1e300"], "--object-mass: got '1e300'"),
        (["--friction", "0_1"], "--friction: got '0_1'"),
        (["--friction", "\u0660.\u0663"], "--friction: got "),
        (["--q", *["1e300"] * 7], "--q: got '1e300'"),
        (["--object-mass", "0"], "--object-mass: got '0', expected a number, 1e-09 to 1e+12 kg"),
        (["--object-mass", "1", "--object-inertia", "1"], "--object-inertia: expected 3 arguments"),
        (["--object-mass", "1", "--object-shape", "egg"], "--object-shape: got 'egg', expected one of box, cylinder"),
        (["--object-twist", *"000000"], "--object-twist: got no --object-mass"),
        (["--offset", "nan", "0", "0"], "--offset: got 'nan', expected a number, -2 to 2 m"),
        (["--table-friction", "0.3", *BOX], "--table-friction: got no --pad-half-sizes, expected --pad-half-sizes"),
        ([*PALM, "--table-friction", "0.3"], "--table-friction: got no --object-mass, expected"),
        ([*PALM, *BOX, "--table-friction", "-1"], "--table-friction: got '-1'"),
        (["--pad-half-sizes", "0.04", "0.04"], "--pad-half-sizes: expected 3 arguments"),
        (["--pad-half-sizes", "0", "0", "0"], "--pad-half-sizes: got '0', expected a number, above 0 to 10 m"),
        ([*PALM, "--tool-radius", "0.02"], "--tool-radius: got a value along with --pad-half-sizes"),
        ([*PALM, "--offset", "0", "0", "0.1"], "--offset: got a value along with --pad-half-sizes"),
        ([*PALM, "--method", "frictionless"], "--method: got frictionless, expected coulomb"),
        (["--object-half-extents", "0.1", "0.1", "0.1"], "--object-half-extents: got no --object-mass"),
        ([*BOX[:2], "--object-half-extents", "0.1", "0", "0.1"], "--object-half-extents: got '0', expected a number"),
        (["--object-mass", "1", "--object-mesh", "a.stl"], "--object-mesh: got --object-shape box, expected a file"),
    ],
)
def test_bad_input_is_one_clear_line(refused, options, names):
    assert f"impact-aware: error: {names}" in refused("predict", "--dq", *DQ, *options)


def test_velocity_is_required(refused):
    assert "impact-aware: error: --dq: got nothing" in refused("predict")


def test_a_posture_outside_the_joint_limits_is_answered_with_a_note(command):
    beyond = [*Q[:3], "0.05", *Q[4:]]
    status, out, err = command("predict", "--q", *beyond, "--dq", *DQ, *CONTACT)
    note = "the posture is outside the URDF's joint limits: panda_joint4 at 0.05 rad, limits -3.072 and -0.0698"
    assert (status, err) == (0, f"note: {note}\n") and "effective mass" in out
    status, out, err = command("predict", "--q", *beyond, "--dq", *DQ, *CONTACT, "--json")
    assert (status, err, json.loads(out)["notes"]) == (0, "", [note])
    assert json.loads(command("predict", "--q", *Q, "--dq", *DQ, *CONTACT, "--json")[1])["notes"] == []


def test_a_urdf_without_motor_inertia_is_answered_with_a_note(command):
    zeros = ["--apparent-motor-inertia", *["0"] * 7]
    err = command("predict", "--q", *Q, "--dq", *DQ, *CONTACT, *zeros)[2]
    assert err.startswith("note: the apparent motor inertia of panda is not known")


ASIDE = ["--contact-frame", "tool", "--normal", "0", "1", "0", "--friction", "0.6"]


@pytest.mark.parametrize("table", [None, 0.3])
def test_a_palm_hits_with_all_corners_and_agrees_with_the_library(command, table):
    robot = RobotModel.from_profile("panda")
    q, dq, half = (np.array([float(word) for word in words]) for words in (Q, DQ, PALM_HALF))
    # Moved against the normal.
    dq *= -np.sign(robot.frame_jacobian(q)[1] @ dq)
    tool, normal = robot.placement(q), np.array([0.0, 1.0, 0.0])
    facing = int(np.argmax(np.abs(tool.rotation.T @ normal)))
    # Central behind the middle of the palm's face.
    centre = tool.translation - (half[facing] + 0.065) * normal
    box = homogeneous_box(2.2, (0.1, 0.065, 0.12), centre)
    on = [] if table is None else ["--table-friction", str(table)]
    words = ["--q", *Q, "--dq", *map(repr, dq.tolist()), *ASIDE, *BOX, "--pad-half-sizes", *PALM_HALF, *on]
    status, out, err = command("predict", *words, "--json")
    assert (status, err) == (0, "")
    found = json.loads(out)
    how = {"shape": PlacedShape(Box((0.1, 0.065, 0.12)), centre), "table_friction": table}
    expected = predict_hit(robot, q, dq, Contact("tool", normal, friction=0.6), half, obstacle=box, **how)
    np.testing.assert_allclose(found["velocity_after"], expected.velocity_after, atol=1e-12)
    np.testing.assert_allclose(found["object_twist_after"], expected.object_twist_after, atol=1e-12)
    np.testing.assert_allclose(found["contact_point"], tool.translation - half[facing] * normal, atol=1e-12)
    assert found["method"] == "palm" and found["object_twist_before"] == [0.0] * 6
    # Of robot and object in a row, were the object free: at its middle it shows its whole mass.
    assert found["reduced_mass"] == pytest.approx(1.0 / (1.0 / found["effective_mass"] + 1.0 / 2.2))
    text = command("predict", *words)[1]
    assert "(palm, inertia M+B_theta)" in text and "object after" in text


def test_the_table_takes_part_and_a_wall_lets_no_part_of_the_palm_through(command):
    words = ["--q", *Q, "--dq", *DQ, "--contact-frame", "tool", "--pad-half-sizes", *PALM_HALF, "--json"]
    dq = [float(word) for word in DQ]
    tip = RobotModel.from_profile("panda").frame_jacobian(np.array([float(x) for x in Q]))[1] @ dq
    into = ["--normal", "0", "-1" if tip > 0.0 else "1", "0", "--friction", "0.4"]
    tables = ([], ["--table-friction", "0.9"])
    free, held = (json.loads(command("predict", *words, *into, *BOX, *on)[1]) for on in tables)
    assert np.abs(np.subtract(free["object_twist_after"], held["object_twist_after"])).max() > 1e-3
    wall = json.loads(command("predict", *words, *into)[1])
    assert wall["object_twist_after"] is None and wall["reduced_mass"] == wall["effective_mass"]
    # The posture is no palm's: one edge stops, and the middle is turned away from the wall.
    normal = float(into[2])
    assert normal * wall["contact_velocity_before"][1] < -0.02
    assert -1e-9 < normal * wall["contact_velocity_after"][1] < 0.05


def test_a_lying_cylinder_is_an_object_too(command):
    words = ["--q", *Q, "--dq", *DQ, "--contact-frame", "tool", "--friction", "0.4", "--object-mass", "1.4", "--json"]
    shape = "--object-shape cylinder --object-half-extents 0.05 0.05 0.08 --object-rpy 1.2 0 0.3".split()
    robot = RobotModel.from_profile("panda")
    q, dq = (np.array([float(word) for word in numbers]) for numbers in (Q, DQ))
    normal = np.array([0.6, 0.0, 0.8])
    if normal @ robot.frame_jacobian(q)[:3] @ dq > 0.0:
        normal = -normal
    status, out, _ = command("predict", *words, *shape, "--normal", *map(str, normal))
    assert status == 0
    contact = Contact("tool", normal, friction=0.4, radius=robot.tool_radius)
    turn = pin.rpy.rpyToMatrix(1.2, 0.0, 0.3)
    lying = PlacedShape(Cylinder(0.05, 0.08), np.zeros(3), turn)
    place = contact_point(robot, q, contact) - lying.plane_point(normal)
    body = PlacedShape(lying.shape, place, lying.rotation).free_object(1.4)
    expected = predict(robot, q, dq, contact, obstacle=body)
    np.testing.assert_allclose(json.loads(out)["object_twist_after"], expected.object_twist_after, atol=1e-12)
    assert np.abs(expected.object_twist_after[3:]).max() > 1e-3
    # An inertia that is given is about its own axes, too.
    shape += ["--normal", *map(str, normal), "--object-inertia", "0.01", "0.02", "0.004"]
    _, out, _ = command("predict", *words, *shape)
    body = replace(body, inertia=turn @ np.diag([0.01, 0.02, 0.004]) @ turn.T)
    turned = predict(robot, q, dq, contact, obstacle=body)
    np.testing.assert_allclose(json.loads(out)["object_twist_after"], turned.object_twist_after, atol=1e-12)
