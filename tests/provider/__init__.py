"""Providers: the wire, keys, and the scripted server."""
