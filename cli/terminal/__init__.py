"""Pure renderers and the interactive screen."""
