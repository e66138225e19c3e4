"""The plant's impacts, against momentum balance and against the impact maps of the package."""

from dataclasses import replace

import numpy as np
import pytest
from flat_box import coast_into, flat_box_scene, slippery, tool_at

from impact_aware.contact.box import homogeneous_box
from impact_aware.contact.geometry import Contact, contact_jacobian
from impact_aware.impact import predict
from impact_aware.simulation import MujocoPlant
from impact_aware.simulation.impact_truth import COMPRESSION_END

SPEED = 0.5


@pytest.fixture(scope="module")
def scene():
    return flat_box_scene()


def impacts_of(scene, robot, **motion):
    return coast_into(scene, robot, **motion)[0].impacts


@pytest.fixture(scope="module")
def frictionless_impact(scene, robot):
    (impact,) = impacts_of(slippery(scene), robot)
    return impact


@pytest.fixture(scope="module")
def impact(scene, robot):
    (impact,) = impacts_of(scene, robot)
    return impact


def prediction(scene, robot, impact, friction, method):
    contact = Contact(robot.tool_frame, impact.normal, radius=robot.tool_radius, friction=friction)
    box = homogeneous_box(scene.object.mass, scene.object.half_sizes, scene.object_placement.translation)
    return predict(robot, impact.q, impact.velocity_before, contact, obstacle=box, method=method)


def test_first_contact_is_where_and_when_geometry_says(frictionless_impact, scene):
    impact = frictionless_impact
    assert (impact.arm, impact.partner) == ("arm", "object")
    # 10 mm at 0.5 m/s; coasting arms change speed by a few parts in a thousand on the way.
    assert impact.time == pytest.approx(0.020, abs=2e-4)
    np.testing.assert_allclose(impact.normal, [0.0, -1.0, 0.0], atol=1e-3)
    np.testing.assert_allclose(impact.point, [0.5, -scene.object.half_sizes[1], scene.object.half_sizes[2]], atol=1e-3)


def test_velocity_before_carries_no_contact_force(frictionless_impact, robot):
    contact = Contact(robot.tool_frame, frictionless_impact.normal, radius=robot.tool_radius)
    velocity = contact_jacobian(robot, frictionless_impact.q, contact) @ frictionless_impact.velocity_before
    assert -frictionless_impact.normal @ velocity == pytest.approx(frictionless_impact.approach_speed, rel=1e-9)
    np.testing.assert_array_equal(frictionless_impact.object_twist_before[:2], 0.0)


def test_jump_agrees_with_the_frictionless_map(scene, robot, frictionless_impact):
    predicted = prediction(slippery(scene), robot, frictionless_impact, 0.0, "frictionless")
    error = np.linalg.norm(predicted.jump - frictionless_impact.jump) / np.linalg.norm(frictionless_impact.jump)
    # 1 % of the jump is still to come at the end of compression, by its definition; 0.9 % measured.
    assert error < 1.5 * COMPRESSION_END
    np.testing.assert_allclose(
        frictionless_impact.object_twist_after[:3], predicted.object_twist_after[:3], atol=2.0 * COMPRESSION_END * SPEED
    )


def test_jump_agrees_with_the_map_with_friction(scene, robot, impact):
    predicted = prediction(scene, robot, impact, scene.tool_object.friction, "fixed-direction")
    error = np.linalg.norm(predicted.jump - impact.jump) / np.linalg.norm(impact.jump)
    # The definition's 1 % and what table friction and the arm's own motion do within 2 ms; 0.3 to 1.3 % measured.
    assert error < 0.03


@pytest.mark.parametrize(
    ("slip", "friction", "mode"),
    [((0.1, 0.0), 0.3, "stick"), ((0.5, 0.0), 0.3, "slide"), ((0.5, 0.0), 0.1, "slide"), ((0.0, 0.5), 0.3, "slide")],
)
def test_oblique_impacts_agree_with_the_map_with_friction(scene, robot, slip, friction, mode):
    rough = replace(slippery(scene), tool_object=replace(scene.tool_object, friction=friction))
    (impact,) = impacts_of(rough, robot, gap=0.005, slip=slip, cycles=20)
    predicted = prediction(rough, robot, impact, friction, "fixed-direction")
    assert predicted.mode == mode
    error = np.linalg.norm(predicted.jump - impact.jump) / np.linalg.norm(impact.jump)
    # Friction that builds up with a time constant of its own, and stops within the impact: 0.5 to 1.7 % measured.
    assert error < 0.03
    if mode == "slide":
        tangential = np.linalg.norm(np.delete(impact.impulse, 1))
        assert tangential == pytest.approx(friction * abs(impact.impulse[1]), rel=0.01)


