"""What is fuzzed: each node, some of them in several configurations, and what they need before messages mean much."""

from __future__ import annotations

import dataclasses
import importlib
import math
import random
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from std_srvs.srv import Trigger

from impact_aware.bringup.start import executables
from impact_aware.errors import UnknownNameError

JOINTS = [f"panda_joint{number}" for number in range(1, 8)]

TWO_ARMS = "dual_arm_grab"


@dataclasses.dataclass(frozen=True)
class Subject:
    """A node in one configuration.

    Attributes:
        kind: Class of the node, in the module that is called as the node is.
        settings: Parameters, by name, that are not as they are by default; a function makes one anew for each node.
        task: Whose messages it gets.
        prepare: Called once, when the node is there.
        vary: Called now and then: what else changes from outside.
        finish: Called last.
    """

    kind: str
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)
    task: str = "hit_and_push"
    prepare: Callable[[Any], object] = lambda node: None
    vary: Callable[[Any, random.Random], object] = lambda node, generator: None
    finish: Callable[[Any], object] = lambda node: None

    def make(self, name: str) -> Any:
        """The node, with the subject's settings; `name` is what the subject is called."""
        module: Any = importlib.import_module(executables()[name.partition("/")[0]])
        declared = getattr(module, "load_settings", None)
        if declared is None:
            return getattr(module, self.kind)()
        own = {key: value() if callable(value) else value for key, value in self.settings.items()}

        def load(node: Any, kind: type) -> Any:
            settings = declared(node, kind)
            return dataclasses.replace(settings, **{key: own[key] for key in own if hasattr(settings, key)})

        module.load_settings = load
        try:
            return getattr(module, self.kind)()
        finally:
            module.load_settings = declared


def _record_some_topics(node: Any) -> None:
    """Subscribe as the recorder does when it finds topics."""
    for topic, kind in (
        ("/joint_states", "sensor_msgs/msg/JointState"),
        ("/impacts", "impact_aware_msgs/msg/ImpactEvent"),
    ):
        node._seen.add(topic)
        node._subscribe(topic, kind, [])


def _control_alone(node: Any) -> None:
    """Who else DDS shows, such as another fuzzer's process, or does not, must not keep this one from moving."""
    node.connections._out_of_reach = str


def _simulate_alone(node: Any) -> None:
    """Look around for no other simulator."""
    node._look_until, node._twins.present, node._twins.look = -math.inf, False, bool


def _throw_bag_away(node: Any) -> None:
    node.close()
    shutil.rmtree(Path(node._settings.bag).parent)


_FUSION = {"joints": JOINTS, "detector": "fusion", "robot": "panda", "normal": [0.0, 1.0, 0.0], "lockstep": True}
_OTHERS = {"other_impacts": ["other/impacts"], "expected_contacts": 2}
_FREE_OBJECT = {"normal": [0.0, 1.0, 0.0], "object_mass": 1.0, "friction": 0.3, "lockstep": True}
_UNCERTAIN = {"velocity_std": 1e-3, "normal_std": 0.02, "friction_std": 0.05}
_BASES = [0.0, 0.35, 0.0, 0.0, 0.0, -0.35, 0.0, 0.0]
_PAIR = {"arms": ["left", "right"], "robots": ["panda"], "bases": _BASES}
_PLANT = {"task": TWO_ARMS, "lockstep": True, "lockstep_participants": ["rs_controller"]}

SUBJECTS: dict[str, Subject] = {
    "impact_detector": Subject("ImpactDetectorNode", {"joints": JOINTS}),
    "impact_detector/fusion": Subject("ImpactDetectorNode", _FUSION | _OTHERS),
    "jump_predictor": Subject("JumpPredictorNode"),
    "jump_predictor/free_object": Subject("JumpPredictorNode", _FREE_OBJECT | _UNCERTAIN),
    "reference_field": Subject("ReferenceFieldNode"),
    "reference_field/two_arms": Subject("ReferenceFieldNode", {"task": TWO_ARMS}, TWO_ARMS),
    "rs_controller": Subject("RsControllerNode", prepare=_control_alone),
    "rs_controller/two_arms": Subject("RsControllerNode", _PAIR, TWO_ARMS, prepare=_control_alone),
    "impact_markers": Subject("ImpactMarkersNode"),
    "sim_robot": Subject("SimRobotNode", prepare=_simulate_alone),
    "sim_robot/two_arms": Subject("SimRobotNode", _PLANT, TWO_ARMS, prepare=_simulate_alone),
    "command_watchdog": Subject(
        "CommandWatchdogNode",
        # What a person does after it has stopped the arms.
        vary=lambda node, _generator: node._on_reset(None, Trigger.Response()),
    ),
    "kuka_fri_relay": Subject("KukaFriRelayNode"),
    "forward_command_controller": Subject(
        "ForwardCommandControllerNode",
        {"joints": JOINTS},
        # Take commands although no hardware subscribes to this one's output.
        prepare=lambda node: node.take_commands(),
        # What a person does after a command of the wrong size.
        vary=lambda node, _generator: node.controller.switch(True),
    ),
    "lbr_torque_command_controller": Subject("LbrTorqueCommandControllerNode", {"joints": JOINTS}),
    "run_monitor": Subject("RunMonitorNode"),
    "bag_recorder": Subject(
        "BagRecorderNode",
        {"bag": lambda: str(Path(tempfile.mkdtemp(prefix="fuzz_bag_")) / "bag")},
        prepare=_record_some_topics,
        finish=_throw_bag_away,
    ),
}
"""Subjects by name: a node's, with its configuration after a slash where there are several."""


def subject(name: str) -> Subject:
    """A subject by its name.

    Raises:
        UnknownNameError: There is none of that name.
    """
    if name not in SUBJECTS:
        raise UnknownNameError("--node", name, tuple(SUBJECTS))
    return SUBJECTS[name]
