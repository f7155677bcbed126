"""Recorded histories must replay."""
