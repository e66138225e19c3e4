"""The velocity references of a task before and after its impact, at any point, and a streamline through them."""

import numpy as np

import impact_aware as ia

task = ia.load_task("hit_and_push")
robot = ia.load_robot(task.arms[0].robot)
field = ia.make_field(task, [robot])

ante = field.ante_impact()
approach = ia.streamline(ante.velocity, start=task.arms[0].starts[1], duration=1.2)
print(f"speed at the start {np.linalg.norm(ante.velocity(approach[0])):.3f} m/s")
print(f"velocity at the impact {np.round(ante.velocity(field.arms[0].impact_position), 3)} m/s")

# After the impact the object starts with the velocity that was predicted for it, and is led to its goal.
post = field.after_impact(field.object_position, [0.0, -0.3, 0.0]).post_impact()
push = ia.streamline(post.velocity, start=field.object_position, duration=4.0)
print(f"velocity after the impact {np.round(post.velocity(field.object_position), 3)} m/s")
print(f"{1e3 * np.linalg.norm(push[-1] - field.goal):.1f} mm from the goal after 4 s")
