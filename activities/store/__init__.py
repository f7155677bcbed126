"""The record of what was said: SQLAlchemy Core, keyed writes, events, objects."""
