"""The law and the command filter in a loop of their own, for tests whose states jump as no arm's can."""

import numpy as np

from impact_aware.control.controller import ReferenceSpreadingController
from impact_aware.control.safety.command_filter import CommandFilter


class LawLoop(ReferenceSpreadingController):
    """Commands as a session sends them, without its judgement of states."""

    def __init__(self, robots, *args, **more):
        super().__init__(robots if isinstance(robots, list) else [robots], *args, **more)
        self.filter = CommandFilter([arm.robot for arm in self.arms], self.parameters.period)
        self.sent = []

    def start(self, time, q, dq):
        super().start(time, q, dq)
        self._begin()

    def _begin(self):
        if not self.filter.begun:
            self.filter.begin(self.gravity)

    def _filtered(self, command):
        self._begin()
        self.filter.apply(command.effort, self.gravity)
        self.sent.append(self.filter.previous)
        return command._replace(effort=self.filter.effort)

    def cycle(self, time, q, dq, **more):
        if not self.filter.begun and np.isfinite(q).all():
            # The range of the first cycle is about the gravity torque at its posture.
            self.refresh(q, dq)
            self._begin()
        return self._filtered(self.update(time, q, dq, self.filter.range, **more))
