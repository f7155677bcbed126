"""Retained command output (spec: Retained command output)."""

from datetime import timedelta

STREAM_BYTES = 64 * 1024 * 1024
"""Defaults are 64 MiB per stream,"""
RETAINED_BYTES = 1024 * 1024 * 1024
"""1 GiB of reserved capture capacity"""
RETAINED_COUNT = 256
"""and 256 retained artifacts."""
PRUNEABLE_AFTER = timedelta(days=7)
"""Eligible completed captures become pruneable after seven days."""
READ_BYTES = 4096
"""byte-count: default and maximum 4096 bytes."""
SEARCH_SCAN_BYTES = 1024 * 1024
"""Each search scans at most 1 MiB"""
SEARCH_EXCERPTS = 20
"""and returns at most 20 excerpts."""
