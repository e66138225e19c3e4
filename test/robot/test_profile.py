"""Robot profiles: what ships loads, and a malformed one is refused in one clear line."""

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest
import yaml

from impact_aware.errors import InvalidInputError, UnknownNameError
from impact_aware.robot import INERTIA_CHOICES, RobotModel, load_profile, profile_names
from impact_aware.robot.profile import RANGES
from impact_aware.robot.safety_limits import SafetyLimits

GOOD = {
    "urdf": "arm.urdf",
    "joints": ["a", "b"],
    "apparent_motor_inertia": [0.1, 0.2],
    "motor_inertia": [0.5, 1.0],
    "home": [0.0, 0.3],
    "effort_rate": [100.0, 100.0],
    "tool": {"mount_frame": "tip", "position": [0, 0, 0.1], "radius": 0.02},
    "notes": {"urdf": "made up"},
}

ARM = """<robot name="arm"><link name="base"/>
<link name="upper"><inertial><origin xyz="0 0 0.2"/><mass value="2"/>
<inertia ixx="0.02" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.01"/></inertial></link>
<link name="tip"><inertial><origin xyz="0 0 0.1"/><mass value="1"/>
<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
<joint name="a" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
<limit lower="-2" upper="2" effort="50" velocity="2"/></joint>
<joint name="b" type="revolute"><parent link="upper"/><child link="tip"/><origin xyz="0 0 0.4"/><axis xyz="0 1 0"/>
<limit lower="-2" upper="2" effort="20" velocity="2"/></joint></robot>"""


def write(folder: Path, content: object) -> Path:
    (folder / "arm.urdf").write_text(ARM)
    path = folder / "arm.yaml"
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return path


def test_every_shipped_profile_loads_and_says_where_its_figures_come_from():
    assert {"fr3", "fr3v2", "kuka_lwr4", "panda"} <= set(profile_names())
    for name in profile_names():
        profile = load_profile(name)
        assert profile.name == name
        assert profile.urdf.is_file()
        assert "apparent_motor_inertia" in profile.notes
        # Ratios of the motor's inertia from 4 to 6 are as likely, and 5 is taken.
        assert profile.apparent_motor_inertia_std == pytest.approx(np.std(5.0 / np.linspace(4.0, 6.0, 1001)), abs=5e-3)
        RobotModel.from_profile(profile)


@pytest.mark.parametrize("name", profile_names())
def test_every_shipped_arm_is_made_of_bodies_and_waits_with_its_tool_down(name):
    robot = RobotModel.from_profile(name)
    for inertia in list(robot.model.inertias)[1:]:
        moments = np.linalg.eigvalsh(inertia.inertia)
        assert inertia.mass > 0.0 and 0.0 < moments[0] and moments[2] <= moments[0] + moments[1]
        # No link reaches further from its centre of mass, but for the Panda's first, as it was identified.
        assert np.sqrt(moments[2] / inertia.mass) < (0.4 if name == "panda" else 0.25)
    lower, upper = robot.limits.position_lower, robot.limits.position_upper
    for q in np.random.default_rng(20241121).uniform(lower, upper, (50, robot.n)):
        for inertia in INERTIA_CHOICES:
            assert np.linalg.eigvalsh(robot.mass_matrix(q, inertia))[0] > 0.0
    assert np.all(robot.home > lower) and np.all(robot.home < upper)
    # The posture is printed to six digits.
    np.testing.assert_allclose(robot.placement(robot.home).rotation[:, 2], [0.0, 0.0, -1.0], atol=1e-5)


@pytest.mark.parametrize("name", profile_names())
def test_every_shipped_tool_is_a_ball_and_torques_change_as_fast_as_published(name):
    profile = load_profile(name)
    tool = profile.tool
    assert tool.center_of_mass == tool.position and profile.effort_rate == (1000.0,) * 7
    np.testing.assert_allclose(tool.inertia_diagonal, 0.4 * tool.mass * tool.radius**2, rtol=1e-3)
    assert tool.radius == (0.025 if name == "kuka_lwr4" else 0.03)


