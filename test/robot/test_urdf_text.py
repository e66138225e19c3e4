"""Robot descriptions of strangers: bounded, never a path, and tried where a crash costs nothing."""

import os
import re
import signal
from pathlib import Path

import pinocchio as pin
import pytest

from impact_aware.errors import InvalidInputError
from impact_aware.robot import RobotModel
from impact_aware.robot import urdf_text as module
from impact_aware.robot.profile import Tool
from impact_aware.robot.urdf_text import DEEPEST, LARGEST, MOST_LINKS, build_model, try_foreign_urdf, urdf_tree

INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'


def chain(count):
    links = "".join(f'<link name="l{i}">{INERTIAL}</link>' for i in range(count + 1))
    joints = "".join(
        f'<joint name="j{i}" type="revolute"><parent link="l{i}"/><child link="l{i + 1}"/><axis xyz="0 0 1"/>'
        f'<limit lower="-1" upper="1" velocity="1" effort="1"/></joint>'
        for i in range(count)
    )
    return f'<robot name="chain">{links}{joints}</robot>'


ATTRIBUTES = " ".join(f'a{i}="1"' for i in range(100_000))

REFUSED = {
    "8000 links": (chain(8000), "links or joints"),
    "deep elements": ('<robot name="a">' + "<b>" * 100_000, "levels"),
    "many elements": ('<robot name="a">' + "<b/>" * 60_000 + "</robot>", "elements"),
    "entities": ('<!DOCTYPE r [<!ENTITY a "b">]><robot name="&a;"/>', "document type"),
    "too long": ("<robot>" + "x" * LARGEST, "at most"),
    "a path": ("/dev/zero", "a valid URDF"),
    "a path of a URDF": (str(Path(__file__).parents[2] / "config" / "robots" / "fr3.urdf"), "a valid URDF"),
    "a zero byte": ("<robot>\0</robot>", "a valid URDF"),
    "half a character": ("<robot name='\ud800'/>", "a valid URDF"),
    "empty": ("", "a valid URDF"),
    "another element": ("<sdf/>", "not robot"),
    "no joints' ends": ('<robot name="a"><link name="b"/><joint name="c" type="fixed"/></robot>', "a valid URDF"),
    "100 000 attributes": (f"<robot {ATTRIBUTES}/>", "50 attributes"),
}


@pytest.mark.parametrize(("text", "word"), REFUSED.values(), ids=REFUSED.keys())
def test_a_bad_text_is_refused_in_one_line(text, word):
    with pytest.raises(InvalidInputError, match=word) as caught:
        RobotModel.from_urdf(text)
    assert str(caught.value).isprintable() and len(str(caught.value)) < 500


NO_TREES = {
    "two roots": (chain(2).replace('<link name="l1">', '<link name="l9"/><link name="l1">'), "child, not l0, l9"),
    "a link twice": (chain(2).replace('name="l2"', 'name="l1"'), "two links of the name 'l1'"),
    "a joint twice": (chain(2).replace('name="j1"', 'name="j0"'), "two joints of the name 'j0'"),
    "a ring": (
        chain(2).replace('name="l0"', 'name="x"', 1).replace('<parent link="l0"', '<parent link="l2"'),
        "l1, l2 are in a ring",
    ),
    "two parents": (
        chain(3).replace('<child link="l1"', '<child link="l3"'),
        "link 'l3' is the child of two joints, j0 and j2",
    ),
    "a type that is none": (chain(2).replace('"revolute"', '"turning"', 1), "joint 'j0' is of the type 'turning'"),
    "no limit": (re.sub("<limit[^>]*/>", "", chain(1)), "joint 'j0' has no limit"),
    "no parent": (chain(2).replace('<parent link="l1"/>', ""), "joint 'j1' has no link '' as its parent"),
}


@pytest.mark.parametrize(("text", "word"), NO_TREES.values(), ids=NO_TREES.keys())
def test_links_that_are_no_tree_are_refused_before_the_library_prints_about_them(capfd, text, word):
    with pytest.raises(InvalidInputError, match=word):
        RobotModel.from_urdf(text)
    assert capfd.readouterr() == ("", "")


UNREAD = [
    ('<mass value="1"/>', '<mass value="2,5"/>', "link l2: mass value: got '2,5', expected a number"),
    ('<mass value="1"/>', '<mass value="1_0"/>', "link l2: mass value: got '1_0'"),
    ('<mass value="1"/>', '<mass value="\u0663"/>', "link l2: mass value"),
    ('<mass value="1"/>', '<mass value="1e400"/>', "link l2: mass value"),
    ('<mass value="1"/>', '<mass value="nan"/>', "link l2: mass value"),
    ('<mass value="1"/>', '<mass value="-1"/>', "link l2: mass: got -1 kg"),
    ('<mass value="1"/>', "<mass/>", "link l2: got mass without value"),
    ('<mass value="1"/>', "", "link l2: got inertial without mass"),
    (' ixz="0"', "", "link l2: got inertia without ixz"),
    (' ixx="1"', ' ixx="0x1"', "link l2: inertia ixx: got '0x1'"),
    ("<inertial>", '<inertial><origin xyz="0 0"/>', "link l2: origin xyz: got '0 0', expected 3 numbers"),
    ("</inertial>", '</inertial><collision><geometry><sphere radius="1,0"/></geometry></collision>', "sphere radius"),
    ('<axis xyz="0 0 1"/>', '<axis xyz="0 0 z"/>', "joint j1: axis xyz"),
    ('<axis xyz="0 0 1"/>', '<axis xyz="0 0 0"/>', "joint j1: axis: got 0 0 0, expected a vector that is not of zero"),
    ('<axis xyz="0 0 1"/>', '<axis xyz="0 0 1e200"/>', "joint j1: axis xyz: got 0 0 1e200, expected at most 1e+12"),
    ('<mass value="1"/>', '<mass value="1e300"/>', "link l2: mass value: got 1e300"),
    (' velocity="1"', "", "joint j1: got limit without velocity"),
    ('lower="-1"', 'lower=""', "joint j1: limit lower: got ''"),
]


