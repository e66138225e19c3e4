"""Whether there is a screen to open a window on."""

from __future__ import annotations

import os

from impact_aware.errors import InvalidInputError

SCREENS = ("DISPLAY", "WAYLAND_DISPLAY")


def check_screen(who: str) -> None:
    """Refuse a window where no environment variable names a screen.

    Raises:
        InvalidInputError: Neither X nor Wayland, for `who`.
    """
    if not any(os.environ.get(name) for name in SCREENS):
        raise InvalidInputError(who, "no screen", f"{' or '.join(SCREENS)} in the environment, as a desktop sets them")
