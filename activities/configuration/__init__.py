"""What users write: files, environment, locations."""
