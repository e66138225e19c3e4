"""`impact-aware identify`: tables in, parameters out, bad input in one line."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from looked_at import CONTACT_CHECK
from recorded_bag import bag_of
from rigid_trials import simulate_rigid_trials

from impact_aware.cli import identify_contact_point
from impact_aware.cli.main import main
from impact_aware.contact.box import Box, homogeneous_box
from impact_aware.contact.force_models import NonlinearViscoelastic
from impact_aware.contact.geometry import Contact, contact_point
from impact_aware.contact.shape import PlacedShape
from impact_aware.estimation.contact_point import ContactPointProblem, JointJump
from impact_aware.estimation.object_motion import ObjectTrack
from impact_aware.estimation.trial_tables import BoxDefaults, recorded_trials
from impact_aware.experiments.models.central_impact import central_impact
from impact_aware.impact.bodies import ArmState, joint_problem
from impact_aware.impact.hit import hit_contacts
from impact_aware.impact.predictor import predict
from impact_aware.impact.yielding_pads import pads_impulse
from impact_aware.robot import load_profile


@pytest.fixture(scope="module")
def recorded(robot):
    return simulate_rigid_trials(robot, np.random.default_rng(0), 12, 1e-3, 0.3, 0.0)


@pytest.fixture(scope="module")
def table(tmp_path_factory, robot, recorded):
    path = tmp_path_factory.mktemp("tables") / "impacts.csv"
    names = [f"{kind}_{joint}" for kind in ("q", "before", "after") for joint in robot.joint_names]
    rows = [np.concatenate([t.q, t.velocity_before, t.velocity_after, t.contact.normal]) for t in recorded]
    header = ",".join([*names, "normal_x", "normal_y", "normal_z"])
    np.savetxt(path, rows, delimiter=",", header=header, comments="", fmt="%.17g")
    return path


def moving(trial, times, after=None, at=0.2):
    """Positions (k, n) through a trial's posture, with its velocities before and after."""
    since, after = (times - at)[:, None], trial.velocity_after if after is None else after
    return trial.q + np.where(since < 0, trial.velocity_before * since, after * since)


@pytest.fixture
def profile(tmp_path):
    """A force profile of a viscoelastic hit, without noise, and the options that belong to it."""
    course = central_impact(NonlinearViscoelastic(3e4, 4e5), 3.0, 0.12)
    times = np.arange(-1e-3, 1.2 * course.time[-1], 4e-5)
    force = np.interp(times, course.time, course.force, left=0.0, right=0.0)
    return times, force, ("contact", tmp_path / "force.csv", "--effective-mass", 3, "--approach-speed", 0.12)


def test_friction_from_a_table(command, table, tmp_path):
    status, out, err = command("identify", "friction", table, "--json", "--out", tmp_path)
    assert (status, err) == (0, "")
    found = json.loads(out)
    # Twelve trials with 1 mrad/s of noise.
    assert found["parameters"]["friction"]["value"] == pytest.approx(0.3, abs=0.01)
    assert found["trials"] == 12
    assert json.loads((tmp_path / "identify_friction.json").read_text()) == found


def test_archives_and_tables_say_the_same(command, table, recorded, tmp_path):
    path = tmp_path / "impacts.npz"
    np.savez(
        path,
        q=[t.q for t in recorded],
        before=[t.velocity_before for t in recorded],
        after=[t.velocity_after for t in recorded],
        normal=[t.contact.normal for t in recorded],
    )
    assert (
        command("identify", "restitution", path, "--friction", 0.3)[1]
        == (command("identify", "restitution", table, "--friction", 0.3)[1])
    )


def test_impacts_recorded_outside_the_joint_limits_are_a_warning(command, recorded, tmp_path):
    q = np.array([t.q for t in recorded])
    q[4, 3] = 0.2
    arrays = {"before": [t.velocity_before for t in recorded], "after": [t.velocity_after for t in recorded]}
    np.savez(tmp_path / "impacts.npz", q=q, normal=[t.contact.normal for t in recorded], **arrays)
    status, out, _ = command("identify", "friction", tmp_path / "impacts.npz")
    assert status == 0
    assert (
        "warning: 1 of 12 postures are outside the URDF's joint limits, farthest in row 5: panda_joint4 at 0.2" in out
    )


