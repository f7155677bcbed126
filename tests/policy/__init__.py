"""Pure decisions, by property."""
