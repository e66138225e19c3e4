"""The transport that nodes ask for, and an RMW that is not installed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from patience import LONGEST

from impact_aware.bringup.middleware import (
    BUFFERED_UDP,
    PEERS,
    PROFILES,
    RANGE,
    RMW,
    TRANSPORT,
    check_middleware,
    choose_transport,
)
from impact_aware.errors import UnknownNameError


def prefix_with(folder, *names):
    """An ament prefix in which these are registered."""
    index = folder / "share" / "ament_index" / "resource_index" / "rmw_typesupport"
    index.mkdir(parents=True)
    for name in (*names, "rmw_implementation"):
        (index / name).touch()
    return str(folder)


FILE = str(Path(__file__).resolve().parents[2] / "config" / "dds" / "loopback.xml")


@pytest.mark.parametrize("given", [{}, {RANGE: "SUBNET"}, {RANGE: "OFF"}, {RMW: "rmw_fastrtps_dynamic_cpp"}, {RMW: ""}])
def test_udp_unless_the_user_says_otherwise(given):
    environment = {"HOME": "/home/me", **given}
    choose_transport(environment)
    assert environment == {"HOME": "/home/me", **given, "FASTDDS_BUILTIN_TRANSPORTS": BUFFERED_UDP}


@pytest.mark.parametrize("spelling", ["LOCALHOST", "localhost"])
def test_within_one_machine_the_settings_are_a_file(spelling):
    environment = {"ROS_AUTOMATIC_DISCOVERY_RANGE": spelling}
    choose_transport(environment)
    assert environment == {
        "ROS_AUTOMATIC_DISCOVERY_RANGE": "SYSTEM_DEFAULT",
        "FASTRTPS_DEFAULT_PROFILES_FILE": FILE,
        "FASTDDS_DEFAULT_PROFILES_FILE": FILE,
    }
    # The range of participants is that of rmw_fastrtps itself.
    assert "<maxInitialPeersRange>32<" in Path(FILE).read_text(encoding="utf-8")
    chosen = dict(environment)
    choose_transport(environment)
    assert environment == chosen
    # Whoever starts nodes says the range anew.
    environment["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    choose_transport(environment)
    assert environment == chosen


@pytest.mark.parametrize("range", ["LOCALHOST", "SUBNET"])
@pytest.mark.parametrize(
    "own",
    [
        (TRANSPORT, "DEFAULT"),
        (PEERS, "192.168.7.2"),
        (RMW, "rmw_cyclonedds_cpp"),
        *((name, "/etc/dds.xml") for name in PROFILES),
    ],
)
def test_the_users_own_choice_stays(own, range):
    environment = dict([own]) | {RANGE: range}
    choose_transport(environment)
    assert environment == dict([own]) | {RANGE: range}


def test_an_rmw_of_any_prefix_is_taken(tmp_path):
    first, second = prefix_with(tmp_path / "a", "rmw_fastrtps_cpp"), prefix_with(tmp_path / "b", "rmw_cyclonedds_cpp")
    prefixes = {"AMENT_PREFIX_PATH": os.pathsep.join([first, second])}
    for name in ("rmw_fastrtps_cpp", "rmw_cyclonedds_cpp", ""):
        check_middleware({**prefixes, RMW: name})
    check_middleware(prefixes)


def test_an_rmw_that_is_not_installed_is_refused_with_those_that_are(tmp_path):
    prefix = prefix_with(tmp_path / "a", "rmw_zenoh_cpp", "rmw_cyclonedds_cpp")
    with pytest.raises(UnknownNameError, match="RMW_IMPLEMENTATION: got 'nonsense', expected one of") as info:
        check_middleware({"AMENT_PREFIX_PATH": prefix, RMW: "nonsense"})
    assert {"rmw_cyclonedds_cpp", "rmw_zenoh_cpp"} <= set(info.value.known)
    assert "rmw_implementation" not in info.value.known


def test_a_node_says_so_in_one_line():
    words = [sys.executable, "-m", "impact_aware.bringup.start", "impact_detector"]
    environment = {**os.environ, RMW: "nonsense"}
    result = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=LONGEST)
    assert result.returncode == 2
    assert result.stderr.startswith("impact_detector: error: RMW_IMPLEMENTATION: got 'nonsense', expected one of rmw_")
    assert result.stderr.count("\n") == 1
