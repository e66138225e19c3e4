"""One contact, palms and corners against contact laws that are not the map's: Drake, and pads that yield."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from impact_aware.arrays import Array
from impact_aware.contact.box import Box
from impact_aware.contact.geometry import FreeObject
from impact_aware.contact.shape import PlacedShape
from impact_aware.errors import InvalidInputError
from impact_aware.estimation.material_identification import SharedImpact, material_likelihoods
from impact_aware.experiments.validation.check import Check, Source, ValidationContext
from impact_aware.experiments.validation.drake_reference import INSTALLED, STIFFNESS, drake_impact
from impact_aware.experiments.validation.mujoco_reference import BASES, FACING, HALF_SIZES, MASS, PAD, palm_on_box
from impact_aware.impact.bodies import ArmState, BodyContact, JointProblem, joint_problem
from impact_aware.impact.material import ANY_PADS, INSIDE, Pads, draw_materials, material_interval
from impact_aware.impact.palm import palm_contacts, table_contacts
from impact_aware.impact.simultaneous import SimultaneousPrediction, predict_simultaneous
from impact_aware.impact.yielding_pads import LAWS, hunt_crossley_damping, pads_impulse
from impact_aware.robot import RobotModel

KINDS = ("one contact", "palm", "palm, table", "corners, table", "two palms", "tilted palm")
"""Scenes in turn: a tip or a palm on a free box, a palm or some of its corners on a box on its table, two palms, and a
palm whose corners meet the box one after another."""

COLUMNS = tuple(
    f"{what}, {norm}"
    for what in ("the map", "pads alike", "another law", "half width", "of known pads")
    for norm in ("energy", "joints")
)
"""Medians that are reported of each kind of scene, % of the jump."""

_KNOWN = Pads(material="Hunt-Crossley", stiffness_ratio=1.2)
"""Pads of one kind whose law is known."""

_FOUND_BY = 20  # scenes of several contacts that pads are identified from
_RIGID = 0.01  # share of a jump by which hard pads may differ from rigid contacts
_RECORDED = 0.004  # rad/s, standard error of a recorded jump
_LANDED = 0.05  # m/s, slowest approach of a scene's fastest contact
_TILT = math.radians(0.05)  # of a palm, about either edge, at most
_PALM_WIDTH, _ONE_WIDTH = 15.0, 2.0  # aims for the median width of intervals, % of the jump
_ASSUMPTION = (
    "Pandas and a box of 2.20 kg, pads of 80 x 80 mm flat on it, 0.1-0.4 m/s with up to 0.05 m/s and 0.2 rad/s "
    "besides; tilted palms up to 0.05 deg about either edge; friction 0-0.9, restitution 0 (half of the scenes, and "
    "tilted palms) or 0-0.9, the same everywhere; stiffness drawn for "
    "each contact, up to 4 between two. Deviations by the kinetic energy of all bodies, or by the joints of the arms: "
    "of the map and from the engine; of Hunt-Crossley pads alike and of pads with a set from Hunt-Crossley pads of the "
    "drawn stiffness; half the width of the interval that holds 95 % of 60 materials, and scenes of the engine inside; "
    "the same of Hunt-Crossley pads whose stiffness differs by 1.2 at most, where both are known"
)
_MISSING = (
    "" if INSTALLED else "; Drake is not installed (`pip install drake`): Hunt-Crossley pads of this package instead"
)
_ENGINE = "Drake" if INSTALLED else "pads"
_AIM = Source(_ENGINE, "aim", _ASSUMPTION + _MISSING)
_HELD_OUT = Source("a law held out", "aim", "pads of each law in turn, in the interval of the other two laws; as above")
_KNOWN_AIM = Source("pads of one kind", "aim", "Hunt-Crossley pads of known law whose stiffness differs by 1.2 at most")
_FOUND = Source(_ENGINE, "aim", f"law of the engine, from the joints in {_FOUND_BY} scenes of several contacts")
_MISSED = (
    "inside, one contact, %",
    "inside, several contacts, %",
    "palms: width of the interval, energy, %, median",
    "palms: width of the interval, joints, %, median",
)
_PADS = Source("yielding pads", "consistency", "pads followed by this package, of one restitution")


class Scene(NamedTuple):
    """A drawn impact: its bodies, joined, stiffness (m,) and gaps (m,), m, of contacts, their common coefficients."""

    contacts: list[BodyContact]
    arms: dict[str, ArmState]
    objects: dict[str, FreeObject]
    problem: JointProblem
    stiffness: Array
    friction: float
    restitution: float
    gaps: Array

    def pads(self, law: str, stiffness: Array) -> Array:
        """Jump (k,) of all velocities with yielding pads."""
        before, friction = self.problem.jacobian @ self.problem.velocity, np.full(len(self.contacts), self.friction)
        hardness, gaps = STIFFNESS * stiffness, self.gaps
        impulse = pads_impulse(self.problem.delassus, before, friction, self.restitution, hardness, law, gaps)
        return np.asarray(self.problem.response @ impulse)

    def drake(self) -> Array:
        """Jump (k,) of all velocities in Drake, or with pads of its law where it is missing."""
        if not INSTALLED:
            return self.pads("Hunt-Crossley", self.stiffness)
        approach = -float((self.problem.jacobian @ self.problem.velocity)[::3].min())
        dissipation = hunt_crossley_damping(self.restitution) / approach
        hardness = STIFFNESS * self.stiffness
        after = drake_impact(self.contacts, self.arms, self.objects, hardness, dissipation, self.gaps)
        return after - self.problem.velocity

    def law(self) -> SimultaneousPrediction:
        """What the map predicts."""
        pad = 1.0 / math.sqrt(STIFFNESS * float(np.diag(self.problem.delassus)[::3].mean()))
        return predict_simultaneous(
            self.contacts,
            arms=self.arms,
            objects=self.objects,
            gaps=self.gaps if self.gaps.any() else None,
            time_constant=pad,
            search=False,
        )

    def predicted(self) -> Array:
        """Jump (k,) by the map."""
        return np.concatenate(list(self.law().velocity_after.values())) - self.problem.velocity

    def inertia(self) -> Array:
        """Inertia (k, k) of all bodies."""
        blocks: list[Array] = [arm.robot.mass_matrix(arm.q, "M+B_theta") for arm in self.arms.values()]
        blocks += [np.asarray(np.linalg.inv(thing.inverse_inertia)) for thing in self.objects.values()]
        whole = np.zeros((len(self.problem.velocity),) * 2)
        for block, columns in zip(blocks, self.problem.columns.values(), strict=True):
            whole[columns, columns] = block
        return whole


def draw_scene(robot: RobotModel, generator: np.random.Generator, kind: str) -> Scene:
    """A scene of one of `KINDS` whose fastest contact approaches."""
    while True:
        tilted = kind == "tilted palm"  # without restitution, as the map of gaps
        friction, restitution = generator.uniform(0.0, 0.9, 2) * [1.0, 0 if tilted else generator.integers(2)]
        centre = np.array([generator.uniform(0.45, 0.6), 0.0, generator.uniform(0.35, 0.5)])
        body = PlacedShape(Box(tuple(HALF_SIZES.tolist())), centre)
        arms, contacts = {}, list[BodyContact]()
        try:
            for name in BASES if kind == "two palms" else [str(generator.choice(list(BASES)))]:
                shift = generator.uniform(-0.03, 0.03, 2)
                if kind == "corners, table":
                    shift = 0.085 * generator.choice([-1.0, 1.0], 2) + shift / 2.0
                arms[name], palm = palm_on_box(robot, generator, name, centre, shift)
                middle = BodyContact(name, np.array([0.0, -FACING[name], 0.0]), palm.translation, "box")
                own = palm_contacts(middle, palm, PAD.half_sizes, body)
                contacts += [own[0].at(np.mean([c.point for c in own], axis=0))] if kind == "one contact" else own
        except InvalidInputError:
            continue
        if kind.endswith("table"):
            contacts += table_contacts("box", body, 0.0)
        contacts = [replace(contact, friction=friction, restitution=restitution) for contact in contacts]
        objects = {"box": body.free_object(MASS)}
        problem = joint_problem(contacts, arms=arms, objects=objects)
        if (problem.jacobian @ problem.velocity)[::3].min() < -_LANDED:
            stiffness = ANY_PADS.stiffness_ratio ** generator.uniform(-0.5, 0.5, len(contacts))
            gaps = np.zeros(len(contacts))
            if tilted:
                points = np.array([contact.point for contact in contacts]) - body.position
                gaps = points[:, [0, 2]] @ np.tan(generator.uniform(-_TILT, _TILT, 2))
                gaps -= gaps.min()
            return Scene(contacts, arms, objects, problem, stiffness, float(friction), float(restitution), gaps)


def scene_materials(scene: Scene, generator: np.random.Generator, pads: Pads = ANY_PADS) -> Array:
    """Jumps (draws, k) of all velocities with drawn materials, see `draw_materials`."""
    drawn = draw_materials(scene.law(), scene.problem, generator, pads=pads, stiffness=STIFFNESS, gaps=scene.gaps)
    return np.asarray(drawn @ scene.problem.response.T)


def engines(context: ValidationContext) -> list[Check]:
    """The map against Drake and yielding pads, scene by scene, and what the material of the pads decides."""
    robot, generator = RobotModel.from_profile("panda"), np.random.default_rng(context.seed)
    rows: dict[str, list[tuple[float, ...]]] = {kind: [] for kind in KINDS}
    shared: list[SharedImpact] = []
    for trial in context.count(max(context.trials, len(KINDS))):
        kind, held_out = KINDS[trial % len(KINDS)], LAWS[trial // len(KINDS) % len(LAWS)]
        scene = draw_scene(robot, generator, kind)
        engine = scene.drake()
        rows[kind].append(_compare(scene, engine, generator, held_out))
        if kind != KINDS[0] and len(shared) < _FOUND_BY:
            shared.append(_recorded(scene, engine, generator.spawn(1)[0]))
    found = {kind: np.array(each) for kind, each in rows.items()}
    several = np.concatenate([found[kind] for kind in KINDS[1:]])
    checks = []
    for kind, each in {**found, "several contacts": several}.items():
        middle = np.median(each, axis=0)
        checks += [_AIM.reported(f"{kind}: {name}, %", middle[column]) for column, name in enumerate(COLUMNS)]
        checks.append(_AIM.reported(f"{kind}: inside, %", 100.0 * each[:, -3].mean()))
    single, everything = found[KINDS[0]], np.concatenate(list(found.values()))
    palms = np.median(np.concatenate([each for kind, each in found.items() if "palm" in kind]), axis=0)
    checks += [
        _AIM.at_least("inside, all scenes, %", 100.0 * INSIDE, 100.0 * everything[:, -3].mean()),
        _HELD_OUT.at_least("inside, one contact, %", 100.0 * INSIDE, 100.0 * single[:, -2].mean()),
        _HELD_OUT.at_least("inside, several contacts, %", 100.0 * INSIDE, 100.0 * several[:, -2].mean()),
        _AIM.at_most("palms: width of the interval, energy, %, median", _PALM_WIDTH, 2.0 * palms[6]),
        _AIM.at_most("palms: width of the interval, joints, %, median", _PALM_WIDTH, 2.0 * palms[7]),
        _KNOWN_AIM.at_least("pads that are known, inside, %", 100.0 * INSIDE, 100.0 * several[:, -1].mean()),
        _KNOWN_AIM.at_most("palms of known pads: width, energy, %, median", _PALM_WIDTH, 2.0 * palms[8]),
        _KNOWN_AIM.at_most("palms of known pads: width, joints, %, median", _PALM_WIDTH, 2.0 * palms[9]),
        _FOUND.at_least("law that is identified, probability, %", 95.0, 100.0 * _share_of_law(shared)),
        _AIM.at_most(
            "one contact: width of the interval, joints, %, median", _ONE_WIDTH, 2.0 * np.median(single[:, 7])
        ),
        _AIM.at_most("one contact, mean deviation of the map, energy, %", 1.0, single[:, 0].mean()),
        _PADS.equal("one contact, mean difference of two laws of the pad, energy, %", 0.0, single[:, 4].mean(), 1.0),
    ]
    if INSTALLED:
        deviation = everything[:, -4].mean()
        checks.append(_PADS.equal("mean deviation from Drake of pads of its law, energy, %", 0.0, deviation, 1.0))
    return [replace(check, known_miss=check.quantity in _MISSED) for check in checks]


def _recorded(scene: Scene, engine: Array, generator: np.random.Generator) -> SharedImpact:
    """What a recording of the engine's impact has: the jump of the joints, with an error."""
    arms = slice(0, len(engine) - 6)
    jump = engine[arms] + _RECORDED * generator.standard_normal(arms.stop)
    covariance = _RECORDED**2 * np.eye(arms.stop)
    return SharedImpact(scene.law(), scene.problem, arms, jump, covariance, scene.gaps, STIFFNESS)


