"""Asks a controller manager to take something off an arm, again and again until it is confirmed."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from enum import StrEnum
from typing import Any

from rclpy.client import Client
from rclpy.node import Node
from rclpy.task import Future

ANSWER_TIMEOUT = 2.0
"""Wall time after which an answer is not waited for any more, s."""

RETRY_PERIOD = 0.1
"""Wall time between two attempts while nobody has confirmed it, s."""


class Outcome(StrEnum):
    """How far it is."""

    ON = "on"
    ASKED = "asked"
    OFF = "off"


class Deactivation(ABC):
    """What one service of a controller manager takes off an arm.

    Attributes:
        outcome: Of `deactivate`.
        said: What the controller manager said to it last.
    """

    def __init__(self, node: Node, manager: str, service: Any, name: str) -> None:
        """Ask nothing yet.

        Args:
            node: On whose executor the answers come.
            manager: Name of the controller manager's node, relative to the node's namespace.
            service: Class of the service that does it.
            name: Of that service, below the manager's.
        """
        self._manager = node.resolve_service_name(manager)
        self._client: Client = node.create_client(service, f"{manager}/{name}")
        self._asked = -ANSWER_TIMEOUT
        self._pending: Future | None = None
        self.outcome = Outcome.ON
        self.said = ""

    @abstractmethod
    def lacks(self) -> str:
        """Why it could not be done if it had to be, in one sentence; empty when it could."""

    @abstractmethod
    def _request(self) -> Any:
        """What is asked for."""

    @abstractmethod
    def _take(self, answer: Any) -> None:
        """Set `outcome` and `said`."""

    def look(self) -> None:
        """Go on, now and then."""
        if self.outcome is Outcome.ASKED:
            self._ask()

    def deactivate(self) -> None:
        """Ask for it now, and with each `look` until it is confirmed."""
        self.outcome, self.said = Outcome.ASKED, ""
        self._ask_anew()

    def forget(self) -> None:
        """It may be active again."""
        self.outcome, self.said = Outcome.ON, ""

    def _ask_anew(self) -> None:
        """Whatever was asked before."""
        self._pending, self._asked = None, -ANSWER_TIMEOUT
        self._ask()

    def _ask(self) -> None:
        now = time.monotonic()
        pending = self._pending is not None and not self._pending.done()
        if now - self._asked < (ANSWER_TIMEOUT if pending else RETRY_PERIOD):
            return
        if pending and self._pending is not None:
            self._client.remove_pending_request(self._pending)
            self.said = f"{self._manager} does not answer"
        self._asked, self._pending = now, None
        if not self._client.service_is_ready():
            self.said = f"there is no {self._manager}"
            return
        self._pending = self._client.call_async(self._request())
        self._pending.add_done_callback(self._on_answer)

    def _on_answer(self, future: Future) -> None:
        answer = future.result()
        if answer is not None and self.outcome is Outcome.ASKED:
            self._take(answer)
