"""Commands: real processes, real files, a real sandbox."""
