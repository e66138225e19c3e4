from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from flat_box import flat_box_scene, tool_at

from impact_aware.errors import InvalidInputError, UnknownNameError
from impact_aware.simulation import DriveMode, MujocoPlant, SensorSettings
from impact_aware.simulation.joint_elasticity import JointElasticity
from impact_aware.simulation.scene import ArmMount, Scene
from impact_aware.simulation.task_scene import Truth, task_scene
from impact_aware.task import load_task

GRAVITY = 9.81


@pytest.fixture(scope="module")
def scene():
    return flat_box_scene()


@pytest.fixture
def plant(scene, robot):
    return MujocoPlant(scene, robot)


def drive(plant, robot, cycles, accelerate=0.0):
    """Gravity and Coriolis compensation, plus a constant joint acceleration."""
    state = plant.state
    for _ in range(cycles):
        torque = robot.bias(state.q, state.dq) + robot.mass_matrix(state.q) @ np.full(robot.n, accelerate)
        state = plant.step(torque)
    return state


def test_starts_at_home_with_the_object_resting(plant, robot, scene):
    np.testing.assert_array_equal(plant.state.q, robot.home)
    assert plant.state.time == 0.0
    assert plant.state.object_placement.isApprox(scene.object_placement)
    # Standing still, the torque sensors show gravity.
    np.testing.assert_allclose(plant.state.effort, robot.gravity(robot.home), atol=1e-9)


def test_holds_still_until_the_first_command(plant, robot):
    for _ in range(200):
        state = plant.step(None)
    assert plant.modes == {"arm": DriveMode.HOLD}
    np.testing.assert_array_equal(state.q, robot.home)
    np.testing.assert_array_equal(state.dq, 0.0)
    np.testing.assert_allclose(state.effort, robot.gravity(robot.home), atol=1e-9)


def test_object_stays_where_it_stands(plant, scene):
    for _ in range(300):
        state = plant.step(None)
    # It sinks by a fraction of a micrometre into the soft contact, and must not creep sideways.
    assert np.abs(state.object_placement.translation - scene.object_placement.translation).max() < 1e-6
    assert np.abs(state.object_twist).max() < 1e-5


def test_commanded_torque_gives_the_model_acceleration(plant, robot):
    """100 ms at 1 rad/s^2 through computed torque: held torque and finite steps leave errors of first order in 1 ms."""
    state = drive(plant, robot, 100, accelerate=1.0)
    assert plant.modes == {"arm": DriveMode.TORQUE}
    # Each cycle's torque belongs to its start, so that the velocity lags by about a cycle's share of the bias change.
    np.testing.assert_allclose(state.dq, 0.1, atol=2e-3)
    np.testing.assert_allclose(state.q - robot.home, 0.005, atol=2e-4)


@pytest.mark.parametrize("flexible", [False, True])
def test_torques_held_as_long_move_an_arm_alike_whatever_the_cycle(scene, robot, flexible):
    """Half as many cycles of twice the time have the same physics steps, but for those of the joints' torque loop."""
    elasticity = JointElasticity.of(robot, friction=True) if flexible else None
    torque = robot.gravity(robot.home) + [3.0, -2.0, 1.5, 4.0, -0.5, 0.8, 0.3]
    ends = []
    for cycle, count in ((0.001, 40), (0.002, 20)):
        plant = MujocoPlant(scene.at(cycle), robot, elasticity=elasticity)
        for _ in range(count):
            state = plant.step(torque)
        ends.append(np.concatenate([[state.time], state.q, state.dq]))
    assert abs(ends[0][0] - 0.04) < 1e-9
    assert np.abs(ends[0][8:]).min() > 5e-4
    np.testing.assert_allclose(ends[1], ends[0], rtol=1e-6, atol=1e-9)


def test_a_cycle_that_the_torque_loop_does_not_fit_into_is_refused(scene, robot):
    with pytest.raises(InvalidInputError, match=r"cycle: got 0.00142857 s, expected a multiple of the 0.00025 s of"):
        MujocoPlant(scene.at(1.0 / 700.0), robot, elasticity=JointElasticity.of(robot))


def test_effort_sensor_lacks_what_the_motor_inertia_takes(plant, robot):
    before = plant.state
    torque = robot.bias(before.q, before.dq) + 1.0
    state = plant.step(torque)
    acceleration = (state.dq - before.dq) / 1e-3
    np.testing.assert_allclose(state.effort, torque - robot.apparent_motor_inertia * acceleration, atol=1e-9)


def test_energy_grows_by_the_work_of_the_torques(plant, robot):
    state = plant.state
    energy_start = pin.computeMechanicalEnergy(robot.model, robot.data, state.q, state.dq)
    work = 0.0
    for _ in range(200):
        torque = robot.gravity(state.q) + 0.5
        following = plant.step(torque)
        work += torque @ (following.q - state.q)
        state = following
    pin.forwardKinematics(robot.model, robot.data, state.q, state.dq)
    energy = pin.computePotentialEnergy(robot.model, robot.data, state.q)
    energy += 0.5 * state.dq @ robot.mass_matrix(state.q) @ state.dq
    # Semi-implicit Euler at 0.2 ms is first order: energy drifts by about the step over the 200 ms of the run.
    assert energy - energy_start == pytest.approx(work, rel=5e-3)