@pytest.mark.parametrize(("whole", "broken", "words"), UNREAD, ids=[words for _, _, words in UNREAD])
def test_a_number_that_the_parser_would_leave_out_is_refused_by_link_and_attribute(capfd, whole, broken, words):
    """Pinocchio's parser drops the inertia of the whole link or its shape, and goes on."""
    text = chain(2)
    place = text.rindex(whole)
    with pytest.raises(InvalidInputError) as caught:
        RobotModel.from_urdf(text[:place] + broken + text[place + len(whole) :])
    assert words in str(caught.value) and capfd.readouterr() == ("", "")


@pytest.mark.parametrize("spelling", ["2.5 ", "2.5\n", "\t2.5", "+2.5", "25e-1"])
def test_a_number_with_blanks_around_it_counts(spelling):
    text = chain(1).replace('<mass value="1"/>', f'<mass value="{spelling}"/>')
    assert build_model(text).inertias[1].mass == 2.5


def test_a_fixed_joint_may_have_an_axis_of_zeros():
    fixed = '<link name="tip"/><joint name="f" type="fixed"><parent link="l2"/><child link="tip"/>'
    fixed += '<axis xyz="0 0 0"/></joint>'
    assert RobotModel.from_urdf(chain(2).replace("</robot>", f"{fixed}</robot>")).n == 2


def test_a_link_that_moves_without_mass_is_named():
    text = chain(2)
    bare = text[: text.rindex("<inertial>")] + text[text.rindex("</inertial>") + 11 :]
    with pytest.raises(InvalidInputError, match="link l2: got no mass or inertia that j1 moves, expected an inertial"):
        RobotModel.from_urdf(bare)
    assert RobotModel.from_urdf(bare, apparent_motor_inertia=[0.1, 0.1]).n == 2


def test_the_longest_chain_that_is_accepted_can_be_parsed():
    assert build_model(chain(MOST_LINKS - 1)).nv == MOST_LINKS - 1
    with pytest.raises(InvalidInputError, match=f"{MOST_LINKS} at most"):
        urdf_tree(chain(MOST_LINKS))
    nested = "<x>" * (DEEPEST - 1) + "</x>" * (DEEPEST - 1)
    urdf_tree(f'<robot name="a"><link name="b"/>{nested}</robot>')


def test_an_arm_has_a_bounded_number_of_joints():
    with pytest.raises(InvalidInputError, match="65 movable joints, expected 64 at most"):
        RobotModel.from_urdf(chain(65))
    assert RobotModel.from_urdf(chain(65), joint_names=("j0", "j1")).n == 2


def test_a_foreign_text_is_tried_in_a_copy_of_the_process(monkeypatch):
    try_foreign_urdf(chain(3))
    with pytest.raises(InvalidInputError, match=r"^urdf: got .*expected a valid URDF"):
        try_foreign_urdf('<robot name="a"><link name="b"/><joint name="c" type="fixed"/></robot>')

    def crash(text):
        os.kill(os.getpid(), signal.SIGSEGV)

    for end in (crash, lambda text: bytearray(2 * module.MOST_MEMORY)):
        monkeypatch.setattr(module, "build_model", end)
        with pytest.raises(InvalidInputError, match="which its parser survives"):
            try_foreign_urdf(chain(3))


def test_a_file_that_is_none_is_not_opened(tmp_path):
    os.mkfifo(tmp_path / "arm.urdf")
    for path in (tmp_path / "arm.urdf", Path("/dev/zero"), tmp_path, tmp_path / "none.urdf"):
        with pytest.raises(InvalidInputError, match="urdf"):
            RobotModel.from_urdf(path)


def test_a_joint_may_have_the_name_of_a_link() -> None:
    """URDF names both apart. A frame of that name is the link's: for the tip, a tool's mount and the base."""
    text = chain(2).replace('name="j1"', 'name="l1"').replace('name="j0"', 'name="l0"')
    plain, named = (RobotModel.from_urdf(urdf, tool_frame="l1", base_frame="l0") for urdf in (chain(2), text))
    assert named.model.frames[named.tool_frame_id].type == pin.FrameType.BODY
    assert named.model.frames[named.tool_frame_id].name == "l1"
    assert named.frame_jacobian(named.home) == pytest.approx(plain.frame_jacobian(plain.home))
    tool = Tool(mount_frame="l1", mass=0.5, position=(0.0, 0.1, 0.0))
    plain, named = (RobotModel.from_urdf(urdf, tool=tool) for urdf in (chain(2), text))
    assert named.mass_matrix(named.home, "M") == pytest.approx(plain.mass_matrix(plain.home, "M"))
