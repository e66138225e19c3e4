"""Robot descriptions of strangers: bounded, never a path, and tried where a crash costs nothing."""

import os
from pathlib import Path

import pytest

from impact_aware.errors import ImpactAwareError, InvalidInputError
from impact_aware.robot import RobotModel
from impact_aware.robot import urdf_text as module
from impact_aware.robot.urdf_text import DEEPEST, LARGEST, MOST_LINKS, build_model, check_urdf, try_foreign_urdf

INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'


def chain(count):
    links = "".join(f'<link name="l{i}">{INERTIAL}</link>' for i in range(count + 1))
    joints = "".join(
        f'<joint name="j{i}" type="revolute"><parent link="l{i}"/><child link="l{i + 1}"/><axis xyz="0 0 1"/>'
        f'<limit lower="-1" upper="1" velocity="1" effort="1"/></joint>'
        for i in range(count)
    )
    return f'<robot name="chain">{links}{joints}</robot>'


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
    "a ring": ('<robot name="r"><link name="a"/><joint name="j"><child link="a"/></joint></robot>', "child, not none"),
}


@pytest.mark.parametrize(("text", "word"), NO_TREES.values(), ids=NO_TREES.keys())
def test_links_that_are_no_tree_are_refused_before_the_library_prints_about_them(capfd, text, word):
    with pytest.raises(InvalidInputError, match=word):
        RobotModel.from_urdf(text)
    assert capfd.readouterr() == ("", "")


def test_the_longest_chain_that_is_accepted_can_be_parsed():
    assert build_model(chain(MOST_LINKS - 1)).nv == MOST_LINKS - 1
    with pytest.raises(InvalidInputError, match=f"{MOST_LINKS} at most"):
        check_urdf(chain(MOST_LINKS))
    nested = "<x>" * (DEEPEST - 1) + "</x>" * (DEEPEST - 1)
    check_urdf(f'<robot name="a"><link name="b"/>{nested}</robot>')


def test_an_arm_has_a_bounded_number_of_joints():
    with pytest.raises(InvalidInputError, match="65 movable joints, expected 64 at most"):
        RobotModel.from_urdf(chain(65))
    assert RobotModel.from_urdf(chain(65), joint_names=("j0", "j1")).n == 2


@pytest.mark.slow
def test_a_foreign_text_is_tried_in_another_process(monkeypatch):
    try_foreign_urdf(chain(3))
    with pytest.raises(ImpactAwareError, match=r"^urdf: got .*expected a valid URDF"):
        try_foreign_urdf('<robot name="a"><link name="b"/><joint name="c" type="fixed"/></robot>')
    # Its end by a signal is what a crash of the parser looks like from here.
    crashing = module.sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"
    monkeypatch.setattr(module, "TRIAL", crashing)
    with pytest.raises(ImpactAwareError, match="its parser ended with signal 11"):
        try_foreign_urdf(chain(3))
    monkeypatch.setattr(module, "TRIAL", (module.sys.executable, "-c", "import time; time.sleep(60)"))
    monkeypatch.setattr(module, "CHILD_PATIENCE", 0.3)
    with pytest.raises(ImpactAwareError, match="were not parsed within 0.3 s"):
        try_foreign_urdf(chain(3))


def test_a_file_that_is_none_is_not_opened(tmp_path):
    os.mkfifo(tmp_path / "arm.urdf")
    for path in (tmp_path / "arm.urdf", Path("/dev/zero"), tmp_path, tmp_path / "none.urdf"):
        with pytest.raises(InvalidInputError, match="urdf"):
            RobotModel.from_urdf(path)
