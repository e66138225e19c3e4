"""YAML from outside: plain values only, its size and depth bounded before anything is made of it.

What PyYAML's safe loader would still do with a stranger's text is refused: aliases, which multiply; keys that are there
twice, of which the last one would win in silence. Dates and numbers to the base 60 are texts, 010 is ten.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Any

import yaml

from impact_aware.errors import InvalidInputError

LARGEST = 1 << 20
"""Size of a text, characters; the largest file of this project has 6000."""

DEEPEST = 20
"""Levels of lists and mappings within each other; the files of this project have four."""

LONGEST_NUMBER = 40
"""Characters of a number; a double has 24 at most."""

_PREFIX = "tag:yaml.org,2002:"
_NUMBER = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_ERRORS = (yaml.YAMLError, ValueError, KeyError, TypeError, AttributeError, OverflowError)
"""What PyYAML raises for texts that are no YAML, and for tags that do not fit their values."""


class _Loader(yaml.SafeLoader):
    """Lists, mappings, texts, numbers, true, false and null."""

    # Tables of its own, so that others who use PyYAML in this process keep theirs.
    yaml_implicit_resolvers = {
        first: [entry for entry in entries if entry[0].removeprefix(_PREFIX) in ("bool", "null")]
        for first, entries in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    yaml_constructors = {
        tag: yaml.SafeLoader.yaml_constructors[tag]
        for tag in (None, *(_PREFIX + name for name in ("map", "seq", "str", "bool", "null")))
    }
    aliases = False
    _depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event = self.peek_event()
        if isinstance(event, yaml.AliasEvent) and not self.aliases:
            raise yaml.YAMLError(f"an alias, *{event.anchor}{_line(event)}")
        self._depth += 1
        if self._depth > DEEPEST:
            raise yaml.YAMLError(f"more than {DEEPEST} levels{_line(event)}")
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        content = super().construct_mapping(node, deep)
        if len(content) != len(node.value):
            seen: set[Any] = set()
            for key_node, _ in node.value:
                key = self.construct_object(key_node, deep=True)
                if key in seen:
                    raise yaml.YAMLError(f"{key!r} twice{_line(key_node)}")
                seen.add(key)
        return content

    def construct_number(self, node: yaml.ScalarNode) -> int | float:
        text = self.construct_scalar(node)
        if not _NUMBER.fullmatch(text) or len(text) > LONGEST_NUMBER:
            raise yaml.YAMLError(f"{text[:LONGEST_NUMBER]!r} as a number{_line(node)}")
        if text.lstrip("+-").isdigit():
            return int(text)
        return float(re.sub(r"\.(?=[a-z])", "", text.lower()))


def _line(part: yaml.Event | yaml.Node) -> str:
    return "" if part.start_mark is None else f" in line {part.start_mark.line + 1}"


for _tag in ("int", "float"):
    _Loader.add_constructor(_PREFIX + _tag, _Loader.construct_number)
_Loader.add_implicit_resolver(_PREFIX + "float", re.compile(rf"(?:{_NUMBER.pattern})$"), list("-+.0123456789"))


class _SharingLoader(_Loader):
    """Loader with aliases, for callers that read some entries only and never copy what they share."""

    aliases = True


def read_yaml(field: str, shown: str, text: str, *, aliases: bool = False) -> Any:
    """Parse a YAML text.

    Args:
        field: What it is, for messages.
        shown: Which one it is, for messages.
        text: The YAML.
        aliases: Whether aliases are read, as programs write them for what they hold twice.

    Raises:
        InvalidInputError: No YAML, too large, too deep, with an alias, a key twice or a tag of another kind.
    """
    if len(text) > LARGEST:
        raise InvalidInputError(field, f"{shown} of {len(text)} characters", f"{LARGEST} at most")
    try:
        return yaml.load(text, _SharingLoader if aliases else _Loader)
    except _ERRORS as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InvalidInputError(field, shown, f"valid YAML ({reason})") from error


def read_yaml_mapping(field: str, shown: str, text: str) -> dict[str, Any]:
    """Parse a YAML text of names and values; arguments and errors as of `read_yaml`, other content is refused too."""
    content = read_yaml(field, shown, text)
    if not isinstance(content, dict):
        raise InvalidInputError(field, shown, "a mapping of names to values")
    return {str(key): value for key, value in content.items()}