def test_inertia_per_joint_and_as_one_ratio(command, robot, table):
    _, out, _ = command("identify", "inertia", table, "--friction", 0.3)
    assert all(joint in out for joint in robot.joint_names)
    _, out, _ = command("identify", "inertia", table, "--friction", 0.3, "--common-ratio", "--json")
    value = next(iter(json.loads(out)["parameters"].values()))["value"]
    assert value == pytest.approx(1.0, abs=0.05)


def test_a_recording_with_its_impact_time(command, robot, recorded, tmp_path):
    trial = recorded[0]
    times = np.arange(0.0, 0.5, 1e-3)
    positions = moving(trial, times)
    path = tmp_path / "recording.csv"
    header = ",".join(["time", *robot.joint_names])
    np.savetxt(path, np.column_stack([times, positions]), delimiter=",", header=header, comments="", fmt="%.17g")
    words = ("friction", path, "--normal", *trial.contact.normal, "--json")
    status, out, _ = command("identify", *words, "--impact-time", 0.2)
    assert status == 0
    # One trial: its own noise of 1 mrad/s on jumps of some 0.1 rad/s.
    assert json.loads(out)["parameters"]["friction"]["value"] == pytest.approx(0.3, abs=0.1)
    status, out, err = command("identify", *words)
    assert status == 0 and "impacts at 0.2" in err and "found by analyze" in err
    assert json.loads(out)["parameters"]["friction"]["value"] == pytest.approx(0.3, abs=0.1)


@pytest.mark.parametrize("kind", ["table", "bag"])
def test_restitution_with_the_objects_track(command, robot, recorded, tmp_path, kind):
    trial, drift = recorded[0], np.array([0.04, -0.03, 0.02])
    place = contact_point(robot, trial.q, trial.contact) - [0.02, 0.01, 0.07]
    box = replace(homogeneous_box(1.4, (0.1, 0.1, 0.1), place), twist=np.concatenate((drift, np.zeros(3))))
    contact = replace(trial.contact, restitution=0.4, friction=0.3)
    hit = predict(robot, trial.q, trial.velocity_before, contact, obstacle=box)
    times, camera = np.arange(0.0, 0.5, 1e-3), np.arange(0.003, 0.48, 1.0 / 120.0)
    late = (camera - 0.2)[:, None]
    positions = moving(trial, times, hit.velocity_after)
    moved = box.position + np.where(late < 0.0, late * drift, late * hit.object_twist_after[:3])
    (tracked,) = recorded_trials(
        robot, times, positions, [0.2], contact, BoxDefaults(1.4), track=ObjectTrack(camera, moved)
    )
    np.testing.assert_allclose(tracked.object_gain, hit.object_twist_after[:3] - drift, atol=2e-3)
    if kind == "table":
        path = tmp_path / "recording.npz"
        np.savez(path, time=times, q=positions, object_time=camera, object_position=moved)
    else:
        path = bag_of(
            tmp_path / "bag", robot.joint_names, zip(times, positions, strict=True), zip(camera, moved, strict=True)
        )
    words = ("restitution", path, "--normal", *trial.contact.normal, "--friction", 0.3, "--impact-time", 0.2, "--json")
    status, out, err = command("identify", *words, "--object-mass", 1.4)
    assert (status, err) == (0, "")
    found = json.loads(out)
    assert found["parameters"]["restitution"]["value"] == pytest.approx(0.4, abs=0.01)
    assert found["error"] < 2e-3 and found["warnings"] == []
    # Another mass gains another velocity of the same impulse: the track is what tells.
    wrong = json.loads(command("identify", *words, "--object-mass", 4.0)[1])
    assert wrong["error"] > 5.0 * found["error"]


