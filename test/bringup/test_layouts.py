"""Layouts for Foxglove and PlotJuggler: each topic comes from the nodes, each field is one of its message."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from graph_topics import TOPICS

from impact_aware.report.run_figure import JOINT_COLORS
from impact_aware.robot import load_profile
from impact_aware.ros.messages import message_class

ROOT = Path(__file__).resolve().parents[2]
JOINTS = load_profile("panda").joint_names


def foxglove(name: str) -> dict[str, Any]:
    return json.loads((ROOT / "config" / "layouts" / f"{name}.foxglove.json").read_text())


def plotjuggler(name: str) -> list[dict[str, str]]:
    root = ElementTree.parse(ROOT / "config" / "layouts" / f"{name}.plotjuggler.xml").getroot()
    return [curve.attrib for curve in root.iterfind(".//curve")]


def paths(layout: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Every path that a panel shows, with its colour."""
    for panel in layout["configById"].values():
        for entry in panel.get("paths", ()):
            yield entry["value"], entry.get("color", "")


def check_field(kind: str, words: list[str], where: str) -> None:
    """Follow the names of fields down to a number."""
    for word in words:
        assert "/" in kind, f"{where}: {word} of {kind}"
        fields = message_class(
            kind.replace("/", "/msg/") if kind.count("/") == 1 else kind
        ).get_fields_and_field_types()
        name = re.sub(r"\[\d+\]$", "", word)
        assert name in fields, f"{where}: {name} is no field of {kind}, which has {', '.join(fields)}"
        kind = fields[name]
        if kind.startswith("sequence<") or kind.endswith("]"):
            assert word != name, f"{where}: {word} is a list"
            kind = re.sub(r"^sequence<([^,>]*).*|\[.*$", r"\1", kind)
        else:
            assert word == name, f"{where}: {word} is no list"
    assert "/" not in kind and kind != "string", f"{where} is no number but {kind}"


@pytest.mark.parametrize("name", TOPICS)
def test_every_path_of_foxglove_is_a_number_that_a_node_publishes(name: str) -> None:
    seen = 0
    for path, _ in paths(foxglove(name)):
        found = re.fullmatch(r"(?P<topic>/[a-z_/]+)(\{(?P<field>\w+)==[^}]+\})?\.(?P<rest>.+)", path)
        assert found, path
        kind = TOPICS[name][found["topic"]]
        check_field(kind, found["rest"].split("."), path)
        if found["field"]:
            assert found["field"] in message_class(kind).get_fields_and_field_types(), path
        seen += 1
    assert seen > 20


@pytest.mark.parametrize("name", TOPICS)
def test_every_curve_of_plotjuggler_is_a_number_that_a_node_publishes(name: str) -> None:
    curves = plotjuggler(name)
    assert len(curves) > 20
    for curve in curves:
        topic = max((own for own in TOPICS[name] if curve["name"].startswith(f"{own}/")), key=len, default="")
        assert topic, f"{curve['name']}: no node publishes this"
        rest = curve["name"].removeprefix(f"{topic}/").split("/")
        if TOPICS[name][topic].endswith("JointState"):
            # PlotJuggler shows these by the names of the joints.
            assert rest[0] in JOINTS and rest[1:] == ["velocity"], curve["name"]
        else:
            check_field(TOPICS[name][topic], rest, curve["name"])


@pytest.mark.parametrize("name", TOPICS)
def test_panels_show_topics_of_the_graph_and_each_panel_has_its_place(name: str) -> None:
    layout = foxglove(name)
    for panel in layout["configById"].values():
        for topic in filter(None, (panel.get("topicPath"), panel.get("topicToRender"), *panel.get("topics", {}))):
            assert topic in TOPICS[name], topic
        for layer in panel.get("layers", {}).values():
            assert layer.get("topic") in (None, *TOPICS[name])

    def leaves(node: Any) -> list[str]:
        return [node] if isinstance(node, str) else leaves(node["first"]) + leaves(node["second"])

    assert sorted(leaves(layout["layout"])) == sorted(layout["configById"])


@pytest.mark.parametrize("name", TOPICS)
def test_joints_have_the_colours_of_the_figures(name: str) -> None:
    for path, color in [*paths(foxglove(name)), *((own["name"], own["color"]) for own in plotjuggler(name))]:
        joint = re.search(r"(?:velocity|velocity_after|data)\[(\d)\]$", path)
        named = re.search(r"panda_joint(\d)/velocity$", path)
        if joint or named:
            assert color == JOINT_COLORS[int(joint[1]) if joint else int(named[1]) - 1], path
