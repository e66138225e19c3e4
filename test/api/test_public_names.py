"""The public interface `import impact_aware as ia`: its names, what each says of itself, and what it imports."""

import ast
import dataclasses
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import impact_aware as ia

ROOT = Path(__file__).resolve().parents[2]
NAMES = [name for name in ia.__all__ if name != "__version__"]
FUNCTIONS = [name for name in NAMES if inspect.isfunction(getattr(ia, name))]
RECORDS = [
    name for name in NAMES if dataclasses.is_dataclass(getattr(ia, name)) or hasattr(getattr(ia, name), "_fields")
]


def typed_names() -> dict[str, str]:
    """Public name -> module, as a type checker reads them."""
    tree = ast.parse((ROOT / "impact_aware" / "__init__.py").read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    return {alias.name: str(node.module) for node in block.body for alias in node.names}  # type: ignore[attr-defined]


def test_the_type_checker_and_the_interpreter_see_the_same_names() -> None:
    assert typed_names() == ia._MODULE_OF
    assert sorted(NAMES) == sorted(ia._MODULE_OF) and len(set(NAMES)) == len(NAMES)
    assert set(ia.__all__) <= set(dir(ia))
    with pytest.raises(AttributeError, match="has no attribute 'predicts'"):
        _ = ia.predicts


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_imported_from_where_it_is_documented(name: str) -> None:
    thing = getattr(ia, name)
    assert (thing.__doc__ or "").strip().endswith((".", ":", "s", ")")) and thing.__name__ == name
    assert not (thing.__doc__ or "").startswith(f"{name}("), "the docstring that Python makes for a dataclass"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_argument_of_a_function_is_explained(name: str) -> None:
    thing = getattr(ia, name)
    for parameter in inspect.signature(thing).parameters:
        assert parameter in thing.__doc__, parameter


@pytest.mark.parametrize("name", RECORDS)
def test_every_field_of_a_record_is_explained(name: str) -> None:
    kind = getattr(ia, name)
    fields = [field.name for field in dataclasses.fields(kind)] if dataclasses.is_dataclass(kind) else kind._fields
    described = {field.name for field in getattr(kind, "__dataclass_fields__", {}).values() if field.metadata}
    for field in fields:
        assert field.startswith("_") or field in described or f"    {field}: " in kind.__doc__, field


def test_every_name_stands_on_the_page_of_the_library() -> None:
    page = (ROOT / "docs" / "site" / "library.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\.\. auto(class|function|exception):: (\w+)$", page, flags=re.MULTILINE)
    assert sorted(name for _, name in listed) == sorted(NAMES)
    for kind, name in listed:
        assert (kind == "function") == (name in FUNCTIONS), name


def test_every_page_stands_in_the_index_of_the_site() -> None:
    index = (ROOT / "docs" / "site" / "index.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^(?:\.\./)+([\w./]+)$", index, flags=re.MULTILINE))
    assert {path.stem for path in (ROOT / "docs").glob("*.md")} <= listed
    assert {"README", "CONTRIBUTING", "CHANGELOG", "examples/through_one_impact"} <= listed


def loaded_after(statements: str) -> set[str]:
    """Top-level modules of a new interpreter that ran these statements."""
    code = f"import sys\n{statements}\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    answer = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    return set(answer.stdout.split())


def test_a_name_imports_what_it_needs_and_no_more() -> None:
    assert not loaded_after("import impact_aware") & {"numpy", "pinocchio", "scipy"}
    predicting = loaded_after("import impact_aware as ia; ia.predict, ia.Contact, ia.load_robot('panda')")
    # The compiler is loaded by naming `predict`, not at the first impact.
    assert {"pinocchio", "numba"} <= predicting
    assert not predicting & {"mujoco", "matplotlib", "rosbags", "rclpy"}


@pytest.mark.slow
def test_no_name_needs_ros() -> None:
    every = loaded_after("import impact_aware as ia\nfor name in ia.__all__: getattr(ia, name)")
    assert "mujoco" in every and not every & {"rclpy", "sensor_msgs", "impact_aware_msgs", "launch"}