def test_a_pose_that_was_published_once_places_the_object_if_its_mass_is_given(command, robot, recorded, tmp_path):
    """The box is hit far off its middle, which it answers by turning: without its place the jump is another."""
    trial = recorded[0]
    place = contact_point(robot, trial.q, trial.contact) - 0.1 * trial.contact.normal + [0.06, -0.05, 0.04]
    box = homogeneous_box(1.4, (0.1, 0.1, 0.1), place)
    hit = predict(robot, trial.q, trial.velocity_before, replace(trial.contact, restitution=0.4), obstacle=box)
    times = np.arange(0.0, 0.5, 1e-3)
    positions = moving(trial, times, hit.velocity_after)
    path = bag_of(tmp_path / "bag", robot.joint_names, zip(times, positions, strict=True), [(0.05, place)])
    words = ("restitution", path, "--normal", *trial.contact.normal, "--friction", 0.3, "--impact-time", 0.2, "--json")
    status, out, err = command("identify", *words, "--object-mass", 1.4)
    assert (status, err) == (0, "")
    assert json.loads(out)["parameters"]["restitution"]["value"] == pytest.approx(0.4, abs=0.01)
    status, _, err = command("identify", *words)
    assert status == 0
    assert err == "note: bag: its track of an object is not used without --object-mass: a fixed surface is assumed\n"


def test_contact_from_a_force_profile(command, profile):
    times, force, words = profile
    np.savetxt(words[1], np.column_stack([times, force]), delimiter=",", header="time,force", comments="")
    status, out, _ = command("identify", *words, "--json")
    assert status == 0
    # Interpolation between samples 40 us apart.
    assert json.loads(out)["parameters"]["stiffness"]["value"] == pytest.approx(3e4, rel=0.01)


@pytest.mark.parametrize(
    ("content", "words", "expected"),
    [
        (None, ("friction",), "readable regular file"),
        ("", ("friction",), "columns"),
        ("time,force\n1,x\n", ("contact", "--effective-mass", "1"), "'x' for force in row 1 (line 2)"),
        ("time,force\n", ("contact", "--effective-mass", "1"), "no rows"),
        ("a,b\n1,2\n", ("friction",), "'time=COLUMN'"),
        ("a,b\n1,2\n", ("friction", "--impact-time", "0.2"), "q_panda_joint1"),
        ("a,b\n1,2\n", ("friction", "--robot", "pandora"), "pandora"),
        ("time,force\n1,2\n", ("contact", "--effective-mass", "1"), "approach-speed"),
        ("time,pressure\n1,2\n", ("contact", "--effective-mass", "1", "--approach-speed", "1"), "force"),
        ("time,force\n1,2\n", ("contact", "--effective-mass", "1", "--approach-speed", "1"), "8 increasing"),
    ],
)
def test_bad_input_is_one_line_and_no_traceback(refused, tmp_path, content, words, expected):
    path = tmp_path / "table.csv"
    if content is not None:
        path.write_text(content)
    assert expected in refused("identify", words[0], path, *words[1:])


def test_a_table_without_normals_asks_for_one(command, table, tmp_path):
    lines = table.read_text().splitlines()
    path = tmp_path / "no_normals.csv"
    path.write_text("\n".join(",".join(line.split(",")[:-3]) for line in lines) + "\n")
    status, _, err = command("identify", "friction", path)
    assert status == 2
    assert "--normal" in err


def test_a_bag_gives_its_joints_by_name_and_its_impacts(command, robot, recorded, tmp_path):
    trial = recorded[0]
    times = np.arange(1.0, 1.5, 1e-3)
    positions = moving(trial, times, at=1.2)
    # The message has a finger first and the joints backwards.
    names = ["finger", *robot.joint_names[::-1]]
    columns = np.column_stack([np.zeros(times.size), positions[:, ::-1]])
    rows = list(zip(times, columns, strict=True))
    bag_of(tmp_path / "with_impacts", names, rows, impacts=[(1.2, 0), (1.3, 1)])
    bag_of(tmp_path / "without", names, rows)
    words = ("--normal", *trial.contact.normal, "--json")
    status, out, err = command("identify", "friction", tmp_path / "with_impacts", *words)
    assert (status, err) == (0, "")
    from_events = json.loads(out)
    # One trial: its own noise of 1 mrad/s on jumps of some 0.1 rad/s.
    assert from_events["parameters"]["friction"]["value"] == pytest.approx(0.3, abs=0.1)
    assert from_events["trials"] == 1
    given = command("identify", "friction", tmp_path / "without", *words, "--impact-time", 1.2)[1]
    assert json.loads(given) == from_events
    status, out, err = command("identify", "friction", tmp_path / "without", *words)
    assert status == 0 and "found by analyze" in err
    assert json.loads(out)["parameters"]["friction"]["value"] == pytest.approx(0.3, abs=0.1)
    status, _, err = command("identify", "friction", tmp_path / "without", "--impact-time", 1.2)
    assert status == 2
    assert "--normal" in err


