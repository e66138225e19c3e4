"""Benchmarks, each with a baseline of the same run."""
