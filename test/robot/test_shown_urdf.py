"""The robot that RViz is given: no link without a transform, no mesh without a place, and the tool that touches."""

import dataclasses
from pathlib import Path
from urllib.parse import unquote, urlparse
from xml.etree import ElementTree

import numpy as np
import pinocchio as pin
import pytest

from impact_aware.robot import RobotModel, load_profile
from impact_aware.robot.profile import profile_names
from impact_aware.robot.shown_urdf import shown_urdf


@pytest.mark.parametrize("name", profile_names())
def test_every_link_has_a_transform(name: str) -> None:
    profile = load_profile(name)
    text = shown_urdf(profile)
    robot = ElementTree.fromstring(text)
    moving = [joint.get("name") for joint in robot.iterfind("joint") if joint.get("type") != "fixed"]
    assert sorted(map(str, moving)) == sorted(profile.joint_names)
    assert not robot.findall(".//mesh")  # A pip installation has no package of robot descriptions.


def test_a_mesh_of_an_installed_package_is_named_by_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mesh = tmp_path / "share" / "my_arm" / "link 0.stl"
    mesh.parent.mkdir(parents=True)
    mesh.touch()
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path))
    profile = load_profile("panda")
    urdf = tmp_path / "panda.urdf"
    body = profile.urdf.read_text(encoding="utf-8")
    for name, shape in (
        ("link 0", '<cylinder radius="0.09" length="0.14"/>'),
        ("link9", '<box size="0.12 0.16 0.1"/>'),
    ):
        body = body.replace(shape, f'<mesh filename="package://my_arm/{name}.stl"/>')
    urdf.write_text(body, encoding="utf-8")
    robot = ElementTree.fromstring(shown_urdf(dataclasses.replace(profile, urdf=urdf)))
    names = {str(found.get("filename")) for found in robot.iterfind(".//mesh")}
    assert "package://my_arm/link9.stl" in names
    [file] = [urlparse(name) for name in names if name.startswith("file:")]
    assert Path(unquote(file.path)) == mesh


def test_the_tool_is_drawn_where_the_model_has_it() -> None:
    profile = load_profile("panda")
    robot = RobotModel.from_profile("panda")
    text = shown_urdf(profile)
    model = pin.buildModelFromXML(text)
    data = model.createData()
    q = np.array([0.3, -0.4, 0.2, -1.9, 0.4, 1.5, 0.6])
    pin.framesForwardKinematics(model, data, q)
    shown = data.oMf[model.getFrameId("tool")]
    np.testing.assert_allclose(shown.translation, robot.placement(q).translation, atol=1e-12)
    np.testing.assert_allclose(shown.rotation, robot.placement(q).rotation, atol=1e-12)
    link = ElementTree.fromstring(text).find("link[@name='tool']/visual/geometry/sphere")
    assert link is not None and link.get("radius") == "0.03"


def test_a_palm_is_drawn_instead_of_the_tip() -> None:
    text = shown_urdf(load_profile("panda"), (0.04, 0.05, 0.03))
    geometry = ElementTree.fromstring(text).find("link[@name='tool']/visual/geometry")
    assert geometry is not None
    assert [(shape.tag, shape.get("size")) for shape in geometry] == [("box", "0.08 0.1 0.06")]
