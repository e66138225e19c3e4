"""What a launch file would start, by the real `launch` where it is installed and by a stand-in elsewhere."""

import importlib.util
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import launch_standin
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
LAUNCHED = ("launch", "launch_ros", "impact_aware.bringup.launching")


@dataclass
class Started:
    """One node.

    Attributes:
        package: Its package.
        executable: Its executable.
        name: Its name; empty where the launch file gives none.
        namespace: Its absolute namespace.
        arguments: Words before those of ROS.
        files: Parameter files, later ones win.
        parameters: Single parameters.
        remappings: From -> to.
    """

    package: str
    executable: str
    name: str
    namespace: str
    arguments: list[str] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)
    parameters: dict[str, Any] = field(default_factory=dict)
    remappings: dict[str, str] = field(default_factory=dict)

    @property
    def full_name(self) -> str:
        """Name below its namespace, or the executable's where it has none."""
        return f"{self.namespace.rstrip('/')}/{self.name or self.executable}"

    def option(self, word: str) -> str:
        """The argument that follows a word."""
        return self.arguments[self.arguments.index(word) + 1]


def has_real_launch() -> bool:
    """Whether both packages are installed; a folder called `launch` on the path is none."""
    specs = [importlib.util.find_spec(name) for name in ("launch", "launch_ros")]
    return all(spec is not None and spec.origin is not None for spec in specs)


REAL = has_real_launch()


@pytest.fixture(scope="module")
def launch_packages() -> Iterator[None]:
    """Both packages can be imported while the tests of a module run."""
    if REAL:
        yield
        return
    before = {name: sys.modules.pop(name) for name in list(sys.modules) if belongs(name)}
    launch_standin.install()
    yield
    for name in [name for name in sys.modules if belongs(name)]:
        del sys.modules[name]
    sys.modules.update(before)


def belongs(name: str) -> bool:
    """Whether a module is one of the two packages or has imported them."""
    return any(name == top or name.startswith(f"{top}.") for top in LAUNCHED)


def launch_file(name: str) -> ModuleType:
    """A launch file as a module."""
    spec = importlib.util.spec_from_file_location(f"{name}_launch", ROOT / "launch" / f"{name}.launch.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def evaluate(name: str, arguments: dict[str, str], **configurations: str) -> tuple[list[Any], Any]:
    """The actions that a launch file comes to, without starting them, and their context."""
    from launch import LaunchContext

    context = LaunchContext()
    context.launch_configurations.update(configurations)
    context.launch_configurations.update(arguments)
    actions: list[Any] = []
    for entity in launch_file(name).generate_launch_description().entities:
        actions += entity.visit(context) or []
    return actions, context


def started(name: str, arguments: dict[str, str], **configurations: str) -> list[Started]:
    """The nodes that a launch file would start, in its order."""
    actions, context = evaluate(name, arguments, **configurations)
    return [started_by(action, context) for action in actions if hasattr(action, "node_executable")]


def started_by(action: Any, context: Any) -> Started:
    """What a node action passes to its process."""
    return by_real(action, context) if REAL else by_standin(action, context)


def by_standin(action: Any, context: Any) -> Started:
    given = action.standin
    text = launch_standin.perform_substitutions
    above = context.launch_configurations.get("ros_namespace", "")
    below = text(context, given["namespace"])
    namespace = below if below.startswith("/") else "/" + "/".join(filter(None, (above.strip("/"), below)))
    made = Started(
        package=text(context, action.node_package),
        executable=text(context, action.node_executable),
        name=text(context, given["name"]) if given["name"] is not None else "",
        namespace=namespace,
        arguments=[text(context, word) for word in given["arguments"]],
        remappings={text(context, source): text(context, target) for source, target in given["remappings"]},
    )
    for entry in given["parameters"]:
        if not isinstance(entry, dict):
            made.files.append(Path(text(context, entry)))
            continue
        for name, value in entry.items():
            if isinstance(value, str):
                value = launch_standin.parsed(value)
            elif isinstance(value, launch_standin.ParameterValue):
                value = value.evaluate(context)
            elif not isinstance(value, (bool, int, float, list, tuple)):
                raise TypeError(f"parameter {name} can't be a {type(value).__name__}")
            made.parameters[name] = list(value) if isinstance(value, tuple) else value
    return made


def by_real(action: Any, context: Any) -> Started:
    from launch.utilities import perform_substitutions

    action._perform_substitutions(context)
    # The real launch names a namespace that is not given in angle brackets.
    namespace = action.expanded_node_namespace
    namespace = "" if "<" in namespace else namespace
    specific = {"name": "__node:=NAME", "ns": f"__ns:={namespace}"}
    context.extend_locals({"ros_specific_arguments": specific})
    # The first word is the executable, found in the installed package, which need not be installed here.
    words = [perform_substitutions(context, part) for part in action.cmd[1:]]
    end = words.index("--ros-args")
    name = action.node_name.rpartition("/")[2]
    made = Started(
        package=action.node_package,
        executable=action.node_executable,
        name="" if name.startswith("<") else name,
        namespace=namespace if namespace.startswith("/") else f"/{namespace}",
        arguments=words[:end],
    )
    for word, following in zip(words[end:], words[end + 1 :], strict=False):
        if word == "-r" and not following.startswith("__"):
            source, _, target = following.partition(":=")
            made.remappings[source] = target
        elif word == "--params-file" and Path(following).is_relative_to(ROOT):
            made.files.append(Path(following))
        elif word == "--params-file":
            # Launch writes lists as tuples of Python; ROS does not look at the tag.
            content = yaml.load(Path(following).read_text(), Loader=yaml.FullLoader)
            (entry,) = content.values()
            for key, value in entry["ros__parameters"].items():
                made.parameters[key] = list(value) if isinstance(value, tuple) else value
        else:
            assert word != "-p"
    return made