def test_brake_brings_the_arm_to_rest_and_keeps_it_there(plant, robot):
    drive(plant, robot, 150, accelerate=3.0)
    speed = np.abs(plant.state.dq).max()
    assert speed > 0.3
    for _ in range(1000):
        state = plant.step(None)
    assert plant.modes == {"arm": DriveMode.BRAKE}
    # Rest is where the posture loop, 20 rad/s with no overshoot left after 0.5 s, has let the speed die out.
    assert np.abs(state.dq).max() < 1e-3
    posture = state.q
    for _ in range(500):
        state = plant.step(None)
    np.testing.assert_allclose(state.q, posture, atol=1e-3)


def test_command_after_brake_drives_again(plant, robot):
    drive(plant, robot, 5)
    plant.step(None)
    assert plant.modes == {"arm": DriveMode.BRAKE}
    drive(plant, robot, 1)
    assert plant.modes == {"arm": DriveMode.TORQUE}


def test_torque_saturates_at_the_effort_limits(plant, robot):
    for sign in (1.0, -1.0):
        plant.reset()
        beyond = plant.step(np.full(robot.n, sign * 1e6))
        plant.reset()
        at_limit = plant.step(sign * robot.limits.effort)
        np.testing.assert_array_equal(beyond.dq, at_limit.dq)
        np.testing.assert_array_equal(beyond.effort, at_limit.effort)


@pytest.mark.parametrize("friction", [0.1, 0.3, 0.5])
def test_sliding_object_slows_down_by_coulomb_friction(scene, robot, friction):
    sliding = replace(scene, object_table=replace(scene.object_table, friction=friction))
    plant = MujocoPlant(sliding, robot)
    for _ in range(20):
        plant.step(None)
    plant._twist[1] = 0.5  # knocked by hand
    cycles = int(0.25 / (friction * GRAVITY) / 1e-3)
    for _ in range(cycles):
        state = plant.step(None)
    deceleration = (0.5 - state.object_twist[1]) / (cycles * 1e-3)
    # Measured within 0.6 % up to 1 m/s (the relaxed friction lets the box hop by some micrometres).
    assert deceleration == pytest.approx(friction * GRAVITY, rel=0.01)


def test_same_commands_give_the_same_bits(scene, robot):
    q0, dq0 = tool_at(robot, [0.5, -0.11, 0.045], [0.0, 0.5, 0.0])
    noise = SensorSettings(position_noise=1e-5, velocity_noise=1e-3)
    plants = [MujocoPlant(scene, robot, noise), MujocoPlant(scene, robot, noise)]
    ends = []
    # The second plant has a past: reset must leave nothing of it.
    drive(plants[1], robot, 30, accelerate=2.0)
    for plant in plants:
        plant.reset(q0, dq0=dq0, seed=11)
        drive(plant, robot, 80)
        ends.append((plant.state, plant.reading, plant.impacts))
    assert len(ends[0][2]) == 1
    for name in ("q", "dq", "effort", "object_twist"):
        np.testing.assert_array_equal(getattr(ends[0][0], name), getattr(ends[1][0], name))
    np.testing.assert_array_equal(ends[0][1].q, ends[1][1].q)
    assert ends[0][2][0].time == ends[1][2][0].time
    np.testing.assert_array_equal(ends[0][2][0].velocity_after, ends[1][2][0].velocity_after)


def test_object_can_be_placed_elsewhere(plant, scene):
    elsewhere = scene.object_placement
    elsewhere.translation = elsewhere.translation + np.array([0.0, 0.03, 0.0])
    assert plant.reset(object_placement=elsewhere).object_placement.isApprox(elsewhere)


def test_tool_placement_is_in_the_world(robot):
    scene = Scene(arms=(ArmMount(position=(0.2, 0.3, 0.4), rpy=(0.0, 0.0, np.pi / 2)),))
    plant = MujocoPlant(scene, robot)
    x, y, z = robot.placement(robot.home).translation
    np.testing.assert_allclose(plant.tool_placement().translation, [0.2 - y, 0.3 + x, 0.4 + z])


def test_two_arms_are_commanded_by_name(robot):
    scene = Scene(arms=(ArmMount(name="left"), ArmMount(name="right", position=(1.0, 0.0, 0.0), rpy=(0.0, 0.0, np.pi))))
    plant = MujocoPlant(scene, robot)
    assert plant.n == 2 * robot.n
    assert plant.joint_names[robot.n] == f"right/{robot.joint_names[0]}"
    for _ in range(20):
        right = plant.state.q[plant.slices["right"]]
        plant.step({"right": robot.gravity(right) + 1.0})
    assert plant.modes == {"left": DriveMode.HOLD, "right": DriveMode.TORQUE}
    np.testing.assert_array_equal(plant.state.dq[plant.slices["left"]], 0.0)
    assert np.all(np.abs(plant.state.dq[plant.slices["right"]]) > 1e-4)


