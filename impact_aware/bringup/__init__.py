"""What is started together: the node graph as data, its processes, and what differs between drivers."""
