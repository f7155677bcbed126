"""The record: written once, read in order, on both databases."""
