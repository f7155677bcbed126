"""The command line: its failures, its renderers, its screen."""
