"""Requests of a libfranka client that the strict arm answers otherwise than franky-sim."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from franky_sim.franka_robot_protocol import (
    AutomaticErrorRecoveryCommand,
    AutomaticErrorRecoveryStatus,
    BaseCommand,
    GetRobotModelCommand,
    MoveCommand,
    MoveCommandControllerMode,
    MoveStatus,
    RobotCommand,
    SetCartesianImpedanceCommand,
    SetCollisionBehaviorCommand,
    SetEEToKCommand,
    SetJointImpedanceCommand,
    SetLoadCommand,
    SetNEToEECommand,
    StopMoveCommand,
)

if TYPE_CHECKING:
    from impact_aware_rigs.franka.server import StrictServer

ACCEPTED, REFUSED = 0, 1
"""Status of a setter's answer."""

REFUSALS = {True: MoveStatus.kCommandNotPossibleRejected, False: MoveStatus.kInvalidArgumentRejected}


class Move(MoveCommand):
    """Begin a motion: torques only, and only of an arm that is idle."""

    def handle(self, server: StrictServer) -> None:
        """Answer, then begin."""
        torques = self.controller_mode is MoveCommandControllerMode.kExternalController
        if not (server.idle and torques):
            self.reply(REFUSALS[torques])
            return
        server.begin_motion(self.command_id)
        self.reply(MoveStatus.kMotionStarted)


class StopMove(StopMoveCommand):
    """End a motion at the client's request."""

    def handle(self, server: StrictServer) -> None:
        """Answer, end the motion as preempted; a client sends this after a reflex, too."""
        self.reply(ACCEPTED)
        if server.moving:
            server.end_motion(MoveStatus.kPreempted)


class SetCollisionBehavior(SetCollisionBehaviorCommand):
    """Set the thresholds that reflexes follow; nominal and acceleration phases are not distinguished."""

    def handle(self, server: StrictServer) -> None:
        """Take over the nominal thresholds, refuse those that are not positive or lie below the contact's."""
        own = server.thresholds
        lower = np.array([*self.lower_torque_thresholds_nominal, *self.lower_force_thresholds_nominal])
        upper = np.array([*self.upper_torque_thresholds_nominal, *self.upper_force_thresholds_nominal])
        if server.moving or not (np.isfinite(upper).all() and (lower > 0.0).all() and (upper >= lower).all()):
            self.reply(REFUSED)
            return
        own.contact_torque, own.contact_force, own.torque, own.force = lower[:7], lower[7:], upper[:7], upper[7:]
        self.reply(ACCEPTED)


class SetJointImpedance(SetJointImpedanceCommand):
    """Keep the stiffness that a client sets: a simulated arm that holds itself does so with franky-sim's."""

    def handle(self, server: StrictServer) -> None:
        """Keep it, for tests to read."""
        server.joint_impedance = tuple(self.K_theta)
        self.reply(ACCEPTED)


class Recovery(AutomaticErrorRecoveryCommand):
    """Leave the reflex mode."""

    def handle(self, server: StrictServer) -> None:
        """Recover unless the user stop is pressed."""
        outcomes = AutomaticErrorRecoveryStatus
        self.reply(outcomes.kSuccess if server.recover() else outcomes.kEmergencyAborted)


COMMANDS: dict[RobotCommand, type[BaseCommand]] = {
    RobotCommand.kMove: Move,
    RobotCommand.kStopMove: StopMove,
    RobotCommand.kSetCollisionBehavior: SetCollisionBehavior,
    RobotCommand.kSetJointImpedance: SetJointImpedance,
    RobotCommand.kSetCartesianImpedance: SetCartesianImpedanceCommand,
    RobotCommand.kGetRobotModel: GetRobotModelCommand,
    RobotCommand.kAutomaticErrorRecovery: Recovery,
    RobotCommand.kSetLoad: SetLoadCommand,
    RobotCommand.kSetNEToEE: SetNEToEECommand,
    RobotCommand.kSetEEToK: SetEEToKCommand,
}
