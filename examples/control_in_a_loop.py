"""Reference spreading through an impact, in a loop of your own: states in, torques out, no ROS."""

import numpy as np

import impact_aware as ia

task = ia.load_task("hit_and_push")
robot = ia.load_robot(task.arms[0].robot)
field = ia.make_field(task, [robot])
session = ia.ControlSession(robot, field=field)
ia.warm_up(session)  # what the first cycles would wait for is loaded and translated now
detector = ia.make_detector("adaptive_window", robot.n)

# The arm is simulated here; a driver of your own takes the plant's place.
plant = ia.task_plant(task, ia.EpisodeSettings(), [robot])
state = plant.reset(ia.start_posture(task.arms[0], robot))
session.start(state.time, plant.reading.q)
while state.time < 2.5:
    reading = plant.reading
    event = detector.update(ia.JointSample(reading.time, reading.q, reading.dq, reading.effort))
    if event is not None and session.mode is ia.Mode.ANTE:
        box = ia.predict_impact(task, 0, robot, field, event).object_twist_after
        assert box is not None  # the task's object is free to move
        session.events.notify_impact(event.time, reading.time, box[:3])
        print(f"impact at {event.time:.4f} s, the box is to move at {np.round(box[:3], 3)} m/s")
    command = session.cycle(reading.time, reading.q, reading.dq)
    state = plant.step(command.effort)

distance = np.linalg.norm(state.object_placement.translation - field.goal)
print(f"{session.mode.name.lower()}, the box is {distance:.3f} m from its goal")