@pytest.mark.parametrize("gap", [0.02, 0.023])
def test_fast_tool_is_not_missed_between_cycles(scene, robot, gap):
    """At 4 m/s a tool covers two gaps' worth of watching per cycle; the truth must still begin at first contact."""
    impact = impacts_of(slippery(scene), robot, gap=gap, speed=4.0, cycles=15)[0]
    assert impact.time == pytest.approx(gap / 4.0, abs=1e-4)
    assert impact.approach_speed == pytest.approx(4.0, rel=0.01)
    np.testing.assert_array_equal(impact.object_twist_before[:2], 0.0)


def test_impulse_is_the_change_of_momentum(frictionless_impact, scene, robot):
    impact = frictionless_impact
    normal = impact.normal
    np.testing.assert_allclose(
        scene.object.mass * (impact.object_twist_after - impact.object_twist_before)[:2],
        -impact.impulse[:2],
        atol=1e-6 * scene.object.mass,  # the substeps' forces are summed as they acted
    )
    contact = Contact(robot.tool_frame, normal, radius=robot.tool_radius)
    generalised = contact_jacobian(robot, impact.q, contact).T @ impact.impulse
    momentum = robot.mass_matrix(impact.q) @ impact.jump
    # Besides the impulse, held torques against changing bias act for 2 ms, and the posture moves by 1 mm.
    np.testing.assert_allclose(momentum, generalised, atol=0.02 * np.abs(generalised).max())


def test_compression_ends_as_defined_and_within_milliseconds(impact, scene):
    assert 0.001 < impact.duration < 0.003
    # exp(-2 t / time constant) = 1 %, plus the first steps of a contact that is still shallow.
    expected = -0.5 * scene.tool_object.time_constant * np.log(COMPRESSION_END)
    assert impact.duration == pytest.approx(expected, rel=0.25)


def test_impact_is_inelastic_and_contact_lasts(impact):
    # Overdamped contact: 0.009 without, 0.02 with friction, as measured; a bouncing contact shows 0.14.
    assert impact.restitution < 0.03
    assert impact.losses == 0
    assert np.isnan(impact.time_lost)


def test_a_critically_damped_contact_bounces(scene, robot):
    bouncing = replace(slippery(scene), tool_object=replace(scene.tool_object, friction=0.0, damping_ratio=1.0))
    plant, _ = coast_into(bouncing, robot)
    first = plant.impacts[0]
    # A critically damped spring lets go with exp(-2) of its speed; integrating it in steps of a twentieth of its time
    # constant leaves some per cent of that (0.127 measured, 0.134 with steps an eighth as long).
    assert first.restitution == pytest.approx(np.exp(-2.0), rel=0.08)
    assert np.isfinite(first.time_lost)
    assert plant.touching == ()


def test_jump_converges_with_the_physics_step(scene, robot):
    jumps = {}
    for steps in (10, 20, 80):
        stepped = replace(slippery(scene), substeps=5, impact_substeps=steps)
        jumps[steps] = impacts_of(stepped, robot, cycles=30)[0].jump
    finest = np.linalg.norm(jumps[80])
    # First order; the definition's last 1 % is cut off up to one step late.
    assert np.linalg.norm(jumps[20] - jumps[80]) < 0.005 * finest
    assert np.linalg.norm(jumps[10] - jumps[80]) < 0.01 * finest


