"""Graphs of nodes as text, as they are kept in `test/bringup/graphs.txt`; see `looked_at.py`."""

import json
import tempfile
from pathlib import Path
from typing import Any

import yaml

from impact_aware.bringup.graph import DualArmOptions, SingleArmOptions, dual_arm_graph, single_arm_graph
from impact_aware.bringup.hardware import load_hardware
from impact_aware.resources import find_resource

KEPT = Path(__file__).resolve().parents[1] / "bringup" / "graphs.txt"

TOPICS: dict[str, Any] = {"joint_states": "franka/joint_states", "commands": "torques"}
_FILE = load_hardware("kuka_fri")
KUKA: dict[str, Any] = {
    "simulation": False, "commands": _FILE.commands, "controller": _FILE.controller, "relay": _FILE.relay,
    "component": _FILE.component, "period": _FILE.period,
}  # fmt: skip
SINGLE: dict[str, dict[str, Any]] = {
    "simulated": {},
    "in lockstep, the object elsewhere": {
        "lockstep": True, "autostart": False, "seed": 42, "displacement": (0.02, -0.01, 0.0), "turn": 0.3,
        "belt": (0.1, -0.05),
    },
    "only watched": {"simulation": False, "control": False, "markers": False},
    "on hardware": {"simulation": False, "namespace": "left", "period": 0.002, **TOPICS},
    "behind a relay": {"namespace": "lbr", "watchdog": True, **KUKA},
    "commanded by laws": {"task": "hit_and_push_palm", "command_interface": "local_law"},
    "commanded by laws in lockstep": {"command_interface": "local_law", "lockstep": True},
}  # fmt: skip
DUAL: dict[str, dict[str, Any]] = {
    "simulated": {"seed": 42},
    "in lockstep in a namespace": {"lockstep": True, "namespace": "cell", "autostart": True, **TOPICS},
    "on hardware": {"simulation": False, "watchdog": True},
    "behind relays": {"watchdog": True, **KUKA},
    "only watched": {"simulation": False, "control": False, "markers": False, "namespace": "cell"},
}


def changed_task(folder: Path, name: str, arms: list[dict[str, Any]], **more: Any) -> str:
    """File of a task whose arms, object and frame are others."""
    content = yaml.safe_load(find_resource("config", "tasks", f"{name}.yaml").read_text(encoding="utf-8"))
    for arm, changes in zip(content["arms"], arms, strict=False):
        arm.update(changes)
    content["object"].update(more.pop("object", {}))
    path = folder / "changed.yaml"
    path.write_text(yaml.safe_dump(content | more), encoding="utf-8")
    return str(path)


def graphs_text() -> str:
    """Nodes of every graph, one a line."""
    graphs = {f"one arm, {name}": single_arm_graph(SingleArmOptions(**given)) for name, given in SINGLE.items()}
    graphs |= {f"two arms, {name}": dual_arm_graph(DualArmOptions(**given)) for name, given in DUAL.items()}
    with tempfile.TemporaryDirectory() as folder:
        moved = {"base_yaw": 0.4, "base_position": [0.1, 0.3, 0.05]}
        thing = {"friction_tool": 0.7, "restitution": 0.2, "mass": 1.9, "friction_table": 0.25}
        prefixed = [{"joint_prefix": "left_"} | moved, {"joint_prefix": "right_"}]
        task = changed_task(Path(folder), "dual_arm_grab", prefixed, object=thing)
        options = DualArmOptions(task=task, joint_states="/joint_states")
        graphs["two arms, one moved, on one topic"] = dual_arm_graph(options)
        tilted = {"base_rpy": [0.3, 0.0, 0.4], "base_position": [0.1, -0.05, 0.2]}
        task = changed_task(Path(folder), "hit_and_push", [tilted], frame="cell")
        graphs["one arm, tilted"] = single_arm_graph(SingleArmOptions(task=task))
        task = changed_task(Path(folder), "hit_and_push", [{"base_in_tf": "mount", "base_yaw": 0.3}], frame="cell")
        graphs["one arm, its base in TF but simulated"] = single_arm_graph(SingleArmOptions(task=task))
        tf = {"task": task, "bases_from_tf": True, "markers": False, **KUKA}
        graphs["one arm behind a relay, its base in TF"] = single_arm_graph(SingleArmOptions(**tf))
        lines = []
        for name, graph in graphs.items():
            lines += [f"# {name}"]
            for spec in graph:
                files = [path.name for path in spec.parameter_files]
                parts = spec.full_name, spec.executable, files, spec.remappings, spec.parameters
                lines += [json.dumps(parts, sort_keys=True).replace(folder, "FOLDER")]
    return "\n".join(lines) + "\n"
