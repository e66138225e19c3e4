"""Coverage of a prediction's spread: how often drawn inputs stay inside one and two standard deviations."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pinocchio as pin

from impact_aware.contact.box import Box
from impact_aware.contact.geometry import Contact, contact_point
from impact_aware.contact.shape import PlacedShape
from impact_aware.experiments.validation.check import Check, Source, ValidationContext
from impact_aware.impact.hit import predict_hit
from impact_aware.impact.hit_uncertainty import predict_hit_with_covariance
from impact_aware.impact.predictor import predict
from impact_aware.impact.table_support import TableSupport
from impact_aware.impact.uncertainty import InputCovariance, predict_with_covariance
from impact_aware.robot import RobotModel

_PALM_STD = {"position": 2e-3, "velocity": 3e-3, "friction": 3e-3, "restitution": 5e-3, "motor_inertia": 5e-3}
_PALM_STD |= {"link_inertia": 0.05, "object_mass": 0.05}
_STD = _PALM_STD | {"normal": 2e-3, "point": 1e-3}
_SIZES = {"normal": 3, "point": 3, "friction": None, "restitution": None, "object_mass": None}
_PALM, _BOX, _UP, _MU, _DRAWS = (0.04, 0.035, 0.03), Box((0.1, 0.065, 0.12)), (0.0, 0.0, 1.0), 0.3, 20
_SETTING = f"Panda onto a box; standard deviations {_STD}, of inertias shares; of a palm's normal and point none"
_SPREAD = Source("coverage", "aim", _SETTING)


def spread(context: ValidationContext) -> list[Check]:
    """Share of drawn velocities after the impact inside one and two standard deviations, by what is uncertain."""
    robot, checks = RobotModel.from_profile("panda"), list[Check]()
    cases = [("tip", False, False, _STD), ("tip and table", False, True, _STD)]
    cases += [("palm", True, False, _PALM_STD), ("palm and table", True, True, _PALM_STD)]
    cases += [(f"tip and table, {name} alone", False, True, {name: std}) for name, std in _STD.items()]
    for _, (label, palm, table, std) in zip(context.count(len(cases)), cases, strict=True):
        generator = np.random.default_rng(context.seed)
        scenes = [_errors(robot, generator, std, palm, table) for _ in range(1 + context.trials // (8 if palm else 4))]
        for changes in (False, True):
            own = [found for changed, found in scenes if changed == changes and found.size]
            for limit, share in ((1, 0.683), (2, 0.954)) if own else ():
                held = float(np.mean(np.concatenate([found.ravel() for found in own]) < limit))
                quantity = f"{label}: share inside {limit} sigma, mode {'may change' if changes else 'kept'}"
                # The bound, or three standard errors of so many draws where one input moves all joints.
                bound = max(0.03, 3.0 * float(np.sqrt(share * (1.0 - share) / (_DRAWS * len(own)))))
                checks += [_SPREAD.reported(quantity, held) if changes else _SPREAD.equal(quantity, share, held, bound)]
    return checks


def _errors(robot: RobotModel, generator: np.random.Generator, std: dict[str, float], palm: bool, table: bool) -> Any:
    """Whether the mode may change, and how many standard deviations the draws are off (k, n)."""
    q = robot.home + generator.uniform(-0.2, 0.2, robot.n)
    tool, radius = robot.placement(q), robot.tool_radius
    facing, mu = tool.rotation[:, 2], generator.uniform(0.1, 0.9)
    contact = Contact("tool", -facing, friction=mu, restitution=0.2, radius=radius)
    rotation = np.column_stack((tool.rotation[:, 0], -facing, np.cross(tool.rotation[:, 0], -facing)))
    away = (_PALM[2] if palm else radius) + _BOX.half_extents[1]
    body = PlacedShape(_BOX, tool.translation + away * facing + rotation @ [0.02, 0.0, -0.03], rotation)
    twist = [*(generator.uniform(0.1, 0.5) * facing + generator.normal(0.0, 0.1, 3)), 0.0, 0.0, 0.0]
    dq, mass = np.linalg.pinv(robot.frame_jacobian(q)) @ twist, generator.uniform(0.5, 3.0)

    def scene(mass: float) -> dict[str, Any]:
        thing, palms = body.free_object(mass), {"shape": body, "table_friction": _MU if table else None}
        return {"obstacle": thing} | (
            palms if palm else {"table": TableSupport(body, thing, _MU, _UP) if table else None}
        )

    sizes, known = ((_PALM,) if palm else ()), InputCovariance(**{name: each**2 for name, each in std.items()})
    ways: Any = (predict_hit_with_covariance, predict_hit) if palm else (predict_with_covariance, predict)
    found, errors = ways[0](robot, q, dq, contact, *sizes, known, **scene(mass)), []
    for _ in range(_DRAWS):
        x: dict[str, Any] = {
            name: std.get(name, 0.0) * generator.normal(size=_SIZES.get(name, robot.n)) for name in _STD
        }
        model = robot.model.copy()
        for joint, share in enumerate(1.0 + x["link_inertia"], 1):
            own = robot.model.inertias[joint].toDynamicParameters()
            model.inertias[joint] = pin.Inertia.FromDynamicParameters(share * own)
        motors = np.maximum(robot.apparent_motor_inertia + x["motor_inertia"], 0.0)
        arm = RobotModel(model, name="drawn", tool_frame="tool", apparent_motor_inertia=motors)
        at: Any = {"friction": max(mu + x["friction"], 0.0), "restitution": 0.2 + x["restitution"]}
        place, state = replace(contact, normal=contact.normal + x["normal"], **at), q + x["position"]
        if not palm:
            place = replace(place, point=contact_point(arm, state, place) + x["point"])
        drawn = ways[1](arm, state, dq + x["velocity"], place, *sizes, **scene(mass * (1.0 + x["object_mass"])))
        errors.append(drawn.velocity_after - found.prediction.velocity_after)
    scale = np.sqrt(np.maximum(np.diag(found.velocity_after_covariance), 0.0))
    moved = scale > 1e-6  # what does not move, as by the friction of a contact that sticks, has rounding alone
    return found.mode_may_change, np.abs(np.array(errors)[:, moved]) / scale[moved]
