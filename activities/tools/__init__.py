"""What a model may call, one file per namespace."""
