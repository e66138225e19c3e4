"""What stands in the way of a control loop, on machines made of files."""

import json
import os

import numpy as np
import pytest
from machines import FAULTS, LIMITS, Machine

from impact_aware.bringup import host_check
from impact_aware.bringup.host_check import measure_jitter
from impact_aware.cli.main import main
from impact_aware.errors import InvalidInputError


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def test_a_machine_on_which_all_is_well(machine):
    found = machine.look()
    assert {own.advice for own in found.values()} == {""}
    assert found["kernel"].found == "6.8.1-1015-realtime, PREEMPT_RT"
    assert found["processors"].found == "6"
    assert found["network card eth1"].found == "up, 1000 Mbit/s"


@pytest.mark.parametrize(("file", "text", "name", "found", "advice"), FAULTS)
def test_what_is_not_well_is_named_with_what_to_do(machine, file, text, name, found, advice):
    machine.write(file, text)
    looked = machine.look()
    assert looked[name].found == found
    assert advice in looked[name].advice
    assert [own.name for own in looked.values() if own.advice] == [name]


def test_what_can_not_be_told_is_no_advice(machine):
    for path in sorted(machine.root.rglob("*")):
        if path.is_file() and "net" not in str(path.relative_to(machine.root)):
            path.unlink()
    looked = machine.look()
    unknown = {"realtime_priority", "locked memory", "processors", "power governor"}
    assert {name for name, own in looked.items() if own.advice is None} == unknown


def test_a_capability_stands_for_a_limit(machine):
    machine.write("proc/self/limits", LIMITS.format(memory="8388608", priority=0))
    # Bits 14 and 23, one at a time.
    machine.write("proc/self/status", "CapEff:\t0000000000004000\nCpus_allowed_list:\t0-7\n")
    looked = machine.look()
    assert (looked["locked memory"].advice, bool(looked["realtime_priority"].advice)) == ("", True)
    machine.write("proc/self/status", "CapEff:\t0000000000800000\nCpus_allowed_list:\t0-7\n")
    looked = machine.look()
    assert (bool(looked["locked memory"].advice), looked["realtime_priority"].advice) == (True, "")


def test_a_wireless_card_and_one_that_is_not_there(machine):
    assert "a cable" in machine.look("wlan0")["network card wlan0"].advice
    with pytest.raises(InvalidInputError, match="--network-card: got eth9, expected one of eth1, wlan0"):
        machine.look("eth9")
    with pytest.raises(InvalidInputError, match="--network-card"):
        machine.look("../net/eth1")


def test_middleware_and_range_come_from_the_environment(machine):
    looked = machine.look(RMW_IMPLEMENTATION="rmw_zenoh_cpp", ROS_AUTOMATIC_DISCOVERY_RANGE="")
    assert "rmw_cyclonedds_cpp" in looked["middleware"].advice
    assert (looked["discovery"].found, "LOCALHOST" in looked["discovery"].advice) == ("SUBNET", True)
    own = {"RMW_IMPLEMENTATION": "rmw_fastrtps_cpp", "FASTDDS_DEFAULT_PROFILES_FILE": "/etc/dds.xml"}
    assert "unset FASTDDS_DEFAULT_PROFILES_FILE" in machine.look(**own)["discovery"].advice
    assert machine.look(ROS_AUTOMATIC_DISCOVERY_RANGE="OFF")["discovery"].advice == ""


@pytest.mark.parametrize(
    ("late", "well"), [([2e-4] * 99 + [9e-4], True), ([2e-4] * 99 + [2e-3], False), ([4e-4] * 100, False)]
)
def test_wake_ups_are_judged_by_the_usual_and_the_latest(monkeypatch, late, well):
    monkeypatch.setattr(host_check, "_lateness", lambda count, period: np.array(late[:count]))
    assert (measure_jitter(0.1).advice == "") is well


def test_wake_ups_are_measured_and_the_scheduling_is_given_back():
    before = os.sched_getscheduler(0)
    late = host_check._lateness(50, 0.001)
    assert late.shape == (50,)
    assert np.all(late >= 0.0)
    assert "99 % within" in measure_jitter(0.05).found
    assert os.sched_getscheduler(0) == before


def test_the_command_prints_every_finding_and_ends_with_what_is_to_do(capsys):
    status = main(["doctor", "--listen", "0", "--seconds", "0", "--json"])
    told = json.loads(capsys.readouterr().out)
    assert status == (1 if told["to_do"] else 0)
    assert told["to_do"] == sum(bool(own["advice"]) for own in told["findings"])
    main(["doctor", "--listen", "0", "--seconds", "0"])
    words = {line.split()[0] for line in capsys.readouterr().out.splitlines() if not line.startswith(" ")}
    assert words <= {"ok", "to", "unknown"}


@pytest.mark.dds
def test_the_graph_is_looked_at_by_a_node_in_the_domain_of_the_shell(ros_domain, capsys):
    status = main(["doctor", "--seconds", "0", "--listen", "0.5", "--json"])
    found = {own["name"]: own for own in json.loads(capsys.readouterr().out)["findings"]}
    assert status == 1 and found["ROS domain"]["found"].startswith(f"{ros_domain}, by rmw_")
    assert "is the robot's driver running there?" in found["joint_states"]["advice"]


@pytest.mark.dds
def test_what_a_library_prints_is_no_finding_and_no_traceback(command, monkeypatch):
    # Fast DDS complains about such a domain on the standard output.
    monkeypatch.setenv("ROS_DOMAIN_ID", "99999999999999999")
    status, out, _ = command("doctor", "--listen", "0.5", "--seconds", "0", "--json")
    assert status == 1 and "ROS graph" in {own["name"] for own in json.loads(out)["findings"]}
