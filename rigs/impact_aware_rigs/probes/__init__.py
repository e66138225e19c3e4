"""Nodes that measure other nodes."""