def box_impacts(robot, recorded, mass):
    """The same hits as `recorded`, on a box that lies centrally behind the contact point."""
    rng = np.random.default_rng(4)
    rows = []
    for trial in recorded:
        point = contact_point(robot, trial.q, trial.contact)
        box = homogeneous_box(mass, (0.1, 0.065, 0.1), point - 0.1 * trial.contact.normal)
        found = predict(robot, trial.q, trial.velocity_before, trial.contact, obstacle=box)
        after = found.velocity_after + rng.normal(0.0, 1e-3, robot.n)
        rows.append(np.concatenate([trial.q, trial.velocity_before, after, trial.contact.normal, [mass], box.position]))
    return np.array(rows)


def test_a_free_object_takes_part_in_the_impact(command, robot, recorded, tmp_path):
    names = [f"{kind}_{joint}" for kind in ("q", "before", "after") for joint in robot.joint_names]
    header = [*names, "normal_x", "normal_y", "normal_z", "object_mass", "object_x", "object_y", "object_z"]
    rows = box_impacts(robot, recorded, 1.5)
    path = tmp_path / "box.csv"
    np.savetxt(path, rows, delimiter=",", header=",".join(header), comments="", fmt="%.17g")
    half = ("--object-half-extents", 0.1, 0.065, 0.1)
    status, out, _ = command("identify", "restitution", path, "--friction", 0.3, *half, "--json")
    assert status == 0
    found = json.loads(out)
    # Inelastic hits, with noise of 1 mrad/s on jumps of some 0.1 rad/s.
    assert found["parameters"]["restitution"]["value"] < 0.02
    assert not found["warnings"]
    # A table that does not say it takes the options; a fixed surface then does not explain these jumps.
    bare = tmp_path / "bare.csv"
    columns = len(names) + 3
    np.savetxt(bare, rows[:, :columns], delimiter=",", header=",".join(header[:columns]), comments="", fmt="%.17g")
    fixed = json.loads(command("identify", "friction", bare, *half, "--json")[1])
    free = json.loads(command("identify", "friction", bare, "--object-mass", 1.5, *half, "--json")[1])
    assert free["error"] < 0.2 * fixed["error"]


def test_an_object_that_makes_no_sense_is_refused(refused, table):
    for words, expected in (
        (("--object-mass", -1), "--object-mass: got '-1', expected a number, 1e-09 to 1e+12 kg"),
        (("--object-position", 0.5, 0, 0), "--object-mass"),
        (("--object-mass", 1, "--object-half-extents", 0.1, 0, 0.1), "lengths > 0"),
    ):
        assert expected in refused("identify", "friction", table, *words)


