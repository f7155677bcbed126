"""The person's side."""
