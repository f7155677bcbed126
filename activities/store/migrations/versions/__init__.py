"""Alembic scripts.  A migration that has been released is never edited."""
