"""How far a search goes and how much it returns (domain reference 5.3)."""

DEFAULT_RESULTS = 20
"""max-results: 20,"""
MOST_RESULTS = 100
"""1 to 100."""
DEFAULT_MATCHES_PER_FILE = 20
"""max-matches-per-file: 20, 1 to 100."""
MOST_CONTEXT = 10
"""context: 0 to 10."""
DEFAULT_BUDGET_MS = 3_000
"""time-budget-ms: 3,000,"""
LONGEST_BUDGET_MS = 10_000
"""1 to 10,000."""
SEARCH_CHARACTERS = 7_600
"""Below the 8,000 of an ordinary result, so that a page is never cut again."""

LONGEST_QUERY = 1_000
"""Characters of one query or pattern."""
MOST_PATTERNS = 50
"""Literal patterns of one search."""
SEARCHED_FILE_BYTES = 64 * 1024 * 1024
"""Larger files are not searched: a match may be as long as its file."""
SHOWN_LINE = 240
"""Characters of a matching line that are shown, around the match."""
LONGEST_RECORD = 512 * 1024
"""Bytes of one reported match that are kept; a longer line is only named."""
LONGEST_FUZZY_QUERY = 64
"""A fuzzy query becomes about twice as many expressions as it has characters."""
FUZZY_CANDIDATES = 2_000
"""Lines that are ranked in one fuzzy search."""
FUZZY_SIMILARITY = 0.6
"""How alike a fuzzy match must be, from 0 to 1."""
