"""Pure functions over contracts; every number of the spec lives here."""
