"""A Panda's tool meets a table from above: what are the joint velocities just after, and how sure is that?"""

import numpy as np

import impact_aware as ia

robot = ia.load_robot("panda")
upwards = np.array([0.0, 0.0, 1.0])
contact = ia.Contact(robot.tool_frame, normal=upwards, friction=0.3, radius=robot.tool_radius)
velocity = np.array([0.0, 0.18, 0.0, -0.42, 0.0, 0.6, 0.0])  # rad/s, just before
jump = ia.predict(robot, robot.home, velocity, contact)

print(f"{jump.mode}, impulse {np.round(jump.impulse, 3)} N s, effective mass {jump.effective_mass:.2f} kg")
for joint, before, after in zip(robot.joint_names, jump.velocity_before, jump.velocity_after, strict=True):
    print(f"{joint}  {before:+.3f} -> {after:+.3f} rad/s")

# The same with what is not known exactly: friction 0.3 +- 0.1, motor inertia +- 20 %.
spread = ia.InputCovariance(friction=0.1**2, motor_inertia=(0.2 * robot.apparent_motor_inertia) ** 2)
sure = ia.predict_with_covariance(robot, robot.home, velocity, contact, spread)
deviation = np.sqrt(np.diag(sure.velocity_after_covariance))
print(f"standard deviations {np.round(deviation, 4)} rad/s")
