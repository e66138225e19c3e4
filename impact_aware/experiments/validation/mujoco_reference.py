"""The impact maps against MuJoCo, where its contact model is exact: a box between two palms."""

from __future__ import annotations

import mujoco
import numpy as np
import pinocchio as pin

from impact_aware.arrays import Array
from impact_aware.contact.box import homogeneous_box
from impact_aware.errors import InvalidInputError, NoSolutionError
from impact_aware.experiments.validation.check import Check, Source, ValidationContext
from impact_aware.impact.bodies import ArmState, BodyContact
from impact_aware.impact.simultaneous import predict_simultaneous
from impact_aware.robot import RobotModel
from impact_aware.robot.inverse_kinematics import solve_inverse_kinematics
from impact_aware.simulation.mujoco_model import ToolTip, add_arm, compile_spec, new_spec

_TIME_CONSTANT = 1e-4
_TIMESTEP = 5e-6
# Impedance (`solimp`) of contacts that stop each other like rigid ones, and softer ones, the plant's among them, in
# which the points of a palm share an impulse in other ways; impacts for each of these.
_RIGID, _IMPEDANCES, _FEW = 0.9999, (0.99, 0.9, 0.5), 20
# Mean error of the joints' jump and of the box's velocity, %: half as much again as the worst of three seeds with 200
# impacts each came to.
_PALM_BOUNDS = {"frictionless": (0.15, 0.075), "sticking": (1.9, 0.5)}

MASS, HALF_SIZES = 2.20, np.array([0.10, 0.065, 0.10])
PAD = ToolTip("pad", (0.04, 0.04, 0.03))
BASES = {"left": np.array([0.0, 0.35, 0.0]), "right": np.array([0.0, -0.35, 0.0])}
# Each palm looks at the box: the tool's z axis along -y for the left arm, +y for the right one.
FACING = {"left": -1.0, "right": 1.0}
_PALM_DAMPING, _DURATION = 15.0, 5e-4
# The palms start that deep in the box, m, so that all their corners are contacts from the first step.
_TOUCH = 1e-8
_PALM_FRICTION = 2.0
_PALMS = Source(
    "MuJoCo",
    "aim",
    "bounds near what is reached: map and engine have the same bodies, what is left is the engine's compliance (the "
    "3.55 % of van Steen 2024 I-A are simulation against experiment, another thing); "
    "two Pandas 0.70 m apart, pads of 80 x 80 mm flat on a free box of 2.20 kg, "
    "0.1-0.4 m/s each with up to 0.05 m/s and 0.2 rad/s besides; MuJoCo with armature = B_theta, time constant "
    "0.1 ms, damping ratio 15, after 0.5 ms; no gravity; sticking: friction 2 in both",
)


def mujoco_palms(context: ValidationContext) -> list[Check]:
    """Mean relative error of the joint velocities' jump and of the box's velocity, frictionless and sticking."""
    robot = RobotModel.from_profile("panda")
    generator = np.random.default_rng(context.seed)
    joint_error: dict[str, list[float]] = {"frictionless": [], "sticking": []}
    box_error: dict[str, list[float]] = {"frictionless": [], "sticking": []}
    softer: dict[float, list[tuple[float, float, int]]] = {impedance: [] for impedance in _IMPEDANCES}
    points: list[int] = []
    unsolved = 0
    for trial in context.count(context.trials):
        state = _arms_at_box(robot, generator)
        if trial < _FEW:
            for impedance, found in softer.items():
                found.append(_compare(robot, *state, _PALM_FRICTION, impedance))
        for kind, friction in (("frictionless", 0.0), ("sticking", _PALM_FRICTION)):
            try:
                joints, box, count = _compare(robot, *state, friction)
            except NoSolutionError:
                unsolved += 1
                continue
            joint_error[kind].append(joints)
            box_error[kind].append(box)
            points.append(count)
    errors = [
        _PALMS.at_most(
            f"{kind}: mean relative error of {what}, %, {context.trials} impacts", bound, 100.0 * np.mean(error[kind])
        )
        for kind, bounds in _PALM_BOUNDS.items()
        for what, error, bound in zip(
            ("the joints' jump", "the box's velocity"), (joint_error, box_error), bounds, strict=True
        )
    ]
    few = min(context.trials, _FEW)
    errors += [
        _PALMS.reported(f"solimp {impedance:g}: mean relative error of {what}, %, {few} impacts", 100.0 * value)
        for impedance, found in softer.items()
        for what, value in zip(("the joints' jump", "the box's velocity"), np.mean(found, axis=0)[:2], strict=True)
    ]
    return [
        *errors,
        _PALMS.at_least("fewest contact points at once", 8, min(points)),
        Source(_PALMS.paper, "consistency").equal(
            "impacts for which the map's solver finds no solution", 0, unsolved, 0
        ),
    ]


