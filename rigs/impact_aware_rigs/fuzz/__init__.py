"""Random messages through every node: what raises, what grows."""
