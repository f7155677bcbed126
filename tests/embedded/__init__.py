"""The runtime of one machine: it comes up, stays up, and goes away."""
