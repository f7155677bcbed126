"""The runtime of one machine: a supervisor, a tuned Temporal server and one worker."""
