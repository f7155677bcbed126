"""Sealing: what leaves this process for Temporal is unreadable and bound to its workflow."""
