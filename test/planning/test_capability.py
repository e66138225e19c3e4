"""How fast an arm may hit: against the impact law, limit by limit, and over a table."""

import dataclasses

import numpy as np
import pytest

import impact_aware as ia
from impact_aware.planning import arm_map as arm_map_module
from impact_aware.planning.arm_map import arm_map
from impact_aware.planning.capability import capability
from impact_aware.robot.profile import load_profile
from impact_aware.task.make_field import joint_velocity_of_tool

ROBOT = ia.RobotModel.from_profile("panda")
Q = np.array([0.4, 0.1, -0.2, -2.4, -1.39, 1.48, 0.2])
NORMAL = np.array([0.36, 0.8, -0.48])


def test_jump_and_mass_are_those_of_a_central_hit_without_friction():
    able = capability(ROBOT, Q, NORMAL, 1.7)
    jacobian = ROBOT.frame_jacobian(Q)
    dq = np.linalg.lstsq(jacobian, np.append(-NORMAL, np.zeros(3)), rcond=None)[0]
    point = ROBOT.placement(Q).translation - 0.07 * NORMAL
    contact = ia.Contact(ROBOT.tool_frame, NORMAL)
    body = ia.FreeObject(mass=1.7, position=point, inertia=np.eye(3))
    # The tool's centre in place of its surface: the line of the hit is the same.
    found = ia.predict(ROBOT, Q, dq, dataclasses.replace(contact, radius=0.0), obstacle=body, method="frictionless")
    assert able.effective_mass == pytest.approx(found.effective_mass, rel=1e-9)
    assert able.jump == pytest.approx(np.linalg.norm(found.velocity_after - dq), rel=1e-9)


@pytest.mark.parametrize(
    ("name", "limit", "grows"), [("impact_energy", 0.1, 2), ("velocity_jump", 0.1, 1), ("tool_speed", 0.1, 1)]
)
def test_the_speed_keeps_the_limit_that_is_reached_first(name, limit, grows):
    profile = load_profile("panda")
    able, looser = (
        capability(ia.RobotModel.from_profile(dataclasses.replace(profile, safety=safety)), Q, NORMAL, 1.7)
        for safety in (profile.safety | {name: limit}, profile.safety | {name: 1.44 * limit})
    )
    assert able.limit == looser.limit == name
    assert looser.speed / able.speed == pytest.approx(1.44 if grows == 1 else 1.2)
    if name == "impact_energy":
        assert able.speed == pytest.approx(np.sqrt(2.0 * limit / able.effective_mass))
    if name == "tool_speed":
        assert able.speed == pytest.approx(limit)


def test_a_held_joint_rests_before_the_hit():
    arm, found = ia.load_task("hit_and_push_palm").arms[0], 0
    for side in np.linspace(0.0, 2.0 * np.pi, 16):
        normal = np.array([np.cos(side), np.sin(side), 0.0])
        able = capability(ROBOT, Q, normal, 1.7, arm.null_space_joint)
        dq = joint_velocity_of_tool(arm, ROBOT, Q, -normal)
        fastest = 1.0 / np.max(np.abs(dq) / ROBOT.limits.velocity)
        assert able.speed <= fastest * (1.0 + 1e-9)
        if able.limit == "velocity_before":
            found += 1
            assert able.speed == pytest.approx(fastest)
    assert found > 3


def test_the_map_follows_the_base_and_leaves_out_what_is_out_of_reach():
    task = ia.load_task("hit_and_push_palm")
    yaw, place = 0.7, np.array([0.3, -0.2, 0.0])
    (arm,) = task.arms
    moved = dataclasses.replace(task, arms=(dataclasses.replace(arm, base_position=tuple(place), base_yaw=yaw),))
    points = arm_map(moved, ROBOT, spacing=0.3, directions=3)
    assert points and all(0.2 <= np.hypot(*(point.position - place)[:2]) <= 0.9 for point in points)
    assert {round(float(point.position[2]), 6) for point in points} == {0.3}
    # The arm's posture turns with its base: the best of a point is a hit that the arm can do.
    best = max(points, key=lambda point: point.best.speed)
    assert 0.3 < best.best.speed < 1.7 and 2.0 < best.best.effective_mass < 15.0


def test_the_map_leaves_out_points_where_a_link_would_touch_the_table(monkeypatch):
    task = ia.load_task("hit_and_push_palm")
    clear = {tuple(point.position) for point in arm_map(task, ROBOT, spacing=0.3, directions=3)}
    monkeypatch.setattr(arm_map_module, "is_clear", lambda *_: True)
    reached = {tuple(point.position) for point in arm_map(task, ROBOT, spacing=0.3, directions=3)}
    assert clear < reached
    # Right in front of the base and low over the table, the forearm is in the way; farther out it is not.
    assert any(np.hypot(x, y) > 0.5 for x, y, _ in clear)
