"""Every launch file by the real `ros2 launch`, where it and this package are installed: parameters read, nodes killed.

Run in a sourced workspace: `python -m pytest -v test/launch/test_real_launch.py`. Packages of others that are missing
(robot_state_publisher, rviz2, tf2_ros) are stood in for by a process that does nothing. The driver of `franka_fci`
finds no arm and ends with one line; `make test-franka` runs it beside a simulated one.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import rclpy
from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from launch_started import REAL, ROOT, started
from patience import LONGEST, patient
from rcl_interfaces.msg import ParameterValue
from rclpy.node import Node
from rclpy.parameter_client import AsyncParameterClient
from rclpy.task import Future
from recorded_bag import resting_bag

from impact_aware.bringup.domain import own_domain
from impact_aware.bringup.node_spec import node_of_word
from impact_aware.errors import ImpactAwareError


def missing() -> str:
    """Why nothing can be launched here."""
    if not REAL or shutil.which("ros2") is None:
        return "launch, launch_ros and ros2cli are not installed"
    try:
        get_package_prefix("impact_aware")
    except (LookupError, OSError, PackageNotFoundError):
        return "no workspace with impact_aware is sourced"
    return ""


if reason := missing():
    pytest.skip(reason, allow_module_level=True)
pytestmark = [pytest.mark.launch, pytest.mark.slow]

FOREIGN = ("robot_state_publisher", "rviz2", "tf2_ros")
HARDWARE = ("", "franka", "franka_fci", "kinova", "kuka_fri", "ros2_control", "ur", "ur_torques")
NO_ARM = {
    ("single_arm", "franka_fci"): {"address": "127.0.0.1"},
    ("dual_arm", "franka_fci"): {"address": "127.0.0.1,127.0.0.1"},
}
CASES = [
    (file, {"hardware": hardware, "namespace": space, **more})
    for file, more in (("single_arm", {"robot": "panda"}), ("dual_arm", {}))
    for hardware in HARDWARE
    for space in ("", "cell")
]
CASES = [(file, words | {"control": "true"} | NO_ARM.get((file, words["hardware"]), {})) for file, words in CASES] + [
    *((file, {"simulation": "true", "control": "true", "namespace": "cell"}) for file in ("single_arm", "dual_arm")),
    *(("watch", {"namespace": space}) for space in ("", "cell")),
    # Whoever looks on in RViz keeps the nodes after the recording, also where no player is installed.
    *(("replay", {"bag": arms, "rviz": "true"}) for arms in ("", "left,right")),
]


@pytest.fixture(scope="module", autouse=True)
def compiled(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The installed package has its compiled code: the first node would wait a minute for it."""
    sys.path.insert(0, str(ROOT / "environment"))
    from kernels import sources

    modules = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in sources()]
    command = [sys.executable, "-c", f"import {', '.join(modules)}"]
    subprocess.run(command, cwd=tmp_path_factory.mktemp("elsewhere"), check=True, timeout=LONGEST)


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Node]:
    """A node of a domain of its own, in which what is launched is too."""
    for package in FOREIGN:
        with contextlib.suppress(LookupError):
            get_package_prefix(package)
            continue
        index = tmp_path / "share" / "ament_index" / "resource_index" / "packages"
        index.mkdir(parents=True, exist_ok=True)
        (index / package).touch()
        for name in (package, "static_transform_publisher"):
            script = tmp_path / "lib" / package / name
            script.parent.mkdir(parents=True, exist_ok=True)
            script.write_text("#!/bin/sh\nexec sleep 600\n")
            script.chmod(0o755)
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"{os.environ['AMENT_PREFIX_PATH']}{os.pathsep}{tmp_path}")
    with own_domain() as domain:
        monkeypatch.setenv("ROS_DOMAIN_ID", str(domain))
        rclpy.init(domain_id=domain)
        node = Node("onlooker")
        yield node
        node.destroy_node()
        rclpy.try_shutdown()


@contextlib.contextmanager
def launched(file: str, words: dict[str, str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """`ros2 launch` in a process group of its own, which ends with the block."""
    command = ["ros2", "launch", "impact_aware", f"{file}.launch.py"]
    command += [f"{name}:={value}" for name, value in words.items() if value]
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def until(condition: Callable[[], object], what: str, log: Path) -> None:
    deadline = time.monotonic() + patient(20.0)
    while not condition():
        assert time.monotonic() < deadline, f"{what}:\n{log.read_text()[-3000:]}"
        time.sleep(0.1)


def children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def dumped(graph: Node, name: str) -> list[ParameterValue]:
    """The values of all parameters of a node, by the client that `ros2 param dump` has."""
    client = AsyncParameterClient(graph, name)
    assert client.wait_for_services(patient(20.0)), name

    def answer(future: Future) -> Any:
        rclpy.spin_until_future_complete(graph, future, timeout_sec=patient(20.0))
        return future.result()

    names = answer(client.list_parameters()).result.names
    values = answer(client.get_parameters(names)).values
    assert len(values) == len(names), name
    return list(values)


NAMES = ["-".join((file, *(f"{name}={value}" for name, value in words.items() if value))) for file, words in CASES]


@pytest.mark.parametrize(("file", "words"), CASES, ids=NAMES)
def test_nodes_come_show_their_parameters_and_die_alone(
    file: str, words: dict[str, str], graph: Node, tmp_path: Path
) -> None:
    log = tmp_path / "launch.log"
    if file == "replay":
        words = {**words, "bag": str(resting_bag(tmp_path / "bag", *words["bag"].split(",")))}
    try:
        nodes = started(file, words)
    except ImpactAwareError as refusal:
        with launched(file, words, log) as process:
            assert process.wait(patient(20.0)) == 1 and str(refusal) in log.read_text()
        return
    own = [node for node in nodes if node.package == "impact_aware"]
    drivers = [node.full_name for node in own if node.executable == "franka_fci_relay"]
    wanted = {node.full_name for node in own if node.executable != "node_group"} - set(drivers)
    grouped = [word for node in own if node.executable == "node_group" for word in node.arguments]
    wanted |= {f"/{node_of_word(word).full_name}" for word in grouped}

    def there() -> set[str]:
        return {f"{space.rstrip('/')}/{name}" for name, space in graph.get_node_names_and_namespaces()}

    def logged(text: str) -> int:
        return log.read_text().count(text)

    with launched(file, words, log) as process:
        until(lambda: wanted <= there(), f"{sorted(wanted - there())} did not come", log)
        until(lambda: logged("franka_fci_relay: error: ") == len(drivers), "the driver gave no reason", log)
        ended = len(drivers) + (file == "replay")
        until(lambda: logged("process has died") + logged("process has finished") == ended, f"not {ended} ended", log)
        died = logged("process has died")
        for name in sorted(wanted):
            values = dumped(graph, name)
            assert len(values) > 5 and all(value.type for value in values), name
        left = children(process.pid)
        # With a namespace the last one is ended by Ctrl-C.
        for count, pid in enumerate(left[:-1] if words.get("namespace") else left, 1 + died):
            os.kill(pid, signal.SIGKILL)
            until(lambda count=count: logged("process has died") == count, f"{pid} was not missed", log)
        if words.get("namespace"):
            process.send_signal(signal.SIGINT)
        assert process.wait(patient(30.0)) in (0, 1), log.read_text()[-3000:]
        assert "Traceback" not in log.read_text(), log.read_text()[-3000:]
