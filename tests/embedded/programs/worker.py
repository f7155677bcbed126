"""A worker that is ready at once and does nothing, or fails as ``STAND_IN`` says."""

import os
import signal
import sys
from pathlib import Path
from typing import NoReturn

from worker.embedded.readiness import announce


def refuse(words: str) -> NoReturn:
    """End before being ready."""
    sys.stdout.write(f"{words}\n")
    sys.exit(3)


def main() -> None:
    """Behave as told."""
    behaviour, _, place = os.environ.get("STAND_IN", "").partition(":")
    if behaviour == "refuse":
        refuse("this worker cannot work")
    if behaviour == "refuse-once" and not Path(place).exists():
        Path(place).touch()
        refuse("the first one always fails")
    if behaviour == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if behaviour != "never-ready":
        announce(os.environ)
    while True:
        signal.pause()


if __name__ == "__main__":
    main()
