"""The whole product under test: real processes, a real server, a scripted model."""
