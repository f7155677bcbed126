"""A provider that plays a script: for tests, demonstrations and dry runs."""
