"""Prints docs/parameters.md, made from the settings of the nodes and the arguments of watch.launch.py."""

from __future__ import annotations

import ast
import importlib
from dataclasses import fields
from pathlib import Path

from impact_aware.bringup.start import EXECUTABLES
from impact_aware.contact.options import ContactOptions, ObjectOptions
from impact_aware.control import ControlParameters
from impact_aware.nodes.object_poses import ObjectPoseSettings
from impact_aware.parameters import ParameterRow, parameter_rows
from impact_aware.ros.readiness import ReadinessSettings
from impact_aware.ros.realtime import RealtimeSettings
from impact_aware.tables.options import TableOptions

NODES = (
    "impact_detector",
    "jump_predictor",
    "reference_field",
    "rs_controller",
    "command_watchdog",
    "kuka_fri_relay",
    "franka_fci_relay",
    "impact_markers",
    "sim_robot",
    "bag_recorder",
)


def page() -> str:
    """The whole page as Markdown."""
    lines = [
        "# Parameters of the nodes",
        "",
        "Made by `make parameters`; a test keeps it up to date. All parameters are",
        "read at the start, those marked `tunable` also while the arms hold. `config/single_arm.yaml` is where the",
        "launch files take theirs from.",
    ]
    lines += ["", "## Every node", "", "Against jitter; what is not permitted is logged in one line at the start.", ""]
    lines += _table(parameter_rows(RealtimeSettings))
    lines += ["", "Before a motion; the launch files and `impact-aware demo` set them.", ""]
    lines += _table(parameter_rows(ReadinessSettings))
    lines += ["", "## Nodes that follow an object", "", "`jump_predictor` and `reference_field`:", ""]
    lines += _table(parameter_rows(ObjectPoseSettings))
    for name in NODES:
        module = importlib.import_module(EXECUTABLES[name])
        summary = (module.__doc__ or "").split("\n")[0].partition(": ")[2]
        lines += ["", f"## {name}", "", f"`{name}`: {summary}", ""]
        lines += _table(parameter_rows(module.Settings))
        if name == "rs_controller":
            lines += ["", "Of the controller itself (`impact_aware.control.ControlParameters`):", ""]
            lines += _table(parameter_rows(ControlParameters))
    lines += ["", "## watch.launch.py", "", "Arguments, for `IncludeLaunchDescription` and the command line.", ""]
    lines += ["| argument | default | what it is |", "|---|---|---|"]
    lines += [f'| `{name}` | `"{default}"` | {text} |' for name, (default, text) in _arguments().items()]
    lines += ["", "## Contact, object and table", ""]
    lines += ["Flags of `analyze`, `identify` and `predict`; keys of `NAME.impact.yaml` beside a recording `NAME`.", ""]
    lines += ["| flag | key | range | what it is |", "|---|---|---|---|"]
    for settings, section in ((ContactOptions, "contact"), (ObjectOptions, "object"), (TableOptions, "")):
        lines += _shared_rows(settings, section)
    return "\n".join(lines) + "\n"


def _arguments() -> dict[str, tuple[str, str]]:
    """Arguments of watch.launch.py, read without importing `launch`, which is not installed everywhere."""
    path = Path(__file__).resolve().parents[1] / "launch" / "watch.launch.py"
    body = ast.parse(path.read_text(encoding="utf-8")).body
    tables = [own for own in body if isinstance(own, ast.Assign) and isinstance(own.value, ast.Dict)]
    return {name: text for own in tables for name, text in ast.literal_eval(own.value).items()}


def _shared_rows(settings: type, section: str) -> list[str]:
    """Rows of options that commands and files beside recordings share."""
    lines = []
    for row, field in zip(parameter_rows(settings), fields(settings), strict=True):
        key = f"{section}: {row.name.removeprefix(f'{section}_')}" if section else row.name
        unit = field.metadata["within"].unit if field.metadata["within"] is not None else ""
        text = ", ".join(filter(None, (row.text, unit)))
        text += f"; default: {field.metadata['absent']}" if field.metadata["absent"] else ""
        lines.append(f"| `--{row.name.replace('_', '-')}` | `{key}` | {_range(row)} | {text} |")
    return lines


def _table(rows: list[ParameterRow]) -> list[str]:
    lines = ["| parameter | default | range | what it is |", "|---|---|---|---|"]
    for row in rows:
        default = f"`{row.default!r}`".replace("'", '"')
        text = f"{row.text} (`tunable`)" if row.tunable else row.text
        lines.append(f"| `{row.name}` | {default} | {_range(row)} | {text} |")
    return lines


def _range(row: ParameterRow) -> str:
    if row.choices:
        return ", ".join(f"`{choice}`" for choice in row.choices)
    if row.low is None or row.high is None:
        return ""
    return f"{row.low:g} to {row.high:g}"


if __name__ == "__main__":
    print(page(), end="")
