"""Topics of the two graphs with their types, as `docs/interfaces.md` has them."""

_ARM = {
    "joint_states": "sensor_msgs/msg/JointState",
    "robot_description": "std_msgs/msg/String",
    "effort_controller/commands": "std_msgs/msg/Float64MultiArray",
    "impacts": "impact_aware_msgs/msg/ImpactEvent",
    "predicted_jumps": "impact_aware_msgs/msg/ImpactPrediction",
    "true_impacts": "impact_aware_msgs/msg/ImpactPrediction",
    "impact_markers": "visualization_msgs/msg/MarkerArray",
}

_COMMON = {
    "/reference_field": "impact_aware_msgs/msg/ReferenceField",
    "/task": "impact_aware_msgs/msg/Task",
    "/controller_state": "impact_aware_msgs/msg/ControllerState",
    "/object_pose": "geometry_msgs/msg/PoseStamped",
    "/object_twist": "geometry_msgs/msg/TwistStamped",
    "/diagnostics": "diagnostic_msgs/msg/DiagnosticArray",
}

TOPICS = {
    "single_arm": {**_COMMON, **{f"/{topic}": kind for topic, kind in _ARM.items()}},
    "dual_arm": {
        **_COMMON,
        "/common_jumps": "impact_aware_msgs/msg/ImpactPrediction",
        **{f"/{side}/{topic}": kind for side in ("left", "right") for topic, kind in _ARM.items()},
        **{f"/{side}/object_pose": "geometry_msgs/msg/PoseStamped" for side in ("left", "right")},
    },
}

LATCHED = ("reference_field", "task", "robot_description")
"""Ends of the topics whose last message is kept for those who come late."""
