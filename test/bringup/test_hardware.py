"""Drivers of arms as data: what ships agrees with the profiles and controllers, and a malformed one is refused."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import yaml

from impact_aware.bringup.command_path import COMMAND_TOPICS, RELAYS
from impact_aware.bringup.graph import (
    DualArmOptions,
    SingleArmOptions,
    dual_arm_graph,
    single_arm_graph,
)
from impact_aware.bringup.hardware import Hardware, load_hardware
from impact_aware.bringup.node_spec import NodeSpec
from impact_aware.errors import InvalidInputError, UnknownNameError
from impact_aware.resources import resource_names
from impact_aware.robot import load_profile
from impact_aware.robot.profile import EFFORT_KINDS

ROOT = Path(__file__).resolve().parents[2]
CONTROLLERS = ROOT / "config" / "ros2_control"
FORWARD = "forward_command_controller/ForwardCommandController"


def controllers(hardware: Hardware) -> dict[str, Any]:
    """Node name -> its parameters, of the file for a controller manager in any namespace."""
    content = yaml.safe_load((CONTROLLERS / hardware.controllers).read_text())
    assert list(content) == ["/**"]
    return {node: entry["ros__parameters"] for node, entry in content["/**"].items()}


def types(hardware: Hardware) -> dict[str, str]:
    """Controller -> its type, as the controller manager is told."""
    manager = controllers(hardware)["controller_manager"]
    return {name: entry["type"] for name, entry in manager.items() if isinstance(entry, dict) and "type" in entry}


CONTROLLED = [name for name in resource_names("hardware") if load_hardware(name).controllers]


def test_the_drivers_are_there_and_every_controller_file_belongs_to_one() -> None:
    drivers = ("franka", "franka_fci", "kinova", "kuka_fri", "ros2_control", "ur", "ur_torques")
    assert resource_names("hardware") == drivers
    files = {load_hardware(name).controllers for name in CONTROLLED}
    assert files == {path.name for path in CONTROLLERS.iterdir()}


@pytest.mark.parametrize("name", CONTROLLED)
def test_states_come_at_the_rate_of_the_controller_manager(name: str) -> None:
    hardware = load_hardware(name)
    period = 0.001 if hardware.period is None else hardware.period
    assert controllers(hardware)["controller_manager"]["update_rate"] == round(1.0 / period)
    assert types(hardware)["joint_state_broadcaster"] == "joint_state_broadcaster/JointStateBroadcaster"


@pytest.mark.parametrize("name", CONTROLLED)
def test_every_controller_with_parameters_is_known_to_the_manager(name: str) -> None:
    hardware = load_hardware(name)
    assert set(controllers(hardware)) - {"controller_manager"} <= set(types(hardware))


FORWARDED = [name for name in CONTROLLED if not load_hardware(name).relay]


@pytest.mark.parametrize("name", FORWARDED)
def test_commands_go_to_a_forward_controller_of_efforts(name: str) -> None:
    hardware = load_hardware(name)
    controller, _, topic = hardware.commands.partition("/")
    assert topic == "commands"
    assert types(hardware)[controller] == FORWARD
    parameters = controllers(hardware)[controller]
    assert parameters["interface_name"] == "effort"
    assert len(set(parameters["joints"])) == len(parameters["joints"])
    if hardware.robot:
        profile = load_profile(hardware.robot)
        assert tuple(parameters["joints"]) == profile.joint_names
        assert profile.joint_states_topic == hardware.joint_states


def test_a_driver_that_takes_no_efforts_alone_has_no_forward_controller() -> None:
    for name in resource_names("hardware"):
        hardware = load_hardware(name)
        assert bool(hardware.commands) != bool(hardware.no_commands)
        if hardware.controllers or not hardware.commands:
            forwarded = bool(hardware.controllers) and FORWARD in types(hardware).values()
            assert forwarded == (bool(hardware.commands) and not hardware.relay)


@pytest.mark.parametrize(("name", "kind"), [("ur", "current"), ("ur_torques", "motor_torque")])
def test_each_version_of_a_ur_driver_has_its_own_kind_of_efforts(name: str, kind: str) -> None:
    hardware = load_hardware(name)
    assert (hardware.effort_kind, hardware.command_includes_gravity, hardware.period) == (kind, False, 0.002)
    profile = dataclasses.replace(load_profile("fr3"), command_includes_gravity=False)
    for other in EFFORT_KINDS:
        given = dataclasses.replace(profile, effort_kind=other)
        if other == kind:
            hardware.check_profile(given)
            continue
        with pytest.raises(InvalidInputError, match=f"effort_kind: got {other}"):
            hardware.check_profile(given)
    whole = dataclasses.replace(profile, effort_kind=kind, command_includes_gravity=True)
    with pytest.raises(InvalidInputError, match=f"got true, expected false, as the driver of hardware {name} takes"):
        hardware.check_profile(whole)


def test_a_driver_that_takes_no_efforts_alone_has_a_relay_and_is_stopped_by_its_component() -> None:
    hardware = load_hardware("kuka_fri")
    assert hardware.relay in RELAYS and hardware.commands == f"{hardware.relay}/commands"
    assert hardware.component == "lbr_system_interface"


def test_the_arm_sets_the_pace_of_a_franka_as_in_its_own_file() -> None:
    # franka_bringup/config/controllers.yaml of franka_ros2 3.4.0
    manager = controllers(load_hardware("franka"))["controller_manager"]
    assert manager["overruns"] == {"manage": False, "print_warnings": False}
    assert manager["thread_priority"] == 98


def test_whose_torques_another_controller_takes_is_named() -> None:
    assert load_hardware("kuka_fri").controller == "lbr_torque_command_controller"
    assert load_hardware("kuka_fri").controller in types(load_hardware("kuka_fri"))


def test_what_is_not_said_is_what_holds_without_hardware(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("joint_states: states\nperiod: 0.004")
    assert load_hardware(path) == Hardware(name="mine", joint_states="states", commands="", period=0.004)
    path.write_text("joint_states: states\nperiod: 4e-3")  # which YAML 1.1 takes for text
    assert load_hardware(path).period == 0.004
    for end in (0.0001, 0.1):
        path.write_text(f"joint_states: states\nperiod: {end}")
        assert load_hardware(path).period == end
    assert (Hardware().interface, load_hardware("franka_fci").interface) == ("effort", "local_law")
    assert Hardware.commands == COMMAND_TOPICS["effort"]
    assert Hardware.joint_states == SingleArmOptions.joint_states


@pytest.mark.parametrize(
    ("content", "word"),
    [
        ("", "mapping"),
        ("- franka", "mapping"),
        ("robot: [", "YAML"),
        ("topic: states", "topic"),
        ("commands: torques", "joint_states"),
        ("joint_states: 3", "joint_states"),
        ("joint_states: my states", "joint_states"),
        ("joint_states: states\nno_commands: 3", "no_commands"),
        ("joint_states: states\neffort_kind: torque", "link_torque, motor_torque, without_gravity, current"),
        ("joint_states: states\ncommands: torques\nno_commands: none", "nothing beside no_commands"),
        ("joint_states: states\nperiod: fast", "period"),
        ("joint_states: states\nperiod: yes", "period"),
        ("joint_states: states\nperiod: 0", "period"),
        ("joint_states: states\nperiod: .nan", "period"),
        ("joint_states: states\nperiod: 0.11", "period"),
    ],
)
def test_malformed_hardware_is_refused_in_one_line(tmp_path: Path, content: str, word: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(content)
    with pytest.raises(InvalidInputError, match=word) as refusal:
        load_hardware(path)
    assert "\n" not in str(refusal.value)


def test_unknown_hardware_lists_the_known(tmp_path: Path) -> None:
    known = "franka, franka_fci, kinova, kuka_fri, ros2_control"
    with pytest.raises(UnknownNameError, match=f"hardware: got 'frank', expected one of {known}"):
        load_hardware("frank")
    with pytest.raises(InvalidInputError, match="existing file"):
        load_hardware(tmp_path / "none.yaml")


def periods(graph: tuple[NodeSpec, ...]) -> dict[str, float]:
    keys = ("period", "sampling_period")
    return {spec.name: spec.parameters[key] for spec in graph for key in keys if key in spec.parameters}


def test_the_period_reaches_whoever_counts_states_and_the_plant() -> None:
    expected = {"impact_detector": 0.002, "rs_controller": 0.002}
    assert periods(single_arm_graph(SingleArmOptions(simulation=False, period=0.002))) == expected
    assert periods(dual_arm_graph(DualArmOptions(simulation=False, period=0.002))) == expected
    assert not periods(single_arm_graph(SingleArmOptions(simulation=False)))
    assert periods(single_arm_graph(SingleArmOptions(simulation=True, period=0.002))) == expected | {"sim_robot": 0.002}


@pytest.mark.parametrize("kind", ["link_torque", "motor_torque", "without_gravity", "current"])
def test_a_driver_of_one_kind_of_efforts_refuses_profiles_of_another(tmp_path, kind):
    path = tmp_path / "version_7.yaml"
    path.write_text(f"joint_states: joint_states\ncommands: effort_controller/commands\neffort_kind: {kind}\n")
    driver, profile = load_hardware(path), load_profile("fr3")
    assert driver.effort_kind == kind and profile.effort_kind == "link_torque"
    if kind == "link_torque":
        driver.check_profile(profile)
        return
    with pytest.raises(InvalidInputError, match=f"effort_kind.*{kind}, as the driver of hardware version_7"):
        driver.check_profile(profile)
