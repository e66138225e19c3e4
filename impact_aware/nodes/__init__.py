"""ROS 2 nodes: translate, schedule, log. The physics is in the other rooms."""
