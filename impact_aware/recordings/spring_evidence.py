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
from impact_aware.estimation.branches import Branches
from impact_aware.estimation.joint_springs import joint_springs
from impact_aware.estimation.motion_parts import RINGING
from impact_aware.estimation.part_choices import LONG_CONTACT_TIMES
from impact_aware.estimation.ringing_band import LENGTH
from impact_aware.estimation.sample_noise import Noise
from impact_aware.estimation.spring_model import SpringModel
from impact_aware.estimation.spring_stiffness import spring_stiffness
from impact_aware.recordings.judged import SIZE, SURE, Judged
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

CLOSEST = LONG_CONTACT_TIMES[-1]
"""Contacts closer than this are one, s: how the force of one goes on is not known as well."""

APART = 0.012
"""From which distance of a contact on a candidate is asked, s: it may be of one that is farther away."""

NEAR = 5
"""Samples before and after a contact that only springs can judge, from which it has its mean velocities."""

SETTLED = 0.008
"""From when on after a contact joints ring by themselves, s."""

MOST_STRETCHES = 4
"""Stretches that stiffness is learnt from."""

FITS, FITS_WELL = 2.5, 1.5
"""Mean square of the misfit up to which the model is one of these samples, and up to which it is a good one."""

CLEAR, LEAST = 30.0, 0.08
"""Logarithm of how much more likely a contact must make the samples than none, and jump of the fastest joint without
its oscillation that it must have, rad/s."""

MOST_CONTACTS = 20
"""Contacts that are added in one piece of a recording."""


@dataclass(frozen=True, eq=False)
class _View:
    """A candidate as the springs have it, and how well these describe its samples.

    Attributes:
        told: What it may be; None where there are too few samples.
        misfit: Mean square of what springs leave of the samples, in standard deviations.
        reach: Of the samples after it, s.
    """

    told: Branches | None
    misfit: float = np.inf
    reach: float = AFTER

    @property
    def gain(self) -> float:
        """Logarithm of how much more likely a contact makes the samples than all else."""
        told = self.told
        return -np.inf if told is None else told.kink - max(told.smooth, told.step, told.carried)

    def is_contact(self, contacts: Sequence[float], apart: float) -> bool:
        """Whether it is one, this far from those that are known, s."""
        told = self.told
        if told is None or self.misfit > FITS or self.gain < CLEAR:
            return False
        size = np.abs(told.jump)
        if size.max() < LEAST or not (size > SIZE * told.jump_std).any():
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

    def resolve(
        self, samples: Samples, noise: Noise, judged: Sequence[Judged], unjudged: Sequence[float] = ()
    ) -> list[Judged]:
        """The candidates, and those among them that are contacts by the springs as such: the clearest first.

        Args:
            samples: In which they are.
            noise: Of the positions.
            judged: Each looked at by itself.
            unjudged: Instants of more of them, s, too close to others for that; what is no contact is left out.
        """
        contacts = sorted(one.told.time for one in judged if one.is_jump)
        instants = [*(one.instant for one in judged), *unjudged]
        settled = {place for place, one in enumerate(judged) if one.is_jump or one.refuted}
        open_ones = [place for place in range(len(instants)) if place not in settled]
        found: dict[int, Branches] = {}
        views: dict[int, _View] = {}
        while len(found) < MOST_CONTACTS:
            asked = [place for place in open_ones if place not in found and self._soon(instants[place], contacts)]
            if not asked or not self._learn(samples, noise, contacts):
                break
            for place in asked:
                if place not in views:
                    views[place] = self._judge(samples, noise, instants[place], contacts)
            sure = [(views[place].gain, place) for place in asked if views[place].is_contact(contacts, self._closest)]
            if not sure:
                break
            place = max(sure)[1]
            view = self._refined(samples, noise, views[place], contacts)
            views[place] = _View(None)
            if view.told is not None and view.is_contact(contacts, self._closest):
                found[place] = view.told
                contacts = sorted((*contacts, view.told.time))
                # What is near it looks otherwise from now on.
                reach = max(BEFORE, AFTER) + 2.0 * SEARCH
                near = [other for other in views if abs(instants[other] - instants[place]) < reach]
                for other in near:
                    del views[other]
        resolved = [
            replace(one, sprung=found[place], sure=SURE) if place in found else one for place, one in enumerate(judged)
        ]
        return resolved + [self._told(samples, told) for place, told in found.items() if place >= len(judged)]

    def _soon(self, instant: float, contacts: Sequence[float]) -> bool:
        """Whether a candidate follows a contact soon, and is beside all of them."""
        since = [instant - contact for contact in contacts]
        return any(0.0 < each < SOON for each in since) and min(map(abs, since)) >= APART

    def _told(self, samples: Samples, told: Branches) -> Judged:
        """A contact that nothing but springs could judge."""
        times, positions = samples.times, samples.positions
        after = int(np.searchsorted(times, told.time))
        sides = np.array([[after - NEAR, after - 1], [after, after + NEAR - 1]]).clip(0, len(times) - 1)
        speed = np.stack([(positions[b] - positions[a]) / (times[b] - times[a]) for a, b in sides.tolist()])
        return Judged(told.time, told, speed, speed, self._period, SURE, sprung=told)

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

    def _judge(self, samples: Samples, noise: Noise, instant: float, known: Sequence[float]) -> _View:
        """A candidate beside known contacts.

        Where another contact follows that is not known yet, only the samples before it tell.
        """
        search = SEARCH + 0.5 * self._period
        whole = self._look(samples, noise, instant, known, AFTER, search)
        if whole.misfit < FITS_WELL:
            return whole
        short = self._look(samples, noise, instant, known, SHORT, search)
        return short if short.misfit < FITS and (whole.misfit > FITS or short.gain > whole.gain) else whole

    def _refined(self, samples: Samples, noise: Noise, view: _View, known: Sequence[float]) -> _View:
        """The same about where it is found: an instant at the end of a search may be of what is beyond it."""
        assert view.told is not None
        reach = max(REFINED, 1.2 * self._period)
        return self._look(samples, noise, view.told.time, known, view.reach, reach)

    def _look(
        self, samples: Samples, noise: Noise, instant: float, known: Sequence[float], reach: float, search: float
    ) -> _View:
        """A candidate beside known contacts from samples of this reach after an instant, within a search of it, s."""
        assert self._stiffness is not None
        times = samples.times
        first, after = np.searchsorted(times, (instant - BEFORE, instant + reach)).tolist()
        chosen = slice(first, after)
        stamps, places = times[chosen], samples.positions[chosen]
        before = int(np.searchsorted(stamps, instant))
        if before < LEAST_BEFORE or len(stamps) - before < LEAST_AFTER:
            return _View(None)
        inside = [contact for contact in known if stamps[0] < contact < stamps[-1]]
        posture = places[before]
        springs = joint_springs(self._robot, posture, self._stiffness)
        model = SpringModel(stamps, places, noise, springs, self._response(posture), inside)
        begin, end = max(instant - search, float(stamps[2])), min(instant + search, float(stamps[-3]))
        return _View(*model.judge(begin, end), reach)
