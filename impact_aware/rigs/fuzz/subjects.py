"""What is fuzzed: each node, some of them in several configurations, and what they need before messages mean much."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import math
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from impact_aware.errors import UnknownNameError
from impact_aware.rigs.faults.state_faults import STATE_FAULTS, make_state_fault

JOINTS = [f"panda_joint{number}" for number in range(1, 8)]

TWO_ARMS = "dual_arm_grab"


def _nothing(node: Any, generator: random.Random) -> None:
    pass


@dataclasses.dataclass(frozen=True)
class Subject:
    """A node in one configuration.

    Attributes:
        kind: Class of the node, in the module that is called as the node is.
        settings: Parameters, by name, that are not as they are by default.
        task: Whose messages it gets.
        prepare: Called once, when the node is there.
        vary: Called now and then: what else changes from outside.
        finish: Called last.
    """

    kind: str
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)
    task: str = "hit_and_push"
    prepare: Callable[[Any, random.Random], None] = _nothing
    vary: Callable[[Any, random.Random], None] = _nothing
    finish: Callable[[Any], None] = lambda node: None

    def make(self, name: str) -> Any:
        """The node; `name` is what the subject is called."""
        module = importlib.import_module(f"impact_aware.nodes.{name.partition('/')[0]}")
        with self._settings_of(module):
            return getattr(module, self.kind)()

    @contextlib.contextmanager
    def _settings_of(self, module: Any) -> Iterator[None]:
        """The subject's settings in place of the defaults, for the nodes that are made meanwhile."""
        declared = getattr(module, "load_settings", None)
        if declared is None:
            yield
            return

        def load(node: Any, kind: type) -> Any:
            settings = declared(node, kind)
            own = {key: value for key, value in self.settings.items() if hasattr(settings, key)}
            return dataclasses.replace(settings, **own)

        vars(module)["load_settings"] = load
        try:
            yield
        finally:
            vars(module)["load_settings"] = declared


def _record_some_topics(node: Any, generator: random.Random) -> None:
    """Subscribe as the recorder does when it finds topics."""
    for topic, kind in (
        ("/joint_states", "sensor_msgs/msg/JointState"),
        ("/impacts", "impact_aware_msgs/msg/ImpactEvent"),
    ):
        node._seen.add(topic)
        node._subscribe(topic, kind, [])


def _alone(node: Any, generator: random.Random) -> None:
    """Who else DDS shows, such as another fuzzer's process, or does not, must not keep this one from moving."""
    node._connections._out_of_reach = str


def _alone_at_once(node: Any, generator: random.Random) -> None:
    """No looking around for another simulator."""
    node._look_until, node._twins.present, node._twins.look = -math.inf, False, bool


def _hardware_is_there(node: Any, generator: random.Random) -> None:
    """Nobody listens to what goes on from this one to the hardware; commands shall come all the same."""
    node._begin()


def _activate_again(node: Any, generator: random.Random) -> None:
    """What a person does after a command of the wrong size."""
    node.controller.activate()


def _throw_bag_away(node: Any) -> None:
    node.close()
    shutil.rmtree(Path(node._settings.bag).parent)


def _other_fault(node: Any, generator: random.Random) -> None:
    node._fault = make_state_fault(generator.choice(list(STATE_FAULTS)), generator.randrange(1000))


def _bag() -> str:
    return str(Path(tempfile.mkdtemp(prefix="fuzz_bag_")) / "bag")


SUBJECTS: dict[str, Callable[[], Subject]] = {
    "impact_detector": lambda: Subject("ImpactDetectorNode", {"joints": JOINTS}),
    "impact_detector/fusion": lambda: Subject(
        "ImpactDetectorNode",
        {
            "joints": JOINTS,
            "detector": "fusion",
            "robot": "panda",
            "normal": [0.0, 1.0, 0.0],
            "other_impacts": ["other/impacts"],
            "expected_contacts": 2,
            "lockstep": True,
        },
    ),
    "jump_predictor": lambda: Subject("JumpPredictorNode"),
    "jump_predictor/free_object": lambda: Subject(
        "JumpPredictorNode",
        {
            "normal": [0.0, 1.0, 0.0],
            "object_mass": 1.0,
            "friction": 0.3,
            "position_std": 1e-3,
            "normal_std": 0.02,
            "friction_std": 0.05,
            "lockstep": True,
        },
    ),
    "reference_field": lambda: Subject("ReferenceFieldNode"),
    "reference_field/two_arms": lambda: Subject("ReferenceFieldNode", {"task": TWO_ARMS}, TWO_ARMS),
    "rs_controller": lambda: Subject("RsControllerNode", prepare=_alone),
    "rs_controller/two_arms": lambda: Subject(
        "RsControllerNode",
        {"arms": ["left", "right"], "robots": ["panda"], "bases": [0.0, 0.35, 0.0, 0.0, 0.0, -0.35, 0.0, 0.0]},
        TWO_ARMS,
        prepare=_alone,
    ),
    "impact_markers": lambda: Subject("ImpactMarkersNode"),
    "sim_robot": lambda: Subject("SimRobotNode", prepare=_alone_at_once),
    "sim_robot/two_arms": lambda: Subject(
        "SimRobotNode",
        {"task": TWO_ARMS, "lockstep": True, "lockstep_participants": ["rs_controller"]},
        TWO_ARMS,
        prepare=_alone_at_once,
    ),
    "forward_command_controller": lambda: Subject(
        "ForwardCommandControllerNode", {"joints": JOINTS}, prepare=_hardware_is_there, vary=_activate_again
    ),
    "run_monitor": lambda: Subject("RunMonitorNode"),
    "bag_recorder": lambda: Subject(
        "BagRecorderNode", {"bag": _bag()}, prepare=_record_some_topics, finish=_throw_bag_away
    ),
    "fault_injector": lambda: Subject("FaultInjectorNode", vary=_other_fault),
}
"""Subjects by name: a node's, with its configuration after a slash where there are several."""


def subject(name: str) -> Subject:
    """A subject by its name.

    Raises:
        UnknownNameError: There is none of that name.
    """
    if name not in SUBJECTS:
        raise UnknownNameError("node", name, tuple(SUBJECTS))
    return SUBJECTS[name]()
