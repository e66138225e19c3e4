"""The scene of a hit in which a tool that points down meets the box below its hand."""

from dataclasses import replace

from impact_aware.simulation import Scene


def flat_box_scene():
    """The default scene with a box so flat that the Panda's hand stays above it."""
    scene = Scene()
    return replace(scene, object=replace(scene.object, half_sizes=(0.10, 0.065, 0.045)))
