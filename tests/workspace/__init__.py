"""The working directory as tools see it: paths, observations, edits."""
