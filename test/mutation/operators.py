"""Mutations that cosmic-ray does not bring: the mistakes of arithmetic code with frames, columns and summaries."""

from collections.abc import Iterator

from cosmic_ray.operators.operator import Operator
from parso.python.tree import Name
from parso.tree import NodeOrLeaf

PROVIDER = "house"

FUNCTIONS = {
    "max": "min", "min": "max", "mean": "max", "median": "max", "maximum": "minimum", "minimum": "maximum",
    "argmax": "argmin", "argmin": "argmax", "nanmax": "nanmin", "nanmin": "nanmax", "sum": "max", "std": "var",
    "any": "all", "all": "any", "sin": "cos", "cos": "sin", "degrees": "radians", "radians": "degrees",
    "rad2deg": "deg2rad", "deg2rad": "rad2deg", "floor": "ceil", "ceil": "floor", "vstack": "hstack",
    "cumsum": "cumprod", "abs": "float", "append": "count",
}  # fmt: skip
"""What stands where another function belongs."""

COMMUTATIVE = {"min", "max", "minimum", "maximum", "hypot", "add", "multiply", "isclose"}
"""Functions to which the order of their arguments is all the same."""

Positions = Iterator[tuple[tuple[int, int], tuple[int, int]]]


class OtherFunction(Operator):
    """Call the opposite function: the peak becomes a mean, the sine a cosine, all become any."""

    def mutation_positions(self, node: NodeOrLeaf) -> Positions:
        """One for each name that is called."""
        following = node.get_next_leaf() if isinstance(node, Name) else None
        if following is not None and following.value == "(" and node.value in FUNCTIONS:
            if node.parent.type not in ("funcdef", "classdef"):
                yield node.start_pos, node.end_pos

    def mutate(self, node: NodeOrLeaf, index: int) -> NodeOrLeaf:
        """Rename it."""
        return Name(FUNCTIONS[node.value], node.start_pos, node.prefix)

    @classmethod
    def examples(cls) -> tuple[()]:
        """None beside the tests."""
        return ()


class DropTerm(Operator):
    """Drop the last term of a sum."""

    def mutation_positions(self, node: NodeOrLeaf) -> Positions:
        """One for each sum or difference."""
        if node.type == "arith_expr":
            yield node.children[-2].start_pos, node.end_pos

    def mutate(self, node: NodeOrLeaf, index: int) -> NodeOrLeaf:
        """Keep the terms before the last."""
        node.children = node.children[:-2]
        return node if len(node.children) > 1 else node.children[0]

    examples = OtherFunction.examples


class DropTranspose(Operator):
    """Forget a transpose, such as that of a rotation."""

    def mutation_positions(self, node: NodeOrLeaf) -> Positions:
        """One for each `.T`."""
        if node.type == "trailer" and [leaf.get_code(False) for leaf in node.children] == [".", "T"]:
            yield node.start_pos, node.end_pos

    def mutate(self, node: NodeOrLeaf, index: int) -> NodeOrLeaf:
        """Write nothing in its place."""
        return Name("", node.start_pos)

    examples = OtherFunction.examples


class SwapArguments(Operator):
    """Exchange the first two positional arguments of a call, or the first two elements of a tuple or list."""

    def mutation_positions(self, node: NodeOrLeaf) -> Positions:
        """One for each list of arguments or elements."""
        if node.type not in ("arglist", "testlist_comp") or len(node.children) < 3:
            return
        if node.children[1].type != "operator":
            return
        opening = node.get_first_leaf().get_previous_leaf()
        called = opening.get_previous_leaf() if opening is not None else None
        if called is not None and called.value in (*COMMUTATIVE, "except"):
            return
        first, second = node.children[0], node.children[2]
        plain = all(child.type not in ("argument", "string", "fstring") for child in (first, second))
        if plain and first.get_code(False) != second.get_code(False):
            yield first.start_pos, second.end_pos

    def mutate(self, node: NodeOrLeaf, index: int) -> NodeOrLeaf:
        """Exchange them, each with the white space of its new position."""
        first, second = node.children[0], node.children[2]
        leaves = first.get_first_leaf(), second.get_first_leaf()
        leaves[0].prefix, leaves[1].prefix = leaves[1].prefix, leaves[0].prefix
        node.children[0], node.children[2] = second, first
        return node

    examples = OtherFunction.examples


class DropStatement(Operator):
    """Leave out a call whose result is not used, or an assignment that adds to something."""

    def mutation_positions(self, node: NodeOrLeaf) -> Positions:
        """One for each such statement."""
        if node.parent is None or node.parent.type != "simple_stmt":
            return
        augmented = node.type == "expr_stmt" and node.children[1].type in ("operator", "augassign")
        augmented = augmented and node.children[1].get_code(False).strip() in ("+=", "-=", "*=", "/=", "|=", "@=")
        if augmented or (node.type in ("power", "atom_expr") and node.children[-1].get_code(False).startswith("(")):
            yield node.start_pos, node.end_pos

    def mutate(self, node: NodeOrLeaf, index: int) -> NodeOrLeaf:
        """Write `pass` in its place."""
        return Name("pass", node.start_pos, node.get_first_leaf().prefix)

    examples = OtherFunction.examples


OPERATORS = {kind.__name__: kind for kind in (OtherFunction, DropTerm, DropTranspose, SwapArguments, DropStatement)}
