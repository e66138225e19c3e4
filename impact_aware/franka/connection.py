"""Connect to an arm by libfranka, and what its refusals and stops mean, in one line each."""

from __future__ import annotations

import importlib
import re
from typing import Any

from impact_aware.errors import InvalidInputError, one_line

PORT = 1337

INSTALL = "pip install 'impact_aware[franka]'"

REALTIME = ("enforce", "ignore")
"""Whether libfranka refuses a machine without a real-time kernel."""


def library() -> Any:
    """The module pylibfranka.

    Raises:
        InvalidInputError: It is not installed, or can't be loaded.
    """
    try:
        return importlib.import_module("pylibfranka")
    except ImportError as error:
        missing = isinstance(error, ModuleNotFoundError)
        given = "nothing" if missing else one_line(str(error))
        raise InvalidInputError("pylibfranka", given, f"the bindings of libfranka: {INSTALL}") from None


def connect(address: str, realtime: str = "enforce") -> Any:
    """A `pylibfranka.Robot`.

    Args:
        address: Name or IP address of the arm.
        realtime: One of `REALTIME`.

    Raises:
        InvalidInputError: No bindings, no arm there, an arm of another version, or a machine without real time.
    """
    franka = library()
    config = franka.RealtimeConfig.kIgnore if realtime == "ignore" else franka.RealtimeConfig.kEnforce
    try:
        return franka.Robot(address, config)
    except (franka.FrankaException, RuntimeError) as error:
        raise refused(address, error) from None


def refused(address: str, error: Exception) -> InvalidInputError:
    """Why there is no connection, as an error that names what would be accepted."""
    text = sentence(error)
    if "ersion" in text:
        version = f"an arm that speaks the version of pylibfranka {library().__version__}"
        return InvalidInputError("arm", f"{address}: {text}", f"{version}: install the one of the arm's system image")
    if "eal-time" in text or "ealtime" in text:
        return InvalidInputError("realtime", f"enforce: {text}", "a real-time kernel and rtprio, or realtime: ignore")
    expected = f"a Franka with FCI active that answers on port {PORT} and serves no other client"
    return InvalidInputError("arm", f"{address}: {text}", expected)


def error_names(errors: Any) -> tuple[str, ...]:
    """Names of those `pylibfranka.Errors` that are set."""
    return tuple(re.findall(r"\w+", str(errors))) if errors else ()


def sentence(error: Exception) -> str:
    """What an exception of libfranka means, in one line, without what all of them begin with."""
    return one_line(str(error)).removeprefix("libfranka:").removeprefix("libfranka").strip(": ").rstrip(".")


def stop_reason(error: Exception, state: Any = None) -> str:
    """Why a motion ended: the names of the arm's errors first, or that a person stopped it.

    Args:
        error: What libfranka raised.
        state: A `RobotState` read afterwards, whose errors count where the exception names none; None for none.
    """
    text = sentence(error)
    names = tuple(name for group in re.findall(r"\[([^\]]*)\]", text) for name in re.findall(r"\w+", group))
    if not names and state is not None:
        names = error_names(state.current_errors) or error_names(state.last_motion_errors)
    if not names and "ser stop" in text.replace("User Stop", "User stop"):
        return "user stop"
    return ", ".join(names) if names else text
