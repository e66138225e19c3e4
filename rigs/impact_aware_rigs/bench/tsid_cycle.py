"""TSID on given states, as a program of its own: TSID may come with another version of Pinocchio than this project's.

    python tsid_cycle.py PROBLEM.npz RESULT.npz

It needs NumPy, Pinocchio and TSID only. The problem has the bodies of the arms, their states, and per state the wanted
tool acceleration, the wanted acceleration of the null-space joint and the torques that can be sent; the result has the
torques and the times of each cycle, s, wall and processor.
"""

from __future__ import annotations

import gc
import importlib
import sys
import time
from importlib.metadata import version
from typing import Any

import numpy as np
import pinocchio as pin


def model_of(problem: Any) -> pin.Model:
    """Put the arms' bodies together, joint after joint, with their tools as frames."""
    model = pin.Model()
    for index, parent in enumerate(problem["parents"]):
        placement = pin.SE3(problem["rotations"][index], problem["translations"][index])
        joint = model.addJoint(int(parent), pin.JointModelRZ(), placement, f"joint_{index}")
        mass, lever, inertia = problem["masses"][index], problem["levers"][index], problem["inertias"][index]
        model.appendBodyToJoint(joint, pin.Inertia(float(mass), lever, inertia), pin.SE3.Identity())
    for index, joint in enumerate(problem["tool_joints"]):
        placement = pin.SE3(problem["tool_rotations"][index], problem["tool_translations"][index])
        model.addFrame(pin.Frame(f"tool_{index}", int(joint), 0, placement, pin.FrameType.OP_FRAME))
    model.armature = problem["armature"]
    model.effortLimit = problem["effort"]
    model.velocityLimit = problem["velocity"]
    model.lowerPositionLimit = problem["lower"]
    model.upperPositionLimit = problem["upper"]
    return model


def solve_all() -> None:
    """Read a problem, solve it state by state, write the result."""
    tsid = importlib.import_module("tsid")
    problem = np.load(sys.argv[1])
    model = model_of(problem)
    robot = tsid.RobotWrapper(model, tsid.FIXED_BASE_SYSTEM, False)
    formulation = tsid.InverseDynamicsFormulationAccForce("arms", robot, False)
    q, dq = problem["q"], problem["dq"]
    formulation.computeProblemData(0.0, q[0], dq[0])
    tools, tool_samples = [], []
    for index in range(problem["tool_joints"].size):
        task = tsid.TaskSE3Equality(f"tool_{index}", robot, f"tool_{index}")
        task.setKp(np.zeros(6))
        task.setKd(np.zeros(6))
        formulation.addMotionTask(task, float(problem["track_weight"]), 1, 0.0)
        tools.append(task)
        sample = tsid.TrajectorySample(12, 6)
        sample.value(np.concatenate([np.zeros(3), np.eye(3).ravel()]))
        tool_samples.append(sample)
    held = tsid.TaskJointPosture("held", robot)
    held.setKp(np.zeros(model.nv))
    held.setKd(np.zeros(model.nv))
    held.setMask(problem["held"])
    formulation.addMotionTask(held, float(problem["null_weight"]), 1, 0.0)
    held_sample = tsid.TrajectorySample(model.nv)
    torques = tsid.TaskActuationBounds("torques", robot)
    torques.setBounds(problem["lowest"][0], problem["highest"][0])
    formulation.addActuationTask(torques, 1.0, 0, 0.0)
    velocities = tsid.TaskJointBounds("velocities", robot, float(problem["horizon"]))
    velocities.setVelocityBounds(-problem["velocity"], problem["velocity"])
    formulation.addMotionTask(velocities, 1.0, 0, 0.0)
    solver = tsid.SolverHQuadProgFast("solver")
    solver.resize(formulation.nVar, formulation.nEq, formulation.nIn)

    efforts, wall, processor = np.empty_like(q), np.empty(len(q)), np.empty(len(q))
    wanted, joint_wanted, lowest, highest = (problem[name] for name in ("wanted", "null", "lowest", "highest"))
    gc.disable()
    for cycle in range(len(q)):
        begin, worked = time.perf_counter(), time.thread_time()
        for index, task in enumerate(tools):
            tool_samples[index].second_derivative(wanted[cycle, index])
            task.setReference(tool_samples[index])
        held_sample.second_derivative(joint_wanted[cycle])
        held.setReference(held_sample)
        torques.setBounds(lowest[cycle], highest[cycle])
        data = formulation.computeProblemData(0.0, q[cycle], dq[cycle])
        solution = solver.solve(data)
        efforts[cycle] = formulation.getActuatorForces(solution)
        processor[cycle], wall[cycle] = time.thread_time() - worked, time.perf_counter() - begin
    np.savez(
        sys.argv[2],
        efforts=efforts,
        wall=wall,
        processor=processor,
        versions=[f"tsid {version('tsid')}", f"pin {version('pin')}"],
    )


if __name__ == "__main__":
    solve_all()
