"""The hit that leads to a wanted result: where, with what posture and how fast; and how fast an arm may hit where."""

from impact_aware.planning.outcome import HitUncertainty
from impact_aware.planning.plan import HitPlan, plan_hit
from impact_aware.task.result import WantedResult

__all__ = ["HitPlan", "HitUncertainty", "WantedResult", "plan_hit"]
