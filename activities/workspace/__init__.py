"""Files of the project: path authority, revisions, staged changes."""