def test_the_material_of_a_palms_pads(command, refused, robot, recorded, tmp_path):
    """Hits of one kind of pads, `set`, all equally hard; without the palm, or on a tip, there is nothing to find."""
    half, mass, extents = [0.04, 0.035, 0.03], 2.0, (0.1, 0.1, 0.1)
    hits = []
    for trial in recorded[:6]:
        thing = BoxDefaults(mass, extents).behind(robot, trial.q, trial.contact)
        body, arm = PlacedShape(Box(extents), thing.position), ArmState(robot, trial.q, trial.velocity_before)
        own, _, objects = hit_contacts(arm, trial.contact, np.array(half), thing, body, None)
        problem = joint_problem(own, arms={"arm": arm}, objects=objects)
        friction, kept = np.full(len(own), 0.3), np.zeros(len(own))
        before = problem.jacobian @ problem.velocity
        impulse = pads_impulse(problem.delassus, before, friction, kept, np.ones(len(own)), "set")
        after = trial.velocity_before + (problem.response @ impulse)[problem.columns["arm"]]
        hits.append(np.concatenate([trial.q, trial.velocity_before, after, trial.contact.normal]))
    path = tmp_path / "palms.csv"
    names = [f"{kind}_{joint}" for kind in ("q", "before", "after") for joint in robot.joint_names]
    header = ",".join([*names, "normal_x", "normal_y", "normal_z"])
    np.savetxt(path, hits, delimiter=",", header=header, comments="", fmt="%.17g")
    words = ["identify", "material", path, "--friction", 0.3, "--object-mass", mass]
    palm = ["--pad-half-sizes", *half]
    status, out, err = command(*words, *palm, "--json", "--out", tmp_path)
    assert status == 0, err
    found = json.loads((tmp_path / "identify_material.json").read_text())
    assert found == json.loads(out) and found["quantity"] == "material" and found["trials"] > 0
    ((name, ratio),) = found["parameters"].items()
    assert name == "stiffness ratio, set" and ratio["determined"] and ratio["value"] <= ratio["upper"] <= 1.3
    assert "--pad-half-sizes: got nothing, expected the half edges of the palm, m" in refused(*words)
    table = (*palm, "--table-friction", 0.3)
    assert "--table-friction: got no --object-mass" in refused(*words[:5], *table)
    # One free object among them is enough.
    masses = np.where(np.arange(len(hits)) == 1, mass, 0.0)
    np.savetxt(path, np.column_stack([hits, masses]), delimiter=",", header=f"{header},object_mass", comments="")
    assert command(*words[:5], *table)[0] == 0
    assert "--method: got an unknown option" in refused(*words, *palm, "--method", "coulomb")


def test_a_plan_says_what_to_record(command, tmp_path):
    words = ("plan", "--count", 5, "--candidates", 30)
    status, out, err = command("identify", *words, "--json", "--out", tmp_path)
    assert (status, err) == (0, "")
    plan = json.loads(out)
    assert len(plan["impacts"]) == 5
    # A greedy choice among thirty is better in sum than the first five of them.
    squares = [
        np.sum(np.square(plan[name])) for name in ("expected_relative_error", "expected_relative_error_unplanned")
    ]
    assert squares[0] < squares[1]
    assert len((tmp_path / "impacts_to_record.csv").read_text().splitlines()) == 6
    assert "expected error" in command("identify", *words)[1]


def test_each_quantity_has_its_own_options(command, table):
    status, _, err = command("identify", "plan", table)
    assert (status, err.count("\n")) == (2, 1) and str(table) in err
    assert "a table of impacts" in command("identify", "friction")[2]


def test_the_contact_point_is_that_of_the_hits_that_were_named(command, robot, recorded, tmp_path):
    """Two hits in one recording, each by its time: of the command line or the file beside it, in a bag or a table."""
    first, second = recorded[0], recorded[3]
    times = np.arange(0.0, 0.9, 1e-3)
    jump = second.velocity_after - second.velocity_before
    positions = moving(first, times, at=0.3) + np.maximum(times - 0.6, 0.0)[:, None] * jump
    path = tmp_path / "two.csv"
    header = ",".join(["time", *robot.joint_names])
    np.savetxt(path, np.column_stack([times, positions]), delimiter=",", header=header, comments="", fmt="%.17g")
    bag_of(tmp_path / "bag", robot.joint_names, zip(times + 1.0, positions, strict=True))

    def fits(*words):
        status, out, err = command("identify", "contact-point", *words, "--json")
        assert status == 0, err
        return json.loads(out)["fits"][0]

    both, alone = fits(path), fits(path, "--impact-time", 0.605)
    assert (both["hits"], alone["hits"]) == (2, 1)
    np.testing.assert_allclose(alone["impulses"][0], both["impulses"][1], atol=0.3)
    assert np.linalg.norm(np.subtract(alone["impulses"][0], both["impulses"][0])) > 0.5
    np.testing.assert_allclose(fits(tmp_path / "bag", "--impact-time", 1.605)["impulses"], alone["impulses"], atol=1e-3)
    (tmp_path / "two.impact.yaml").write_text("impact_times: [0.605]\n")
    assert fits(path) == alone
    status, _, err = command("identify", "contact-point", tmp_path / "bag", "--impact-time", 1.45)
    assert status == 2 and "got [1.45], expected times within 0.02 s of contacts of bag: 1.300, 1.600" in err


