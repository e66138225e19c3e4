"""One verdict per impact: does the prediction agree with what happened, by how much is it off, and what was assumed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import chi2

from impact_aware.arrays import Array

YES, NO, CANNOT_TELL = "yes", "no", "cannot_tell"

PLANT, ESTIMATE = "plant", "estimate"
"""References of a prediction's error: the simulator's own velocity after, and the one estimated from the samples."""

CONFIDENCE = 0.95
"""Probability of the error's interval, and share of right predictions that the test accepts."""

LEAST_KNOWN = 0.5
"""Uncertainty of the velocity after, as a share of the jump, from which on a test would accept any prediction."""


LEAST_ERROR = 0.5
"""Smallest standard error of a joint in the test, as a share of the root mean square over the joints: one fit gives
each joint's error only to a factor of two."""


@dataclass(frozen=True, eq=False)
class Reference:
    """Velocities that a prediction is compared with.

    Attributes:
        source: `PLANT` or `ESTIMATE`.
        before: (n,) Velocity before the impact, rad/s.
        after: (n,) Velocity after the impact, rad/s.
        after_error: (n,) Standard error of `after`, rad/s; zero for the plant's.
    """

    source: str
    before: Array
    after: Array
    after_error: Array

    @property
    def jump_size(self) -> float:
        """Norm of the jump, rad/s."""
        return float(np.linalg.norm(self.after - self.before))


@dataclass(frozen=True)
class Verdict:
    """Comparison of a prediction with what happened.

    Attributes:
        within: `YES`, `NO` or `CANNOT_TELL`: whether the prediction lies within the uncertainty of the estimate.
        distance: Root mean square over the joints of predicted minus estimated velocity in standard errors; None
            without both.
        reason: Why it can't be decided; empty for `YES` and `NO`.
        reference: `PLANT` or `ESTIMATE`; empty without either.
        error: Norm of the predicted velocity after minus the reference's, rad/s, or None.
        interval: `CONFIDENCE` interval of `error`, rad/s; None where an input was assumed, whose error is not in it.
        share: `error` over the norm of the reference's jump, or None where some input is not known to better than that.
        assumed: Inputs of the prediction that were not given, each with its value.
        live_share: `share` of the prediction that was made live and recorded, from the velocity measured until then, or
            None.
    """

    within: str
    distance: float | None
    reason: str
    reference: str
    error: float | None
    interval: tuple[float, float] | None
    share: float | None
    assumed: tuple[str, ...]
    live_share: float | None = None

    @property
    def live_text(self) -> str:
        """`live_share` and why it differs from `share`, to follow it; empty without one."""
        if self.live_share is None:
            return ""
        return f"; {100.0 * self.live_share:.1f} % as predicted live, from the velocity measured until then"


def verdict(
    predicted: Array | None,
    spread: Array | None,
    estimate: Reference | None,
    truth: Reference | None,
    *,
    assumed: tuple[str, ...] = (),
    untested: str = "",
    live: Array | None = None,
) -> Verdict:
    """Compare a prediction with the estimate, and with the plant's truth where that was recorded.

    The test compares the sum of squares of predicted minus estimated velocity, in standard errors of both, with the
    `CONFIDENCE` quantile of the chi-squared distribution of n degrees of freedom. An estimate that fails this test
    against the plant's truth decides nothing, and nor does one whose interval of the prediction's error reaches zero.

    Args:
        predicted: (n,) Velocity after, rad/s, or None.
        spread: (n,) Its standard error by the velocity before, rad/s, or None.
        estimate: Velocities that the samples show, or None.
        truth: Velocities of the plant, or None.
        assumed: Inputs of the prediction that were not given.
        untested: Why the comparison is no test of the prediction; empty where it is one.
        live: (n,) Velocity after as it was predicted live, rad/s, or None.
    """
    reference = estimate if truth is None else truth
    if predicted is None or reference is None:
        reason = "nothing was predicted" if predicted is None else "the velocity after is not known"
        return Verdict(CANNOT_TELL, None, reason, "", None, None, None, assumed)
    own = np.zeros(len(predicted)) if spread is None else np.nan_to_num(spread)
    error, interval = _error(predicted - reference.after, np.hypot(reference.after_error, own))
    within, distance, reason = _tested(predicted, own, estimate, truth, assumed, untested)
    uncertain = float(np.linalg.norm(reference.after_error))
    told = not untested and not assumed and uncertain <= error and reference.jump_size > 0.0
    share = error / reference.jump_size if told else None
    known = None if untested or assumed else interval
    found = Verdict(within, distance, reason, reference.source, error, known, share, assumed)
    if share is None or live is None:
        return found
    return replace(found, live_share=float(np.linalg.norm(live - reference.after)) / reference.jump_size)


