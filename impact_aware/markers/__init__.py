"""The scene around an impact as marker descriptions: data that RViz, a picture or a test reads, without ROS."""

from impact_aware.markers.board import Changes, MarkerBoard
from impact_aware.markers.marker import Kind, Marker
from impact_aware.markers.scene import SceneMarkers
from impact_aware.markers.style import MarkerStyle

__all__ = [
    "Changes",
    "Kind",
    "Marker",
    "MarkerBoard",
    "MarkerStyle",
    "SceneMarkers",
]
