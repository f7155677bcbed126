"""How much of a resource is observed, shown, kept and edited (domain reference 5.1, 5.2)."""

DEFAULT_LINES = 400
"""line-count: default 400,"""
LONGEST_WINDOW = 1_000
"""at most 1,000."""
READ_CHARACTERS = 7_600
"""resource.read builds at most about 7,600 characters."""
DIRECTORY_ENTRIES = 1_000
"""A sorted directory listing has at most 1,000 entries."""
COLLECTION_RESULTS = 50
"""max-results of a collection: cap 50."""

OBSERVATIONS_PER_KIND = 16
"""At most 16 observations per resource kind per conversation, oldest evicted;"""
SNAPSHOT_BYTES = 16 * 1024 * 1024
"""workspace snapshots additionally share 16 MiB per conversation."""
FILE_BYTES = 4 * 1024 * 1024
"""Limit 4 MiB before and after an edit."""

LABEL_CHARACTERS = 120
"""A row's label stays on one line of a wide screen."""
SCAN_BYTES = 256 * 1024 * 1024
"""How far a window into a larger file is looked for: reading must stay bounded (section 22)."""
CONTEXT_LINES = 3
"""Unchanged lines on each side of a change, as in every unified diff."""
HUNK_CHARACTERS = 4_000
"""How much of the new text an edit shows to the model, which wrote most of it."""
DIFF_CHARACTERS = 16_000
"""How much of a change a screen gets; the rest is counted."""
STALE_CHARACTERS = 2_000
"""How much of somebody else's change a refusal shows."""