def test_kinetic_energy_does_not_grow(impact, scene, robot):
    mass_matrix = robot.mass_matrix(impact.q)
    body = scene.object
    squares = np.array(body.half_sizes) ** 2
    inertia = np.concatenate([np.full(3, body.mass), body.mass / 3.0 * (squares.sum() - squares)])

    def energy(dq, twist):
        return 0.5 * dq @ mass_matrix @ dq + 0.5 * twist @ (inertia * twist)

    before = energy(impact.velocity_before, impact.object_twist_before)
    assert energy(impact.velocity_after, impact.object_twist_after) < before


def test_slower_approach_gives_a_proportional_jump(scene, robot, frictionless_impact):
    (slow,) = impacts_of(slippery(scene), robot, gap=0.002, speed=0.25)
    ratio = slow.approach_speed / frictionless_impact.approach_speed
    # The contact law is linear; postures differ by millimetres, held torques act for the same time.
    np.testing.assert_allclose(
        slow.jump, ratio * frictionless_impact.jump, atol=0.03 * ratio * np.abs(frictionless_impact.jump).max()
    )


def test_contact_with_the_table_is_an_impact_too(scene, robot):
    q0, dq0 = tool_at(robot, [0.35, -0.35, robot.tool_radius + 0.01], [0.0, 0.0, -0.2])
    plant = MujocoPlant(scene, robot)
    state = plant.reset(q0, dq0=dq0)
    for _ in range(80):
        state = plant.step(robot.bias(state.q, state.dq))
    (impact,) = plant.impacts
    assert impact.partner == "table"
    np.testing.assert_allclose(impact.normal, [0.0, 0.0, 1.0], atol=1e-9)
    # A fixed surface keeps the arm's whole approach momentum: nothing but the normal velocity is taken.
    contact = Contact(robot.tool_frame, impact.normal, radius=robot.tool_radius)
    after = contact_jacobian(robot, impact.q, contact) @ impact.velocity_after
    assert abs(after[2]) <= 2.0 * COMPRESSION_END * impact.approach_speed


def pressed_on_the_table(scene, robot, force):
    """Touch a bouncy table at 0.1 m/s, pressed by a force: the plant, and in each cycle contact and normal velocity."""
    bouncy = replace(scene.tool_table, time_constant=0.002, damping_ratio=0.6)
    # One look per cycle, so that what touches can be followed from outside.
    fine = replace(scene, cycle=2e-4, substeps=1, impact_substeps=1, tool_table=bouncy)
    q0, dq0 = tool_at(robot, [0.35, -0.35, robot.tool_radius + 0.001], [0.0, 0.0, -0.1])
    contact = Contact(robot.tool_frame, np.array([0.0, 0.0, 1.0]), radius=robot.tool_radius)
    plant = MujocoPlant(fine, robot)
    state = plant.reset(q0, dq0=dq0)
    touching, speeds = [], []
    for _ in range(300):
        row = contact_jacobian(robot, state.q, contact)[2]
        speeds.append(row @ state.dq)
        state = plant.step(robot.bias(state.q, state.dq) - force * row)
        touching.append(("arm", "table") in plant.touching)
    return plant, np.array(touching), np.array(speeds)


def test_an_event_counts_short_losses_and_keeps_its_fastest_separation(scene, robot):
    """A tool that is pressed on the table leaves it once, for less than `SEPARATION_TIME`, and then stays."""
    plant, touching, speeds = pressed_on_the_table(scene, robot, 150.0)
    (impact,) = plant.impacts
    assert impact.losses == np.count_nonzero(touching[1:] & ~touching[:-1]) - 1 == 1
    assert impact.separation_speed == pytest.approx(speeds[touching].max(), rel=0.02)
    assert np.isnan(impact.time_lost) and abs(speeds[-1]) < 0.1 * impact.separation_speed


@pytest.mark.parametrize(("force", "flight", "impacts"), [(80.0, 0.0044, 1), (60.0, 0.0054, 2)])
def test_a_loss_of_more_than_five_milliseconds_ends_an_impact(scene, robot, force, flight, impacts):
    plant, touching, _ = pressed_on_the_table(scene, robot, force)
    begin, end = np.flatnonzero(np.diff(touching.astype(int)) == 1)[1], np.flatnonzero(~touching[1:] & touching[:-1])[0]
    assert 2e-4 * (begin - end) == pytest.approx(flight, abs=3e-4)
    assert len(plant.impacts) == impacts
