"""Impact maps: from the state just before an impact to the state just after."""

from impact_aware.impact.prediction import ImpactPrediction
from impact_aware.impact.predictor import ImpactPredictor, predict
from impact_aware.impact.registry import DEFAULT_METHOD, IMPACT_MAPS

__all__ = ["DEFAULT_METHOD", "IMPACT_MAPS", "ImpactPrediction", "ImpactPredictor", "predict"]
