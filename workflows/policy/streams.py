"""How long a provider may be silent, and how much it may say at once."""

from datetime import timedelta

CONNECT = timedelta(seconds=10)
"""A connection that cannot be made in this time is a failed attempt."""
TRANSPORT_SILENCE = timedelta(minutes=5)
"""Not one byte, comments included: the connection is dead (field case A-07).

Some models think for minutes behind a server that sends no comments.
"""
PROGRESS_SILENCE = timedelta(minutes=15)
"""Comments keep a connection alive, but only a longer limit on progress ends a wedged one."""
TRAILER = timedelta(seconds=10)
"""After the finish reason only the usage may come; a complete answer waits no longer for it."""
DRAIN = timedelta(milliseconds=200)
"""How long a finished stream may take to close so that its connection can be used again."""

LINE_BYTES = 1024 * 1024
"""SSE limits: 1 MiB per line."""
EVENT_BYTES = 4 * 1024 * 1024
"""SSE limits: 4 MiB per event."""
REPLY_BYTES = 64 * 1024 * 1024
"""A stream that never ends must not fill the memory of the worker."""
ERROR_BYTES = 64 * 1024
"""How much of an error answer is read for its explanation."""
MALFORMED_PAYLOADS = 1
"""One payload that is not JSON is passed over; the next one ends the attempt (A-03)."""
