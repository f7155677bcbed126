"""What a workflow may ask of the world, typed, with no implementation in sight."""