def test_the_panda_s_friction_is_that_of_gaz_2019():
    profile = load_profile("panda")
    # Gaz et al. 2019, table II: phi_1, N m, and phi_2, s/rad; printed to three digits here.
    span = [0.54615, 0.87224, 0.64068, 1.2794, 0.83904, 0.30301, 0.56489]
    slope = [5.1181, 9.0657, 10.136, 5.5903, 8.3469, 17.133, 10.336]
    np.testing.assert_allclose(profile.motor_friction, 0.5 * np.array(span), atol=6e-4)
    np.testing.assert_allclose(profile.motor_friction_velocity, 2.0 / np.array(slope), atol=6e-4)


def test_fields_are_read(tmp_path):
    profile = load_profile(write(tmp_path, GOOD))
    assert profile.name == "arm"
    assert profile.joint_names == ("a", "b")
    assert profile.motor_inertia == (0.5, 1.0)
    assert profile.tool is not None
    assert profile.tool.position == (0, 0, 0.1)
    assert profile.urdf == tmp_path / "arm.urdf"
    assert RobotModel.from_profile(tmp_path / "arm.yaml").tool_radius == 0.02


def test_what_a_profile_does_not_say_is_the_cautious_choice(tmp_path):
    profile = load_profile(write(tmp_path, {key: GOOD[key] for key in ("urdf", "joints", "apparent_motor_inertia")}))
    # Whole torques in, and efforts that nobody knows the origin of.
    assert (profile.command_includes_gravity, profile.effort_kind) == (True, "current")
    assert (profile.position_margin, profile.joint_states_topic, profile.base_frame) == (0.05, "joint_states", "base")
    assert profile.tool is None and profile.motor_inertia == profile.home == profile.effort_rate == ()
    assert profile.safety == profile.notes == {}
    assert profile.apparent_motor_inertia_std == 0.0
    robot = RobotModel.from_profile(profile)
    assert robot.motor_inertia is None and robot.tool_frame == "tip"


def test_numbers_that_yaml_takes_for_text_are_read(tmp_path):
    path = write(tmp_path, "urdf: arm.urdf\njoints: [a, b]\napparent_motor_inertia: [1e-5, 2e-5]\n")
    assert load_profile(path).apparent_motor_inertia == (1e-5, 2e-5)


def test_unknown_robot_lists_the_known_ones():
    with pytest.raises(UnknownNameError, match="fr3, fr3v2, kuka_lwr4, panda"):
        load_profile("pandora")


def without(key):
    return {name: value for name, value in GOOD.items() if name != key}


PAGE = (Path(__file__).parents[2] / "docs" / "hardware.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `([\w.]+)` \| (> )?([-\d.]+) \| ([\d.]+|1e\+05) \| (\S.*?) \|$", PAGE, re.MULTILINE)


def with_number(key, value):
    """A profile in which every number of an entry is this one, and its name in the folder's words."""
    group, _, entry = key.rpartition(".")
    if key.startswith("motor_friction"):
        # Neither is known without the other.
        return GOOD | {"motor_friction": [0.1, 0.1], "motor_friction_velocity": [0.1, 0.1], key: [value, value]}
    if not group:
        return GOOD | {key: [value, value] if isinstance(GOOD.get(key), list) else value}
    sizes = {"position": 3, "rotation_rpy": 3, "center_of_mass": 3, "inertia_diagonal": 3} if group == "tool" else {}
    number = [value] * sizes[entry] if entry in sizes else value
    inner = {"mount_frame": "tip", "mass": 1.0} if group == "tool" else {}
    return GOOD | {group: inner | {entry: number}}


def test_the_page_on_hardware_has_every_range():
    stated = [(key, float(low), float(high), unit, bool(above)) for key, above, low, high, unit in ROWS]
    assert stated == [(key, entry.low, entry.high, entry.unit, entry.open_below) for key, entry in RANGES.items()]


def test_every_safety_limit_has_a_range():
    names = [f"safety.{entry.name}" for entry in dataclasses.fields(SafetyLimits)]
    assert sorted(names) == sorted(key for key in RANGES if key.startswith("safety."))


@pytest.mark.parametrize(("key", "above", "low", "high", "unit"), ROWS, ids=[row[0] for row in ROWS])
def test_numbers_are_accepted_up_to_the_ends_of_their_range(tmp_path, key, above, low, high, unit):
    inside = [float(high), float(low) + (1e-3 if above else 0.0)]
    outside = [float(high) * 1.001, float(low) - 1e-3, *([float(low)] if above else [])]
    for value in inside:
        load_profile(write(tmp_path, with_number(key, value)))
    for value in outside:
        with pytest.raises(InvalidInputError, match=rf"{re.escape(key)}: got .*{re.escape(unit)}$"):
            load_profile(write(tmp_path, with_number(key, value)))


