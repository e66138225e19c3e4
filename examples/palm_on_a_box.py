"""A Panda's flat palm hits a box that stands on its table: what moves how just after, and which contacts stick?"""

import numpy as np

import impact_aware as ia

robot = ia.load_robot("panda")
tool = robot.placement(robot.home).translation
jacobian = robot.frame_jacobian(robot.home)
velocity = np.linalg.pinv(jacobian) @ np.array([0.4, 0.0, 0.0, 0.0, 0.0, 0.0])  # rad/s: 0.4 m/s along x

# A box of 2 kg whose face the palm meets 2 cm above the middle; the table is below its four lower corners.
half, mass = np.array([0.1, 0.15, 0.1]), 2.0
centre = tool + [half[0], 0.0, -0.02]
inertia = mass / 3.0 * np.diag((half**2).sum() - half**2)
box = ia.FreeObject(mass, inertia, centre, np.zeros(6))
x, _, z = np.eye(3)
palm = ia.BodyContact("arm", normal=-x, point=tool, other="box", friction=0.6)
base = ia.BodyContact("box", normal=z, point=centre - half[2] * z, friction=0.3)
contacts = palm.patch([0, 1, 0], 0.03, 0.02) + base.patch([1, 0, 0], half[0], half[1])

jump = ia.predict_simultaneous(contacts, arms={"arm": ia.ArmState(robot, robot.home, velocity)}, objects={"box": box})

moved, turned = jump.velocity_after["box"][:3], jump.velocity_after["box"][3:]
print(f"box: {np.round(moved, 3)} m/s, {np.round(turned, 3)} rad/s; {jump.energy_loss:.3f} J lost")
print(f"palm: {np.round(jump.impulse[:4].sum(axis=0), 3)} N s, {', '.join(jump.modes[:4])}")
print(f"table: {np.round(jump.impulse[4:].sum(axis=0), 3)} N s, {', '.join(jump.modes[4:])}")
for joint, before, after in zip(robot.joint_names, velocity, jump.velocity_after["arm"], strict=True):
    print(f"{joint}  {before:+.3f} -> {after:+.3f} rad/s")
