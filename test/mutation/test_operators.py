"""The mutations of our own: what each writes, and where none is possible."""

from __future__ import annotations

import pytest

mutating = pytest.importorskip("cosmic_ray.mutating", reason="cosmic-ray is not installed")

from operators import DropStatement, DropTerm, DropTranspose, OtherFunction, SwapArguments  # noqa: E402


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
        (DropStatement, "x = f(1)\nx: int = 1\n"),
    ],
)
def test_where_there_is_nothing_to_mutate_it_does_not(operator, code: str) -> None:
    assert mutating.mutate_code(code, operator(), 0) is None
