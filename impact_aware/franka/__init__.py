"""A Franka arm by its own interface (FCI): libfranka in a process of its own, and what it must be prepared for."""