def _share_of_law(shared: list[SharedImpact]) -> float:
    """Probability of the engine's law among those that are identified from its impacts."""
    table = material_likelihoods(shared)
    weights = np.exp(table - table.max()).sum(axis=1)
    return float(weights[LAWS.index(_KNOWN.material)] / weights.sum())


def _compare(scene: Scene, engine: Array, generator: np.random.Generator, held_out: str) -> tuple[float, ...]:
    """`COLUMNS` of a scene, what a second way to the engine's law differs by, and three times 1 for what is inside.

    That is the engine (k,) in the interval of all laws, the law held out in the interval of the others, and pads of one
    kind in the interval of those that are known.
    """
    inertia, arms = scene.inertia(), slice(0, -6)

    def sizes(difference: Array, covariance: Array | None = None) -> tuple[float, float]:
        """Size of a deviation, or root mean square of many, in energy and for the joints, % of the jump."""
        product = np.outer(difference, difference) if covariance is None else covariance
        energy = float((inertia * product).sum()) / float(engine @ inertia @ engine)
        return 100.0 * math.sqrt(energy), 100.0 * math.sqrt(np.trace(product[arms, arms])) / norm

    norm = float(np.linalg.norm(engine[arms]))
    same = scene.pads("Hunt-Crossley", scene.stiffness)
    alike = scene.pads("Hunt-Crossley", np.ones(len(scene.contacts)))
    drawn = scene_materials(scene, generator)
    laws = np.array([LAWS[draw % len(LAWS)] for draw in range(len(drawn))])
    interval, others = material_interval(drawn), material_interval(drawn[(laws != held_out) | (len(drawn) == 1)])

    other = generator.spawn(1)[0]
    known = material_interval(scene_materials(scene, other, _KNOWN))
    alike_pads = _KNOWN.stiffness_ratio ** other.uniform(-0.5, 0.5, len(scene.contacts))

    def inside(jump: Array, centre: Array, half: Array) -> float:
        """Whether every velocity of a jump is in an interval, but for a small share of its body's."""
        parts = np.split(jump, [columns.stop for columns in scene.problem.columns.values()])
        parts[-2:] = np.split(parts[-2], 2)  # linear velocity and rate of the box
        slack = np.concatenate([np.full(len(part), _RIGID * np.linalg.norm(part)) for part in parts])
        return float((np.abs(jump - centre) <= half + slack).all())

    return (
        *sizes(scene.predicted() - engine),
        *sizes(alike - same),
        *sizes(scene.pads("set", scene.stiffness) - same),
        *sizes(*interval[1:]),
        *sizes(*known[1:]),
        sizes(same - engine)[0],
        inside(engine, *interval[:2]),
        inside(scene.pads(held_out, scene.stiffness), *others[:2]),
        inside(scene.pads(_KNOWN.material, alike_pads), *known[:2]),
    )
