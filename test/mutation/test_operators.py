"""The mutations of our own: what each writes, and where none is possible."""

from collections import Counter

import pytest

mutating = pytest.importorskip("cosmic_ray.mutating", reason="cosmic-ray is not installed")

import mutate  # noqa: E402
from cosmic_ray.work_item import MutationSpec  # noqa: E402
from operators import DropStatement, DropTerm, DropTranspose, OtherFunction, SwapArguments  # noqa: E402


def test_every_room_is_mutated() -> None:
    assert {"cli", "control", "estimation", "experiments", "nodes", "render", "simulation"} <= set(mutate.ROOMS)


@pytest.mark.parametrize(
    ("operator", "before", "after"),
    [
        (OtherFunction, "peak = np.max(x) + a.max\n", "peak = np.min(x) + a.max\n"),
        (OtherFunction, "y = sin (x)\n", "y = cos (x)\n"),
        (DropTerm, "y = a - b + c\n", "y = a - b\n"),
        (DropTerm, "y = f(a + b)\n", "y = f(a)\n"),
        (DropTranspose, "y = r.T @ v\n", "y = r @ v\n"),
        (SwapArguments, "f(a, b, c)\n", "f(b, a, c)\n"),
        (SwapArguments, "x = [a, b]\n", "x = [b, a]\n"),
        (DropStatement, "if x:\n    self.note(1)\n", "if x:\n    pass\n"),
        (DropStatement, "x += 1\n", "pass\n"),
    ],
)
def test_a_mutation_writes_what_it_says(operator, before: str, after: str) -> None:
    assert mutating.mutate_code(before, operator(), 0) == after


@pytest.mark.parametrize(
    ("operator", "code"),
    [
        (OtherFunction, "def max(x): return x\n"),
        (DropTerm, "y = -a * b\n"),
        (DropTranspose, "y = x.Ti\n"),
        (SwapArguments, "f(a, a)\nf(a, b=c)\n"),
        (SwapArguments, "x = min(a, b) + np.hypot(a, b)\n"),
        (SwapArguments, "try:\n    x\nexcept (A, B):\n    pass\n"),
        (DropStatement, "x = f(1)\nx: int = 1\n"),
    ],
)
def test_where_there_is_nothing_to_mutate_it_does_not(operator, code: str) -> None:
    assert mutating.mutate_code(code, operator(), 0) is None


PACKAGE = """def f(a, *, b=2):
    c = [
        a,
        b * 2,
    ]
    if (
        a
    ):
        return c
"""


def test_a_statement_is_all_its_lines_and_a_block_those_before_its_body(tmp_path) -> None:
    path = tmp_path / "module.py"
    path.write_text(PACKAGE)
    spans = {line: mutate.statement_lines(path, line) for line in range(1, 10)}
    assert {line: (span.start, span.stop - 1) for line, span in spans.items()} == {
        1: (1, 1), 2: (2, 5), 3: (2, 5), 4: (2, 5), 5: (2, 5), 6: (6, 8), 7: (6, 8), 8: (6, 8), 9: (9, 9),
    }  # fmt: skip


def test_tests_are_those_whose_files_run_the_line_the_quickest_first(tmp_path) -> None:
    path, other = tmp_path / "module.py", tmp_path / "other.py"
    for each in (path, other):
        each.write_text(PACKAGE)
    seconds = Counter({"a.py": 3.0, "b.py": 1.0, "c.py": 2.0})
    contexts = {
        path: {1: [""], 3: ["a.py::one|run", "b.py::two|run", "a.py::three|run"], 6: ["c.py::four|setup"], 9: []}
    }
    baseline = mutate.Baseline([], 6.0, seconds, contexts)
    assert mutate.covering_files(baseline, path, 4) == ["b.py", "a.py"]
    # An import and a fixture, which others may share, are anybody's.
    assert mutate.covering_files(baseline, path, 1) == mutate.covering_files(baseline, path, 7)
    assert mutate.covering_files(baseline, path, 1) == ["b.py", "c.py", "a.py"]
    assert mutate.covering_files(baseline, path, 9) == mutate.covering_files(baseline, other, 1) == []


@pytest.mark.parametrize(
    ("source", "column", "name", "star"),
    [
        ("f(a, *b)", 5, "ReplaceBinaryOperator_Mul_Div", True),
        ("f(**b)", 2, "ReplaceBinaryOperator_Pow_Mul", True),
        ("f(a * b)", 4, "ReplaceBinaryOperator_Mul_Div", False),
        ("f(a, -b)", 5, "ReplaceUnaryOperator_USub_UAdd", False),
    ],
)
def test_the_star_of_an_argument_is_no_product(source: str, column: int, name: str, star: bool) -> None:
    spec = MutationSpec("x.py", f"core/{name}", 0, (1, column), (1, column + 1))
    assert mutate.is_star(source, spec) is star
