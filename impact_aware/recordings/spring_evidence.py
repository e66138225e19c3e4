"""Contacts that follow another so soon that joint by joint they look like ringing, told by the arm's springs.

How stiff the joints of an arm are is learnt from how they ring after the contacts that are found. `SpringModel` then
leaves ringing no freedom, and other contacts close by are parts of it, so that its windows go on beyond them. Only
candidates that are left undecided soon after a contact are asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from impact_aware.arrays import Array
from impact_aware.estimation.joint_springs import joint_springs
from impact_aware.estimation.motion_parts import RINGING
from impact_aware.estimation.ringing_band import LENGTH
from impact_aware.estimation.sample_noise import Noise
from impact_aware.estimation.spring_model import SpringModel
from impact_aware.estimation.spring_stiffness import spring_stiffness
from impact_aware.recordings.judged import SURE, Judged
from impact_aware.recordings.momentum_evidence import Samples
from impact_aware.robot import RobotModel

SOON = 0.15
"""Time after a contact in which candidates are asked, s."""

BEFORE, AFTER, SHORT = 0.12, 0.08, 0.03
"""Reach of the samples around an instant, s; the shorter one after it is for what another contact follows."""

RATES = 2.0 * RINGING[1], 300.0
"""Of the recordings that are looked at, Hz: a slower one does not see the fastest mode swing, and a faster one has
samples enough between two contacts."""

LEAST_BEFORE, LEAST_AFTER = 5, 4
"""Samples there are at least."""

SEARCH = 0.0075
"""The instant is looked for within this time and half a period, s."""

REFINED = 3e-3
"""The same once a contact is found, or 1.2 periods, s."""

CLOSEST = 0.012
"""Contacts closer than this and two periods are one, s."""

SETTLED = 0.008
"""From when on after a contact joints ring by themselves, s."""

MOST_STRETCHES = 4
"""Stretches that stiffness is learnt from."""

FITS, FITS_WELL = 2.5, 1.5
"""Mean square of the misfit up to which the model is one of these samples, and up to which it is a good one."""

CLEAR, LEAST = 20.0, 0.08
"""Logarithm of how much more likely a contact must make the samples than none, and jump of the fastest joint without
its oscillation that it must have, rad/s."""

MOST_CONTACTS = 20
"""Contacts that are added in one piece of a recording."""


@dataclass(frozen=True, eq=False)
class _View:
    """A candidate as the springs have it, None where there are too few samples, and how well these describe them.

    Attributes:
        judged: The candidate.
        misfit: Mean square of what they leave of the samples, in standard deviations.
        reach: Of the samples after it, s.
    """

    judged: Judged | None
    misfit: float
    reach: float = AFTER

    @property
    def gain(self) -> float:
        """That of `Judged`."""
        return -np.inf if self.judged is None else self.judged.gain

    def is_contact(self, contacts: Sequence[float], apart: float) -> bool:
        """Whether it is one, this far from those that are known, s."""
        if self.judged is None or self.misfit > FITS or not self.judged.is_jump:
            return False
        told = self.judged.told
        if np.abs(told.jump).max() < LEAST or self.judged.gain < CLEAR:
            return False
        return all(abs(told.time - contact) >= apart for contact in contacts)


class SpringEvidence:
    """Looks at one arm's joints as rigid bodies on springs."""

    def __init__(self, robot: RobotModel, period: float, response: Callable[[Array], Array | None]) -> None:
        """Remember the arm, the time between two samples, s, and how an impulse moves it at a posture (n,)."""
        self._robot, self._response = robot, response
        self._period = period
        self._closest = max(CLOSEST, 2.0 * period)
        self._stiffness: Array | None = None

    def resolve(self, samples: Samples, noise: Noise, judged: Sequence[Judged]) -> list[Judged]:
        """The candidates, and those among them that are contacts by the springs as such: the clearest first.

        Args:
            samples: In which they are.
            noise: Of the positions.
            judged: Each looked at by itself.
        """
        contacts = sorted(one.told.time for one in judged if one.is_jump)
        resolved = list(judged)
        views: dict[int, _View] = {}
        for _ in range(MOST_CONTACTS):
            asked = [place for place, one in enumerate(resolved) if not one.is_jump and self._soon(one, contacts)]
            if not asked or not self._learn(samples, noise, contacts):
                break
            for place in asked:
                if place not in views:
                    views[place] = self._judge(samples, noise, judged[place], contacts)
            sure = [(views[place].gain, place) for place in asked if views[place].is_contact(contacts, self._closest)]
            if not sure:
                break
            place = max(sure)[1]
            view = self._refined(samples, noise, judged[place], views[place], contacts)
            if view.is_contact(contacts, self._closest):
                assert view.judged is not None
                resolved[place] = view.judged
                contacts = sorted((*contacts, view.judged.told.time))
                # What is near it looks otherwise from now on.
                reach = max(BEFORE, AFTER) + 2.0 * SEARCH
                near = [other for other in views if abs(judged[other].instant - judged[place].instant) < reach]
                for other in near:
                    del views[other]
            else:
                views[place] = _View(None, np.inf)
        return resolved

    def _soon(self, one: Judged, contacts: Sequence[float]) -> bool:
        """Whether a candidate follows a contact soon, and is beside all of them."""
        since = [one.instant - contact for contact in contacts]
        return any(0.0 < each < SOON for each in since) and min(map(abs, since)) >= self._closest

    def _learn(self, samples: Samples, noise: Noise, jumps: Sequence[float]) -> bool:
        """Whether the stiffness of the joints is known, from what follows the jumps."""
        if self._stiffness is not None:
            return True
        times = samples.times
        stretches: list[tuple[Array, Array]] = []
        for jump, following in zip(jumps, (*jumps[1:], np.inf), strict=True):
            begin = jump + SETTLED
            while len(stretches) < MOST_STRETCHES:
                end = min(begin + LENGTH, following - SETTLED, times[-1])
                first, after = np.searchsorted(times, (begin, end)).tolist()
                chosen = slice(first, after)
                if end - begin < 0.6 * LENGTH or len(times[chosen]) < LEAST_BEFORE + LEAST_AFTER:
                    break
                stretches.append((times[chosen], samples.positions[chosen]))
                begin += LENGTH
        if stretches:
            self._stiffness = spring_stiffness(self._robot, stretches, noise)
        return bool(stretches)

    def _judge(self, samples: Samples, noise: Noise, one: Judged, known: Sequence[float]) -> _View:
        """A candidate beside known contacts.

        Where another contact follows that is not known yet, only the samples before it tell.
        """
        search = SEARCH + 0.5 * self._period
        whole = self._look(samples, noise, one, one.instant, known, AFTER, search)
        if whole.misfit < FITS_WELL:
            return whole
        short = self._look(samples, noise, one, one.instant, known, SHORT, search)
        return short if short.misfit < FITS and (whole.misfit > FITS or short.gain > whole.gain) else whole

    def _refined(self, samples: Samples, noise: Noise, one: Judged, view: _View, known: Sequence[float]) -> _View:
        """The same about where it is found: an instant at the end of a search may be of what is beyond it."""
        assert view.judged is not None
        reach = max(REFINED, 1.2 * self._period)
        return self._look(samples, noise, one, view.judged.told.time, known, view.reach, reach)

    def _look(
        self,
        samples: Samples,
        noise: Noise,
        one: Judged,
        instant: float,
        known: Sequence[float],
        reach: float,
        search: float,
    ) -> _View:
        """A candidate beside known contacts from samples of this reach after an instant, within a search of it, s."""
        assert self._stiffness is not None
        times = samples.times
        first, after = np.searchsorted(times, (instant - BEFORE, instant + reach)).tolist()
        chosen = slice(first, after)
        stamps, places = times[chosen], samples.positions[chosen]
        before = int(np.searchsorted(stamps, instant))
        if before < LEAST_BEFORE or len(stamps) - before < LEAST_AFTER:
            return _View(None, np.inf)
        inside = [contact for contact in known if stamps[0] < contact < stamps[-1]]
        posture = places[before]
        springs = joint_springs(self._robot, posture, self._stiffness)
        model = SpringModel(stamps, places, noise, springs, self._response(posture), inside)
        begin, end = max(instant - search, float(stamps[2])), min(instant + search, float(stamps[-3]))
        branches, misfit = model.judge(begin, end)
        return _View(replace(one, sprung=branches, sure=SURE), misfit, reach)
