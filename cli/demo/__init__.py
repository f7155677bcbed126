"""The demonstration: a real coding task whose worker is killed twice."""
