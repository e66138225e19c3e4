"""The scene around an impact as marker descriptions: data that RViz, a picture or a test reads, without ROS."""

from impact_aware.analysis.markers.board import Changes, MarkerBoard
from impact_aware.analysis.markers.marker import Kind, Marker
from impact_aware.analysis.markers.records import Impact, Outcome, impact_from_message
from impact_aware.analysis.markers.scene import SceneMarkers
from impact_aware.analysis.markers.style import MarkerStyle

__all__ = [
    "Changes",
    "Impact",
    "Kind",
    "Marker",
    "MarkerBoard",
    "MarkerStyle",
    "Outcome",
    "SceneMarkers",
    "impact_from_message",
]