def test_malformed_input_is_refused(plant, robot, scene):
    with pytest.raises(InvalidInputError, match="effort"):
        plant.step(np.zeros(3))
    with pytest.raises(InvalidInputError, match="finite"):
        plant.step(np.full(robot.n, np.nan))
    with pytest.raises(UnknownNameError, match="arm"):
        plant.step({"left": np.zeros(robot.n)})
    with pytest.raises(InvalidInputError, match="panda_joint4"):
        plant.reset(np.zeros(robot.n))
    with pytest.raises(InvalidInputError, match="robots"):
        MujocoPlant(scene, {"left": robot})


def test_refused_command_changes_nothing(plant, robot):
    drive(plant, robot, 3)
    before = plant.state
    with pytest.raises(InvalidInputError):
        plant.step(np.full(robot.n, np.inf))
    assert plant.state is before
    assert plant.modes == {"arm": DriveMode.TORQUE}


def test_the_object_can_be_put_somewhere_else_in_the_middle_of_a_run():
    plant = MujocoPlant(flat_box_scene())
    # It falls until it is put down elsewhere, at rest.
    plant.place_object(pin.SE3(np.eye(3), np.array([2.0, -1.0, 1.5])))
    for _ in range(50):
        plant.step(None)
    plant.place_object(pin.SE3(np.eye(3), np.array([2.0, 1.0, 0.1])))
    state = plant.step(None)
    # One cycle of settling on the table.
    np.testing.assert_allclose(state.object_placement.translation, [2.0, 1.0, 0.1], atol=1e-4)


def test_a_table_that_leans_carries_the_object_along_its_face(robot):
    """It leans by 0.15 rad about x, the box stands askew: within the cone of friction 0.3, beyond that of 0.1."""
    push = load_task("hit_and_push")
    rpy = pin.rpy.matrixToRpy(np.asfortranarray(pin.utils.rotate("x", 0.15) @ pin.utils.rotate("z", 0.4)))
    slid = {}
    for friction in (0.3, 0.1):
        thing = replace(push.object, orientation_rpy=tuple(rpy.tolist()), friction_table=friction)
        plant = MujocoPlant(task_scene(replace(push, object=thing)), {"arm": robot})
        begin = plant.state.object_placement.copy()
        for _ in range(200):
            state = plant.step(None)
        slid[friction] = state.object_placement.translation - begin.translation
        assert np.linalg.norm(pin.log3(begin.rotation.T @ state.object_placement.rotation)) < 1e-3
    assert np.linalg.norm(slid[0.3]) < 1e-4
    # g (sin - mu cos) t^2 / 2 down the table.
    distance = 0.5 * GRAVITY * (np.sin(0.15) - 0.1 * np.cos(0.15)) * 0.2**2
    np.testing.assert_allclose(slid[0.1], -distance * np.array([0.0, np.cos(0.15), np.sin(0.15)]), atol=1e-3)


@pytest.mark.parametrize("yaw", [0.0, 2.0])
def test_a_belt_carries_the_object_until_a_tool_meets_it(robot, yaw):
    """Along a table that leans and is turned, too; then the belt stands, and friction brings the object to rest."""
    push = load_task("hit_and_push")
    rpy = (0.1, 0.0, yaw)
    thing = replace(push.object, orientation_rpy=rpy)
    velocity = pin.utils.rotate("z", yaw) @ pin.utils.rotate("x", 0.1) @ [0.1, -0.05, 0.0]
    scene = task_scene(replace(push, object=thing), Truth(object_velocity=tuple(velocity.tolist())))
    plant = MujocoPlant(scene, {"arm": robot})
    begin = plant.state.object_placement.translation.copy()
    for _ in range(300):
        state = plant.step(None)
    np.testing.assert_allclose(state.object_placement.translation - begin, 0.3 * velocity, atol=2e-4)
    np.testing.assert_allclose(state.object_twist[:3], velocity, atol=2e-3)
    # The box is put against the tip, which holds still.
    tip = plant.tool_placement().translation
    plant.place_object(pin.SE3(state.object_placement.rotation, tip - [0.0, 0.0, thing.half_extents[2]]))
    plant.step(None)
    for _ in range(5):
        plant.step(None)
    assert np.abs(plant._data.qvel[plant._world.belt_dof]).max() < 1e-6


@pytest.mark.parametrize("velocity", [(0.1, 0.0, 0.05), (np.nan, 0.0, 0.0)])
def test_a_belt_moves_along_its_table(velocity):
    with pytest.raises(InvalidInputError, match="belt_velocity"):
        replace(flat_box_scene(), belt_velocity=velocity)