MALFORMED = {
    "no urdf": (without("urdf"), "urdf"),
    "no joints": (without("joints"), "joints"),
    "no inertia": (without("apparent_motor_inertia"), "apparent_motor_inertia"),
    "friction alone": (GOOD | {"motor_friction": [0.1, 0.1]}, "motor_friction_velocity"),
    "unknown key": (GOOD | {"apparent_inertia": [1, 2]}, "apparent_inertia"),
    "wrong length": (GOOD | {"home": [0.0]}, "home"),
    "empty required column": (GOOD | {"apparent_motor_inertia": []}, "apparent_motor_inertia"),
    "text in a column": (GOOD | {"home": ["zero", 0.0]}, "home"),
    "null in a column": (GOOD | {"motor_inertia": [None, 1.0]}, "motor_inertia"),
    "scalar column": (GOOD | {"effort_rate": 100.0}, "effort_rate"),
    "NaN": (GOOD | {"apparent_motor_inertia": [float("nan"), 0.1]}, "apparent_motor_inertia"),
    "negative inertia": (GOOD | {"apparent_motor_inertia": [-0.1, 0.1]}, "apparent_motor_inertia"),
    "joints not a list": (GOOD | {"joints": "a"}, "joints"),
    "no joint at all": (GOOD | {"joints": [], "apparent_motor_inertia": []}, "joints"),
    "joint twice": (GOOD | {"joints": ["a", "a"]}, "joints"),
    "a spread above all of it": (GOOD | {"apparent_motor_inertia_std": 1.5}, "apparent_motor_inertia_std: got 1.5"),
    "margin is text": (GOOD | {"position_margin": "wide"}, "position_margin"),
    "notes not a mapping": (GOOD | {"notes": "from a friend"}, "notes"),
    "tool not a mapping": (GOOD | {"tool": "sphere"}, "tool"),
    "tool without mount": (GOOD | {"tool": {"radius": 0.1}}, "tool"),
    "tool with unknown key": (GOOD | {"tool": {"mount_frame": "tip", "weight": 1}}, "tool"),
    "tool position short": (GOOD | {"tool": {"mount_frame": "tip", "position": [0, 1]}}, "tool"),
    "tool radius is text": (GOOD | {"tool": {"mount_frame": "tip", "radius": "big"}}, "tool"),
    "tool on an unknown frame": (GOOD | {"tool": {"mount_frame": "wrist"}}, "mount_frame"),
    "joint not in the URDF": (GOOD | {"joints": ["a", "c"]}, "joint"),
    "joints in another order": (GOOD | {"joints": ["b", "a"]}, "joints"),
    "urdf file missing": (GOOD | {"urdf": "leg.urdf"}, "urdf"),
    "urdf not a path": (GOOD | {"urdf": 3}, "urdf"),
    "urdf package incomplete": (GOOD | {"urdf": {"path": "arm.urdf"}}, "urdf"),
    "urdf package not installed": (GOOD | {"urdf": {"package": "no-such-arm", "path": "arm.urdf"}}, "urdf"),
    "limits switched off": (GOOD | {"position_margin": -5}, "position_margin: got -5"),
    "tool of negative mass": (GOOD | {"tool": {"mount_frame": "tip", "mass": -0.2}}, "tool.mass: got -0.2"),
    "tool of no mass": (GOOD | {"tool": {"mount_frame": "tip", "inertia_diagonal": [1, 1, 1]}}, "tool.mass"),
    "tool that no body can be": (
        GOOD | {"tool": {"mount_frame": "tip", "mass": 1, "inertia_diagonal": [1, 1, 2.1]}}, "inertia_diagonal",
    ),
    "tool on a number": (GOOD | {"tool": {"mount_frame": 5}}, "tool.mount_frame"),
    "torque limit of 1e9": (GOOD | {"safety": {"effort": 1e9}}, "safety.effort: got 1000000000.0"),
    "one velocity limit of 1e9": (GOOD | {"safety": {"velocity": [1, 1e9]}}, "safety.velocity"),
    "energy without end": (GOOD | {"safety": {"impact_energy": ".inf"}}, "impact_energy"),
    "deceleration of 1e9": (GOOD | {"safety": {"braking_deceleration": 1e9}}, "braking_deceleration"),
    "absurd inertia": (GOOD | {"apparent_motor_inertia": [1e300, 0.1]}, "apparent_motor_inertia"),
    "home in degrees": (GOOD | {"home": [0.0, -45.0]}, "home: got -45.0"),
    "urdf with a zero byte": (GOOD | {"urdf": "arm\0.urdf"}, "urdf"),
    "urdf package is a number": (GOOD | {"urdf": {"package": 5, "path": "arm.urdf"}}, "urdf"),
    "65 joints": (
        GOOD | {"joints": [f"j{i}" for i in range(65)], "apparent_motor_inertia": [0.1] * 65}, "65 joints",
    ),
    "a list": (["a"], "mapping"),
    "empty": ("", "mapping"),
    "broken YAML": ("urdf: [", "YAML"),
}  # fmt: skip


