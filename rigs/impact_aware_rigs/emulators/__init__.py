"""Emulators of other people's controllers."""
