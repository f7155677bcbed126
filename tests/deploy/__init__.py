"""The files of ``deploy/`` say nothing that the code does not know."""
