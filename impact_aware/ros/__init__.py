"""What the nodes share of ROS: QoS, parameters, runtime, lifecycle, diagnostics."""