@pytest.mark.parametrize(("content", "word"), MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed_profiles_are_refused_in_one_line_that_names_the_field(tmp_path, content, word):
    path = write(tmp_path, content)
    with pytest.raises(InvalidInputError) as caught:
        RobotModel.from_profile(path)
    message = str(caught.value)
    assert word in message
    assert "\n" not in message


def test_missing_file_is_refused(tmp_path):
    with pytest.raises(InvalidInputError, match="an existing file"):
        load_profile(tmp_path / "none.yaml")


def test_ament_prefixes_are_searched_for_a_description_package(tmp_path, monkeypatch):
    robots = tmp_path / "share" / "some_arm" / "robots"
    robots.mkdir(parents=True)
    (robots / "arm.urdf").write_text(ARM)
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"/nowhere:{tmp_path}")
    path = write(tmp_path, GOOD | {"urdf": {"package": "some_arm", "path": "arm.urdf"}})
    assert load_profile(path).urdf == robots / "arm.urdf"


def test_the_package_s_own_profiles_loosen_no_limit():
    for name in profile_names():
        robot = RobotModel.from_profile(name)
        limits = SafetyLimits.of(robot)
        assert limits.loosened(robot) == ()
        # No arm is commanded more than its own sensors measure.
        assert (limits.sensor_torque == (np.inf if name.startswith("kuka") else robot.limits.effort)).all()


LOOSENED = {
    "position_upper": (
        [2.8, 1.7, 2.8, -0.05, 2.8, 3.7, 2.8], "safety.position_upper of panda_joint4: -0.05, the URDF's is -0.0698",
    ),
    "position_lower": (-3.5, "safety.position_lower of panda_joint1: -3.5, the URDF's is -2.8973"),
    "velocity": (2.4, "safety.velocity of panda_joint1: 2.4, 1.1 times the URDF's is 2.3925"),
    "effort": (13.0, "safety.effort of panda_joint5: 13, the URDF's is 12"),
    "effort_rate": (1001.0, "safety.effort_rate of panda_joint1: 1001, the profile's is 1000"),
    "velocity_jump": (2.3, "safety.velocity_jump of panda_joint1: 2.3, the URDF's velocity is 2.175"),
    "braking_deceleration": (21.0, "safety.braking_deceleration of panda_joint1: 21, what man"),
    "tool_speed": (1.8, "safety.tool_speed: 1.8, the default is 1.7"),
    "contact_force": (141.0, "safety.contact_force: 141, the default is 140"),
    "impact_energy": (2.6, "safety.impact_energy: 2.6, the default is 2.5"),
    "impact_overrun": (0.2, "safety.impact_overrun: 0.2, the default is 0.1"),
    "impact_lead": (0.3, "safety.impact_lead: 0.3, the default is 0.1"),
}  # fmt: skip


@pytest.mark.parametrize("name", LOOSENED)
def test_a_loosened_limit_is_named(name):
    value, phrase = LOOSENED[name]
    robot = RobotModel.from_profile("panda")
    limits = SafetyLimits.of(robot, **{name: value})
    found = limits.loosened(robot)
    assert len(found) == 1 and found[0].startswith(phrase)
