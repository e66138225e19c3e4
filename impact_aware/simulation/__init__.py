"""Plants: MuJoCo scenes, flexible joints, small models of the papers."""

from impact_aware.simulation.impact_truth import ImpactTruth
from impact_aware.simulation.plant import DriveMode, MujocoPlant, PlantState
from impact_aware.simulation.scene import DualArmGrabScene, HitAndPushScene, Scene, load_scene, scene_names
from impact_aware.simulation.sensors import JointReading, JointSensors, SensorSettings

__all__ = [
    "DriveMode",
    "DualArmGrabScene",
    "HitAndPushScene",
    "ImpactTruth",
    "JointReading",
    "JointSensors",
    "MujocoPlant",
    "PlantState",
    "Scene",
    "SensorSettings",
    "load_scene",
    "scene_names",
]
