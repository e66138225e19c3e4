"""Pictures of what RViz shows, from recordings, without ROS and without a screen."""

from impact_aware.render.picture import draw_scene
from impact_aware.render.recorded_scene import RecordedArm, RecordedScene, read_scene

__all__ = ["RecordedArm", "RecordedScene", "draw_scene", "read_scene"]
