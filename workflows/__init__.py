"""Decisions: deterministic, replayable, without input or output.

Everything that the packages above share lives here too, because it is pure:
``contracts`` (values), ``policy`` (pure functions over them) and ``ports``
(the typed signatures of what a workflow may ask of the world).
"""
