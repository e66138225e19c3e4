"""What a fuzzed node is sent: good messages and requests, spoilt ones, and bytes that are no message any more."""

from __future__ import annotations

import functools
import importlib
from typing import Any

from rclpy.serialization import serialize_message
from std_srvs.srv import Trigger

from impact_aware_rigs.fuzz.random_bytes import spoil_bytes
from impact_aware_rigs.fuzz.random_messages import RandomMessages
from impact_aware_rigs.fuzz.templates import Templates

SERVICES = ("predict_post_impact", "set_task", "start", "reset", "safe_stop", "begin")
"""Services of the nodes' own, by the last part of their names."""

RANDOM_SHARE = 0.15
"""Of spoilt messages, those of which nothing is left."""

BYTES_SHARE = 0.5
"""Of spoilt messages that are given as bytes, those whose bytes are spoilt too."""


class Traffic:
    """Messages and requests of one task.

    Attributes:
        generator: Of all that is random.
        draw: A random number in [0, 1).
    """

    def __init__(self, task: str, seed: int) -> None:
        """Load the task, by name."""
        self._random = RandomMessages(seed, _empty)
        self.generator = self._random.generator
        self.draw = self.generator.random
        self._templates = Templates(task, self.generator)

    def message(self, kind: type, topic: str, *, spoil: bool) -> Any:
        """A good message, one with some fields spoilt, or one of nothing but random fields."""
        if spoil and self.draw() < RANDOM_SHARE:
            return self._random.value(type_name(kind))
        message = self._templates.make(kind, topic)
        return self._random.spoil(message, self.generator.randrange(1, 4)) if spoil else message

    def data(self, kind: type, topic: str, *, spoil: bool, raw: bool) -> bytes:
        """The same serialized; with spoilt bytes too when `raw`."""
        data: bytes = serialize_message(self.message(kind, topic, spoil=spoil))
        return spoil_bytes(data, self.generator) if raw and spoil and self.draw() < BYTES_SHARE else data

    def request(self, kind: type, *, spoil: bool) -> tuple[Any, bool]:
        """A request of a service type, and whether it is spoilt: some have nothing that could be."""
        request = self._templates.request(kind)
        spoil = spoil and kind is not Trigger
        return (self._random.spoil(request, self.generator.randrange(1, 4)) if spoil else request), spoil


def type_name(kind: type) -> str:
    """Such as `geometry_msgs/Point`."""
    return f"{kind.__module__.split('.')[0]}/{kind.__name__}"


@functools.cache
def _class(name: str) -> type:
    package, _, last = name.partition("/")
    return getattr(importlib.import_module(f"{package}.msg"), last.rpartition("/")[2])


def _empty(name: str) -> Any:
    """An empty message of a type such as `geometry_msgs/Point`."""
    return _class(name)()
