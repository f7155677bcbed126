"""What a new worker does for its dead predecessors."""