def test_a_tool_that_was_changed_between_recordings_is_reported(command, robot, tmp_path):
    """Files behind an option, the last of another tip than the others; without it the tip's centre is found."""
    rng, centre = np.random.default_rng(5), np.array([0.05, -0.03, 0.06])
    paths = [tmp_path / f"{name}.npz" for name in "abcd"]
    for path, offset in zip(paths, [centre, centre, centre, centre + [0.05, -0.06, 0.0]], strict=True):
        rows = []
        for _ in range(2):
            q, before = robot.home + rng.uniform(-0.3, 0.3, 7), rng.uniform(-0.8, 0.8, 7)
            normal = rng.standard_normal(3)
            contact = Contact(robot.tool_frame, normal, offset=offset, friction=0.3, radius=robot.tool_radius)
            if predict(robot, q, before, contact).mode == "separate":
                before = -before
            rows.append((q, before, predict(robot, q, before, contact).velocity_after, normal))
        columns = dict(zip(("q", "before", "after", "normal"), map(np.array, zip(*rows, strict=True)), strict=True))
        np.savez(path, **columns)
    status, out, err = command("identify", "contact-point", "--robot", "panda", "--json", *paths)
    assert status == 0, err
    found = json.loads(out)["fits"][0]
    assert not found["determined"] and Path(found["odd_file"]["file"]).name == "d.npz"
    assert "d.npz are of another point" in found["notes"][0] and "tool changed" in found["notes"][0]
    found = json.loads(command("identify", "contact-point", *paths[:3], "--json")[1])["fits"][0]
    assert found["determined"] and "odd_file" not in found
    np.testing.assert_allclose(found["offset"], centre, atol=2.0 * found["error_along"])
    # Both velocities of a table without errors are taken to be off by 2 mrad/s.
    rows = [row for path in paths[:3] for row in zip(*np.load(path).values(), strict=True)]
    error = np.full(7, np.hypot(2e-3, 2e-3))
    jumps = [JointJump(q, after - before, error, normal) for q, before, after, normal in rows]
    fit = ContactPointProblem(robot, jumps, robot.tool_frame, inertia="M+B_theta", radius=robot.tool_radius).fit()
    assert found["error_along"] == pytest.approx(fit.error_along, rel=1e-6)
    unknown = command("identify", "contact-point", "--json", paths[0], "--nonsense")[2]
    assert "--nonsense: got an unknown option" in unknown


@pytest.mark.parametrize(("chi_square", "said"), [(3.5, "50 % of the jumps stay"), (200.0, "the hits are not of one")])
def test_a_jump_that_no_point_explains_has_one_reason(chi_square, said):
    fit = replace(CONTACT_CHECK.fit, unexplained=0.5, chi_square=chi_square)
    notes = identify_contact_point.as_dict(fit, 0.0, np.array([0.0, 0.0, 1.0]))["notes"]
    assert sum("of the jumps stay" in note or "not of one" in note for note in notes) == 1
    assert any(said in note for note in notes)


