"""What a viewer shows now, so that nothing is left over: groups of markers, replaced as a whole."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from impact_aware.markers.marker import Marker


@dataclass(frozen=True, eq=False)
class Changes:
    """Changes of the shown markers.

    Attributes:
        add: Markers that are new or replace one of the same name.
        delete: Frame, namespace and id of those to take away.
    """

    add: tuple[Marker, ...] = ()
    delete: tuple[tuple[str, str, int], ...] = ()

    def __bool__(self) -> bool:
        """Return whether there is any change."""
        return bool(self.add or self.delete)


class MarkerBoard:
    """Remembers which markers are shown, group by group."""

    def __init__(self) -> None:
        """Nothing is shown."""
        self._groups: dict[str, tuple[float, dict[tuple[str, int], Marker]]] = {}

    def show(self, group: str, markers: Iterable[Marker], now: float) -> Changes:
        """Replace a group: its new markers, and those of the old ones that the new ones do not replace.

        Args:
            group: Any name.
            markers: What the group shows from now on; none takes it away.
            now: s, to know which have faded by their lifetime.
        """
        shown = {marker.name: marker for marker in markers}
        before = self._alive(group, now)
        self._groups[group] = (now, shown)
        gone = tuple((old.frame, *name) for name, old in before.items() if name not in shown)
        return Changes(tuple(shown.values()), gone)

    def everything(self, now: float) -> tuple[Marker, ...]:
        """All that is shown at `now`, s: what a viewer that joins late must be sent."""
        return tuple(marker for group in self._groups for marker in self._alive(group, now).values())

    def namespaces(self, now: float) -> set[str]:
        """Return the namespaces of all shown markers."""
        return {marker.namespace for marker in self.everything(now)}

    def clear(self) -> None:
        """Forget everything, as after a DELETEALL."""
        self._groups.clear()

    def _alive(self, group: str, now: float) -> dict[tuple[str, int], Marker]:
        since, markers = self._groups.get(group, (now, {}))
        return {
            name: marker for name, marker in markers.items() if marker.lifetime == 0.0 or now <= since + marker.lifetime
        }
