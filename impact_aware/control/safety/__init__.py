"""Everything that may refuse, change or stop a torque."""
