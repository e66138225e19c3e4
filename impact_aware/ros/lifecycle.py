"""A lifecycle node that no client can end by a transition which its state does not have, and that can be cleaned up."""

from __future__ import annotations

from typing import Any

from lifecycle_msgs.srv import ChangeState, GetState
from rclpy.lifecycle import LifecycleNode

ENTITIES = ("timer", "subscription", "service", "client", "publisher")
"""Kinds of what a node has, in the order in which they are destroyed."""


class SteadyLifecycleNode(LifecycleNode):
    """rclpy's own lets the exception of a transition that is not there out of the executor, which ends the process."""

    def __init__(self, name: str, **ros: Any) -> None:
        """Create the node with its transition services; `ros` goes to rclpy's node."""
        super().__init__(name, **ros)
        service = self._transition_service("change_state")
        change = service.callback

        def answer(request: ChangeState.Request, response: ChangeState.Response) -> ChangeState.Response:
            try:
                return change(request, response)
            except Exception as error:  # noqa: BLE001 - rclpy does not say which; whichever, the arm needs this node
                wanted = request.transition.label or request.transition.id
                self.get_logger().error(f"transition {wanted} refused: {error}")
                response.success = False
                return response

        service.callback = answer

    def mark(self) -> None:
        """Remember what the node has now; see `destroy_since_mark`."""
        self._marked = {kind: list(getattr(self, f"{kind}s")) for kind in ENTITIES}

    def destroy_since_mark(self) -> None:
        """Destroy what was created since `mark`: a configuration leaves nothing behind."""
        for kind in ENTITIES:
            for own in list(getattr(self, f"{kind}s")):
                if own not in self._marked[kind]:
                    getattr(self, f"destroy_{kind}")(own)

    def state_label(self) -> str:
        """Its primary state, such as `active`, as the service `get_state` reports it."""
        callback = self._transition_service("get_state").callback
        return str(callback(GetState.Request(), GetState.Response()).current_state.label)

    def _transition_service(self, name: str) -> Any:
        """One that rclpy made, of all that the node has."""
        return next(own for own in self.services if own.srv_name.rpartition("/")[2] == name)
