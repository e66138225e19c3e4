"""The plant: MuJoCo scenes, flexible joints, sensors, and what really happened at an impact."""

from impact_aware.simulation.impact_truth import ImpactTruth
from impact_aware.simulation.plant import DriveMode, MujocoPlant, PlantState
from impact_aware.simulation.scene import Scene
from impact_aware.simulation.sensors import JointReading, JointSensors, SensorSettings

__all__ = [
    "DriveMode",
    "ImpactTruth",
    "JointReading",
    "JointSensors",
    "MujocoPlant",
    "PlantState",
    "Scene",
    "SensorSettings",
]
