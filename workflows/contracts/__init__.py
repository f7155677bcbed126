"""Immutable values, one file per noun.  They only grow."""
