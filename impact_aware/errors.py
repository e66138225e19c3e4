"""The exceptions of this package: one base, and each carries what is needed to understand it."""

from __future__ import annotations

from collections.abc import Collection

LONGEST_VALUE = 200
"""Characters of a value that a message shows."""

LONGEST_LINE = 1500
"""Characters of a message."""


class ImpactAwareError(Exception):
    """Base of every error that `impact_aware` raises on purpose."""

    def __init__(self, message: str = "") -> None:
        """Keep the message as one line that a terminal and a log show as it is, whatever names it quotes."""
        super().__init__(one_line(message))


class InvalidInputError(ImpactAwareError, ValueError):
    """A value given by the caller can't be used.

    Attributes:
        field: Name of the offending input.
        value: What was given.
        expected: What would have been accepted, in words.
    """

    def __init__(self, field: str, value: object, expected: str) -> None:
        """Compose the one-line message `field: got value, expected ...`."""
        self.field = field
        self.value = value
        self.expected = expected
        super().__init__(f"{field}: got {_shown(value)}, expected {expected}")


class UnknownNameError(InvalidInputError):
    """A name (robot, frame, detector, task ...) is not among the known ones."""

    def __init__(self, field: str, value: str, known: tuple[str, ...], beside: str = "") -> None:
        """List the known names in the message; `beside` describes what is accepted in place of a name."""
        self.known = known
        expected = "one of " + ", ".join(known) if known else "a known name"
        super().__init__(field, repr(value), f"{expected}, or {beside}" if beside else expected)


def check_name(field: str, name: object, known: Collection[str]) -> None:
    """Refuse, with an `UnknownNameError`, a name that is not among the known ones."""
    if name not in known:
        raise UnknownNameError(field, str(name), tuple(known))


class NoSolutionError(ImpactAwareError):
    """A solver found no solution; carries the problem and the solver's own status."""

    def __init__(self, message: str, problem: object = None, status: object = None) -> None:
        """Keep the problem so that it can be looked at."""
        self.problem = problem
        self.status = status
        super().__init__(message)


def one_line(text: str) -> str:
    """The text without line breaks and other characters that a terminal would obey, as names from outside may hold.

    A long text, with thousands of such names, is cut to `LONGEST_LINE` characters.
    """
    shown = text = text[: LONGEST_LINE + 1]
    if not text.isprintable():
        shown = visible("".join(" " if c.isspace() else c for c in text))
    return shown if len(shown) <= LONGEST_LINE else f"{shown[:LONGEST_LINE]}..."


def visible(text: str, kept: str = "") -> str:
    """Return the text with control and invisible characters as escapes, except those in `kept`."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in kept else ascii(c)[1:-1] for c in text)


def one_reason(error: BaseException) -> str:
    """Return a library's error message as one bounded line without its full stop: it may quote a whole file."""
    lines = str(error).strip().splitlines()
    return _shown(lines[0].rstrip(".") if lines else type(error).__name__)


def _shown(value: object) -> str:
    try:
        text = str(value)
    except (ValueError, RecursionError):
        # Python refuses to write numbers of thousands of digits.
        return f"a {type(value).__name__} too long to show"
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}..."
