"""A simulated Franka that a libfranka client connects to: MuJoCo, the network protocol, and the arm's own refusals."""

from impact_aware_rigs.franka.arm import ArmStatus, SimulatedFranka, missing_packages
from impact_aware_rigs.franka.options import ArmOptions

__all__ = ["ArmOptions", "ArmStatus", "SimulatedFranka", "missing_packages"]
