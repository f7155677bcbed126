"""The shape of the code is the shape of the design."""
