"""Workflows through their public messages, on a real server."""
