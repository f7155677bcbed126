"""The crash matrix: whatever dies, nothing is lost and nothing happens twice."""
