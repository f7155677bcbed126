"""One file per command; the file name is the command."""
