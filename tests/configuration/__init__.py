"""What users write: forms and property lists."""
