"""What each tool does, on real files and processes."""
