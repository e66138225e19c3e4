"""Bags in, reports out."""
