"""Commands: the surviving runner, the sandbox, the captures."""