def _tested(
    predicted: Array,
    own: Array,
    estimate: Reference | None,
    truth: Reference | None,
    assumed: tuple[str, ...],
    untested: str,
) -> tuple[str, float | None, str]:
    """Answer, distance in standard errors and reason of the comparison with the estimate."""
    if estimate is None:
        return CANNOT_TELL, None, "the samples show no velocity after"
    ratios, distance, agrees = _compared(predicted - estimate.after, np.hypot(estimate.after_error, own))
    if untested:
        return CANNOT_TELL, distance, untested
    uncertain = float(np.linalg.norm(estimate.after_error))
    if uncertain > LEAST_KNOWN * estimate.jump_size:
        reason = f"the velocity after is known to +- {uncertain:.3f} rad/s, the jump is {estimate.jump_size:.3f} rad/s"
        return CANNOT_TELL, distance, reason
    if truth is not None:
        _, apart, right = _compared(truth.after - estimate.after, estimate.after_error)
        if not right:
            reason = f"the estimate is {apart:.1f} standard errors per joint from the simulator's truth"
            return CANNOT_TELL, distance, reason
    if agrees:
        return YES, distance, ""
    _, (least, _) = _error(predicted - estimate.after, np.hypot(estimate.after_error, own))
    if least == 0.0:
        far = min(1.96, ratios.max())
        off = ", ".join(f"{ratio:.1f} (joint {joint})" for joint, ratio in enumerate(ratios, 1) if ratio >= far)
        reason = f"off by {off} standard errors, but the interval of the error of all joints reaches zero"
        return CANNOT_TELL, distance, reason
    return (CANNOT_TELL, distance, "an input that was assumed may be the reason") if assumed else (NO, distance, "")


def _compared(difference: Array, errors: Array) -> tuple[Array, float, bool]:
    """Absolute difference (n,) in standard errors (n,), its root mean square, and whether chi-squared accepts it."""
    least = max(LEAST_ERROR * float(np.sqrt(np.mean(errors**2))), 1e-9)
    ratios = np.abs(difference) / np.maximum(errors, least)
    return ratios, float(np.sqrt(np.mean(ratios**2))), bool(ratios @ ratios <= chi2.ppf(CONFIDENCE, len(ratios)))


def _error(difference: Array, errors: Array) -> tuple[float, tuple[float, float]]:
    """Norm of a difference and its interval.

    By the triangle inequality the true norm is no farther from it than the norm of the errors, whose `CONFIDENCE`
    quantile is at most that of one normal variable of the same total variance.
    """
    size, reach = float(np.linalg.norm(difference)), 1.96 * float(np.linalg.norm(errors))
    return size, (max(0.0, size - reach), size + reach)


def decided(rows: list[tuple[str, Array]], reference: Reference, spread: Array | None) -> str:
    """Name of the inertia whose prediction (n,) the reference supports against every other one; empty if undecided.

    Args:
        rows: Inertia and predicted velocity after of each variant.
        reference: What happened.
        spread: (n,) Standard error of the predictions by the velocity before, rad/s, or None.
    """
    own = np.zeros(len(reference.after)) if spread is None else np.nan_to_num(spread)
    errors = np.maximum(np.hypot(reference.after_error, own), 1e-9)
    misfits: dict[str, float] = {}
    for name, predicted in rows:
        misfit = float(np.sum(((predicted - reference.after) / errors) ** 2))
        misfits[name] = min(misfit, misfits.get(name, np.inf))
    if len(misfits) < 2:
        return ""
    best, second = sorted(misfits, key=lambda name: misfits[name])[:2]
    return best if misfits[second] - misfits[best] >= DECISIVE else ""


DECISIVE = 9.0
"""Difference of two predictions' misfits, in squared standard errors, from which the data decide between them."""
