"""How long the engine waits before it believes that something is lost.

Sources: design ("Processes on one machine"), temporal facts 6 and 11.
"""

from datetime import timedelta

HEARTBEAT = timedelta(seconds=10)
"""Heartbeats are for lost machines; a lost worker is reported by the next one."""
HEARTBEAT_EVERY = timedelta(seconds=3)
HEARTBEAT_THROTTLE = timedelta(seconds=1)
WORKFLOW_TASK = timedelta(seconds=5)
STICKY = timedelta(seconds=2)
GRACEFUL_STOP = timedelta(seconds=5)

REQUEST = timedelta(minutes=60)
"""One attempt of one provider request."""
STORE_WRITE = timedelta(minutes=1)
"""A write that has nothing else to wait for."""
TOOL = timedelta(days=1)
"""A call ends by its own timeout; this bound is for defects."""
JOB = timedelta(days=365)
"""A detached command may run for as long as it likes."""
WAIT_FOR_HOST = timedelta(days=365)
"""Work bound to a workspace waits for its host."""

CONTINUE_AFTER_EVENTS = 1_500
"""Cold replay runs at about 1,500 events a second, and must stay near one second."""
REMEMBERED_RECEIPTS = 128
"""How many receipts a conversation carries to recognise a repeated message."""
