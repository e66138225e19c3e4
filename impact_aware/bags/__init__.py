"""Readers of rosbag2 recordings, and the message types that an annotated copy adds."""
