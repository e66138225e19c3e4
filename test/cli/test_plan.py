"""`impact-aware plan`: what it prints and leaves behind, what it refuses, and the map."""

import json
from pathlib import Path

import numpy as np
import pytest

from impact_aware.bags.bag import Bag
from impact_aware.cli import plan as command_module
from impact_aware.task import load_task, make_field
from impact_aware.task.arms import robots_of_task


def test_a_plan_is_a_task_file_a_picture_and_its_numbers(command, tmp_path):
    out = tmp_path / "plan"
    words = ("--slide", "0.0", "-0.03", "--set", "{object: {mass: 1.4, position: [0.46, -0.08, 0.3]}}")
    status, printed, _ = command("plan", "hit_and_push_palm", *words, "--json", "--out", out)
    made, task = json.loads(printed), load_task(out / "task.yaml")
    assert status == 0 and json.loads((out / "plan.json").read_text()) == made
    assert made["infeasible"] is None and 0.3 < made["probability"] <= 1.0 and len(made["alternatives"]) == 3
    others = [other["probability"] for other in made["alternatives"]]
    assert others == sorted(others, reverse=True) and others[0] > others[-1]
    np.testing.assert_allclose(made["result"], [0.0, -0.03], atol=2e-3)
    assert task.object.mass == 1.4 and task.object.position == (0.46, -0.08, 0.3)
    np.testing.assert_allclose(task.goal, [0.46, -0.11, 0.3], atol=1e-3)
    field = make_field(task, robots_of_task(task))
    np.testing.assert_allclose(field.arms[0].impact_velocity, made["arms"][0]["velocity"], atol=1e-9)
    assert (out / "plan.png").read_bytes().startswith(b"\x89PNG")


def test_the_scene_of_the_page_needs_no_goal_speed_start_or_posture(command, refused, tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "planning.md").read_text()
    scene = tmp_path / "scene.yaml"
    stated = page.split("```yaml\n")[1].split("```")[0]
    scene.write_text(stated.replace("-0.05]}", "-0.05], tolerance: 0.2}"))
    status, printed, _ = command("plan", scene, "--tolerance", 0.1, "--json", "--out", tmp_path / "plan")
    wanted = json.loads(printed)["wanted"]
    assert status == 0 and wanted["slide"] == [0.02, -0.05] and wanted["tolerance"] == 0.1
    status, printed, _ = command("plan", scene, "--velocity", 0, -0.2, 0, "--json", "--out", tmp_path / "other")
    assert status == 0 and json.loads(printed)["wanted"]["velocity"] == [0.0, -0.2, 0.0]
    # Its own start is none that the arm reaches: the plan's is.
    message = refused("demo", "hit-and-push", "--task-file", scene, "--out", tmp_path / "demo")
    assert message.endswith(f"impact-aware plan {scene} plans it\n")


def test_an_infeasible_result_ends_with_status_1_its_reason_and_the_nearest_plan(command, tmp_path):
    status, printed, noted = command("plan", "hit_and_push_palm", "--slide", 0, -2, "--out", tmp_path / "plan")
    assert status == 1 and "probability" in printed
    assert noted.startswith("note: the wanted result is infeasible, the nearest ") and noted.count("\n") == 1
    assert load_task(tmp_path / "plan" / "task.yaml").fields.release


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), "one of velocity, slide and goal"),
        (("--slide", "0.1", "0", "--goal", "0", "0", "0"), "one of velocity, slide and goal"),
        (("--slide", "0.1", "0", "--mass-std", "2"), "--mass-std"),
        (("--slide", "0.1", "0", "--set", "[1"), "--set"),
        (("--slide", "0.1", "0", "--object", "brick"), "brick"),
        (("--slide", "0.1", "0", "--map"), "--map has no result"),
    ],
)
def test_mistakes_are_answered_in_one_line(refused, tmp_path, words, expected):
    assert expected in refused("plan", "hit_and_push_palm", *words, "--out", tmp_path / "plan")
    assert not (tmp_path / "plan").exists()


def test_the_map_is_a_figure_a_table_and_a_recording_for_rviz(command, tmp_path, monkeypatch):
    monkeypatch.setattr(command_module, "SPACING", 0.3)
    monkeypatch.setattr(command_module, "DIRECTIONS", 2)
    status, printed, _ = command("plan", "hit_and_push_palm", "--map", "--json", "--out", tmp_path / "map")
    made = json.loads(printed)
    rows = [line.split(",") for line in (tmp_path / "map" / "map.csv").read_text().splitlines()]
    speeds = [float(row[5]) for row in rows[1:]]
    assert status == 0 and len(speeds) == made["points"] > 10 and max(speeds) == pytest.approx(made["speed"], rel=1e-4)
    assert (tmp_path / "map" / "map.png").read_bytes().startswith(b"\x89PNG")
    with Bag(tmp_path / "map" / "map_markers") as bag:
        ((_, message),) = list(bag.messages("/arm_map"))
    lines = sum(len(marker.points) for marker in message.markers)
    assert lines == 2 * made["points"] and {marker.header.frame_id for marker in message.markers} == {"panda_link0"}
