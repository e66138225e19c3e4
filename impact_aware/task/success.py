"""When a task counts as done: the same for the campaign's runs and for the report of a run."""

GOAL_RADIUS = 0.02
"""How far from its goal a pushed object may end, m (van Steen 2024 gives no number)."""

LIFTED_GOAL_RADIUS = 0.05
"""How far from its goal a lifted object may be held, m."""

LARGEST_SLIP = 0.01
"""How far a palm may slide on a lifted object, m."""

LIFTED_SHARE = 0.5
"""Share of the wanted height that an object must reach to count as lifted, and keep not to count as dropped."""