def palm_on_box(
    robot: RobotModel, generator: np.random.Generator, name: str, centre: Array, shift: Array, depth: float = 0.0
) -> tuple[ArmState, pin.SE3]:
    """An arm that approaches the box at `centre` (3,), m, with its palm flat on it, and the pose of its tool.

    The palm is `shift` (2,) beside the middle of the face and `depth` inside the box, m.
    """
    facing = FACING[name]
    turn = pin.utils.rotate("x", -facing * 0.5 * np.pi) @ pin.utils.rotate("z", generator.uniform(-0.5, 0.5))
    place = centre + [shift[0], -facing * (HALF_SIZES[1] + PAD.half_sizes[2] - depth), shift[1]]
    q = solve_inverse_kinematics(robot, pin.SE3(turn, place - BASES[name]), seed=int(generator.integers(2**31)))
    twist = np.append(generator.uniform(-0.05, 0.05, 3), generator.uniform(-0.2, 0.2, 3))
    twist[1] += facing * generator.uniform(0.1, 0.4)
    dq = np.linalg.pinv(robot.frame_jacobian(q)) @ twist
    return ArmState(robot, q, dq, position=BASES[name]), pin.SE3(turn, place)


def _arms_at_box(robot: RobotModel, generator: np.random.Generator) -> tuple[dict[str, ArmState], Array]:
    """Both arms with their palms on the box, and its centre (3,), m, all at random."""
    while True:
        centre = np.array([generator.uniform(0.45, 0.6), 0.0, generator.uniform(0.35, 0.5)])
        try:
            arms = {}
            for name in FACING:
                shift = generator.uniform(-0.03, 0.03, 2)
                arms[name], _ = palm_on_box(robot, generator, name, centre, shift, _TOUCH)
        except InvalidInputError:
            continue
        return arms, centre


def _compare(
    robot: RobotModel, arms: dict[str, ArmState], centre: Array, friction: float, impedance: float = _RIGID
) -> tuple[float, float, int]:
    """Relative errors of the joints' jump and of the box's linear velocity, and the number of contact points."""
    model, tips = _box_between_palms(robot, centre, friction, impedance)
    data = mujoco.MjData(model)
    before = np.concatenate([arm.dq for arm in arms.values()])
    data.qpos[: 2 * robot.n] = np.concatenate([arm.q for arm in arms.values()])
    data.qvel[: 2 * robot.n] = before
    mujoco.mj_forward(model, data)
    contacts = [_read_contact(contact, tips, friction) for contact in data.contact]
    for _ in range(round(_DURATION / _TIMESTEP)):
        mujoco.mj_step(model, data)
    box = homogeneous_box(MASS, HALF_SIZES, centre)
    predicted = predict_simultaneous(contacts, arms=arms, objects={"box": box}).velocity_after
    joints = np.concatenate([predicted[arm] for arm in arms])
    joint_error = np.linalg.norm(joints - data.qvel[: 2 * robot.n]) / np.linalg.norm(data.qvel[: 2 * robot.n] - before)
    linear = data.qvel[2 * robot.n : 2 * robot.n + 3]
    # The box's own speed may be near zero when both palms hit alike: the approach is the scale that is always there.
    scale = max(float(np.linalg.norm(linear)), 0.1)
    return float(joint_error), float(np.linalg.norm(predicted["box"][:3] - linear) / scale), len(contacts)


def _box_between_palms(
    robot: RobotModel, centre: Array, friction: float, impedance: float
) -> tuple[mujoco.MjModel, dict[int, str]]:
    """Two arms and a free box about `centre` (3,), m, without gravity; the arms' palms by their geoms."""
    spec = new_spec(robot)
    spec.option.timestep = _TIMESTEP
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_EULER
    spec.option.tolerance = 1e-12
    spec.option.gravity = np.zeros(3)
    spec.option.iterations = 200
    tip_names = {
        arm: add_arm(spec, robot, prefix=f"{arm}/", base=pin.SE3(np.eye(3), base), tip=PAD).tool_geom
        for arm, base in BASES.items()
    }
    body = spec.worldbody.add_body(name="box", pos=centre)
    body.add_freejoint(name="box")
    body.explicitinertial = True
    body.mass = MASS
    body.ipos = np.zeros(3)
    body.inertia = np.diag(homogeneous_box(MASS, HALF_SIZES, centre).inertia)
    body.add_geom(name="box", type=mujoco.mjtGeom.mjGEOM_BOX, size=HALF_SIZES, contype=0, conaffinity=0)
    # MuJoCo wants positive coefficients even in dimensions that it leaves out.
    sliding = max(friction, 1e-9)
    for tip in tip_names.values():
        spec.add_pair(
            geomname1=tip,
            geomname2="box",
            condim=3 if friction > 0.0 else 1,
            friction=[sliding, sliding, 1e-9, 1e-9, 1e-9],
            solref=[_TIME_CONSTANT, _PALM_DAMPING],
            solreffriction=[_TIME_CONSTANT, _PALM_DAMPING],
            solimp=[impedance, impedance, 1e-3, 0.5, 2.0],
        )
    model = compile_spec(spec)
    return model, {model.geom(tip).id: arm for arm, tip in tip_names.items()}


def _read_contact(contact: mujoco.MjContact, tips: dict[int, str], friction: float) -> BodyContact:
    """MuJoCo's contact point as one of this package's; its normal leads from the first geom to the second."""
    first, second = int(contact.geom[0]), int(contact.geom[1])
    normal = np.array(contact.frame[:3])
    arm = tips[first] if first in tips else tips[second]
    into_arm = -normal if first in tips else normal
    return BodyContact(arm, into_arm, np.array(contact.pos), other="box", friction=friction)
