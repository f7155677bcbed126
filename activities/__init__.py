"""Everything with a side effect."""
