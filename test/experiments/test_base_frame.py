"""The same arm in the same place, seen from another base: nothing that happens changes.

The base frame of an arm is a matter of its URDF, so a link bolted to its base, shifted and tilted, is as good a base.
All that is computed in base axes, gravity, Jacobians, normals, the object's place, predictions, the simulated arm,
becomes other numbers, and the run must come out the same: what tilting world, gravity and table together would show.
"""

import dataclasses

import numpy as np
import pinocchio as pin
import pytest
import yaml

from impact_aware.experiments.episode import EpisodeSettings, run_episode
from impact_aware.resources import find_resource
from impact_aware.robot import load_profile
from impact_aware.task import base_placement, load_task, make_field, start_posture
from impact_aware.task.arms import placed_on, robots_of_task
from impact_aware.task.grasp import predict_grasp_impact

LINKS = [
    pin.SE3(pin.rpy.rpyToMatrix(0.5, -0.35, 0.8), np.array([0.11, -0.07, 0.23])),
    pin.SE3(pin.rpy.rpyToMatrix(-0.3, 0.6, -1.1), np.array([-0.05, 0.13, -0.31])),
]
"""Of each arm: the link that is called its base, in the one that was."""

NOISE = 1e-9
"""What rounding may come to in a run, over 1 rad, rad/s, m; seen are 1e-13, and 5e-13 of 100 N m."""


def profile(folder, name: str, link: pin.SE3 | None) -> str:
    """The Panda with this link for a base; without the limits of a workspace, whose axes are those of the base."""
    content = yaml.safe_load(find_resource("config", "robots", "panda.yaml").read_text())
    urdf = load_profile("panda").urdf.read_text()
    for limit in ("workspace_lower", "workspace_upper"):
        del content["safety"][limit]
    if link is not None:
        place, angles = (
            " ".join(map(repr, v.tolist())) for v in (link.translation, pin.rpy.matrixToRpy(link.rotation))
        )
        joint = f'<parent link="panda_link0"/><child link="bolted"/><origin xyz="{place}" rpy="{angles}"/>'
        bolted = f'<link name="bolted"/><joint name="bolts" type="fixed">{joint}</joint>'
        urdf = urdf.replace("</robot>", f"{bolted}</robot>")
        content["base_frame"] = "bolted"
    (folder / f"{name}.urdf").write_text(urdf)
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump(content | {"urdf": f"{name}.urdf"}))
    return str(path)


@pytest.fixture(scope="module", params=["dual_arm_grab_tilted", "hit_and_push"])
def tasks(request, tmp_path_factory):
    """A task, and the same one with bases elsewhere on the same arms."""
    folder = tmp_path_factory.mktemp("robots")
    task = load_task(request.param)
    plain = profile(folder, "plain", None)
    one = tuple(dataclasses.replace(arm, robot=plain) for arm in task.arms)
    other = tuple(
        dataclasses.replace(placed_on(arm, base_placement(arm) * link), robot=profile(folder, f"arm{index}", link))
        for index, (arm, link) in enumerate(zip(task.arms, LINKS, strict=False))
    )
    return tuple(dataclasses.replace(task, arms=arms, frame="world") for arms in (one, other))


@pytest.fixture(scope="module")
def runs(tasks):
    """Both, from the start to well after the impact."""
    # The detector of a single arm knows the arm's dynamics, and takes what is no gravity for a contact.
    detector = "momentum_observer" if len(tasks[0].arms) == 1 else "adaptive_window"
    return [run_episode(task, EpisodeSettings(duration=1.1, detector=detector)) for task in tasks]


@pytest.mark.slow
def test_the_whole_run_is_the_same(runs):
    one, other = runs
    assert len(one.impacts) >= len(one.task.arms) and one.safe_reason is None
    assert np.ptp(one.mode) > 0
    np.testing.assert_array_equal(other.mode, one.mode)
    for name in ("q", "dq", "tool_position", "tool_twist", "object_position", "object_twist"):
        np.testing.assert_allclose(getattr(other, name), getattr(one, name), atol=NOISE, err_msg=name)
    # Some 100 N m and m/s^2.
    for name in ("effort", "target_acceleration"):
        np.testing.assert_allclose(getattr(other, name), getattr(one, name), atol=100.0 * NOISE, err_msg=name)


@pytest.mark.slow
def test_detections_and_predictions_are_the_same(runs):
    one, other = runs
    assert one.events and one.predictions
    for (arm, event), (again, same) in zip(one.events, other.events, strict=True):
        assert arm == again
        assert same.time == pytest.approx(event.time, abs=NOISE)
    # Contact solvers stop at 1e-9 of the impulses.
    for (_, predicted), (_, same) in zip(one.predictions, other.predictions, strict=True):
        np.testing.assert_allclose(same, predicted, atol=1e-6)
    np.testing.assert_allclose(other.object_velocities, one.object_velocities, atol=1e-6)


def test_the_common_impact_of_the_task_is_the_same(tasks):
    """From one posture each, with velocities beside the wanted ones, in which nothing is symmetric."""
    beside = [np.linspace(-0.3, 0.5, 7), np.array([0.2, -0.4, 0.1, 0.3, -0.2, 0.15, -0.35])]
    q, dq = [], []
    for arm, robot, more in zip(tasks[0].arms, robots_of_task(tasks[0]), beside, strict=False):
        q.append(start_posture(arm, robot))
        wanted = base_placement(arm).rotation.T @ np.asarray(arm.impact_velocity)
        dq.append(np.linalg.pinv(robot.frame_jacobian(q[-1])[:3]) @ wanted + more)
    found = []
    for task in tasks:
        robots = robots_of_task(task)
        found.append(predict_grasp_impact(task, robots, make_field(task, robots), q, dq))
    assert np.abs(found[0].impulse).max() > 0.2
    for name in (*(arm.name for arm in tasks[0].arms), tasks[0].object.name):
        np.testing.assert_allclose(found[1].velocity_after[name], found[0].velocity_after[name], atol=1e-6)