def test_arm_and_frame_are_those_of_the_file_beside_the_recording(capsys, command, table, tmp_path):
    for name in ("one.csv", "other.csv"):
        (tmp_path / name).write_text(table.read_text())
    # The same arm with motors that nobody knows: other friction explains its jumps.
    assert main(["new-robot", str(load_profile("panda").urdf), "--name", "bare", "--out", str(tmp_path)]) == 0
    beside = tmp_path / "one.impact.yaml"
    beside.write_text("robot: bare.yaml\ncontact: {frame: panda_hand_tcp}\n")
    capsys.readouterr()
    words = (tmp_path / "one.csv", "--json", "--contact-frame", "panda_hand_tcp")
    found = [command("identify", "friction", *words, *more)[1] for more in ((), ("--robot", tmp_path / "bare.yaml"))]
    assert found[0] == found[1] and json.loads(found[0])["parameters"]
    assert command("identify", "friction", *words, "--robot", "panda")[1] != found[0]
    out = command("identify", "contact-point", tmp_path / "one.csv", "--json")[1]
    assert json.loads(out)["inertia"] == "M" and json.loads(out)["fits"][0]["frame"] == "panda_hand_tcp"
    (tmp_path / "other.impact.yaml").write_text("robot: panda\n")
    status, _, err = command("identify", "contact-point", tmp_path / "one.csv", tmp_path / "other.csv")
    assert status == 2 and "in one.impact.yaml, panda in other.impact.yaml, expected the same for all" in err


def test_a_plan_for_an_arm_whose_motors_nobody_knows_says_what_it_took(capsys, command, tmp_path):
    """The profile that `new-robot` writes points to a plan."""
    assert main(["new-robot", str(load_profile("kuka_lwr4").urdf), "--name", "bare", "--out", str(tmp_path)]) == 0
    capsys.readouterr()
    words = ("plan", "--robot", tmp_path / "bare.yaml", "--count", 5, "--candidates", 30)
    status, out, err = command("identify", *words)
    assert status == 0 and not err and "note: the apparent motor inertia of every joint is not known, 0.1 kg" in out
    (note,) = json.loads(command("identify", *words, "--json")[1])["notes"]
    assert "plan anew" in note
    # What is known stays, and nothing is said of it.
    text = (tmp_path / "bare.yaml").read_text()
    zeros, known = ", ".join(["0.0"] * 7), "0.5, 0.4, 0.3, 0.2, 0.11, 0.12, 0.0"
    text = text.replace(f"\napparent_motor_inertia: [{zeros}]", f"\napparent_motor_inertia: [{known}]")
    (tmp_path / "bare.yaml").write_text(text)
    assert "inertia of joint_7 is not known" in command("identify", *words)[1]
    assert json.loads(command("identify", "plan", "--count", 5, "--candidates", 30, "--json")[1])["notes"] == []


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (("friction", "--friction", "0.3"), "--friction"),
        (("inertia", "--restitution", "0.1", "--model", "viscoelastic"), "--model"),
        (("friction", "--common-ratio"), "--common-ratio"),
        (("friction", "--object-topic", "/box"), "--object-topic"),
        (("contact", "--robot", "panda"), "--robot"),
        (("contact-point", "--confidence", "0.9"), "--confidence"),
        (("plan", "--impact-time", "1.0"), "--impact-time"),
    ],
)
def test_options_that_a_quantity_does_not_read_are_refused(refused, table, words, option):
    files = () if words[0] == "plan" else (table,)
    assert f"{option}: got" in refused("identify", words[0], *files, *words[1:])


def test_the_confidence_of_the_intervals_is_the_one_that_is_given(command, table, profile):
    times, force, contact = profile
    force = force + 0.5 * np.random.default_rng(4).standard_normal(len(times))
    np.savetxt(contact[1], np.column_stack([times, force]), delimiter=",", header="time,force", comments="")
    for words, name in ((("friction", table), "friction"), (contact, "stiffness")):
        widths = []
        for confidence in (0.5, 0.99):
            found = json.loads(command("identify", *words, "--confidence", confidence, "--json")[1])
            assert found["confidence"] == confidence
            widths.append(found["parameters"][name]["upper"] - found["parameters"][name]["lower"])
        # Student's t of 0.5 and of 0.99 is 0.7 and 2.6 where there are many figures.
        assert widths[1] > 3.0 * widths[0]


def test_plan_lists_its_own_options_only(capsys):
    with pytest.raises(SystemExit):
        main(["identify", "plan", "--help"])
    own = "--json --out --robot --normal --friction --restitution --count --candidates --velocity-error --seed"
    assert set(re.findall(r"^  (--[a-z-]+)", capsys.readouterr().out, flags=re.MULTILINE)) == set(own.split())
