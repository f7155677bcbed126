"""Choose the reply to a request; the only thing that changes while a script runs."""

import hashlib
from collections import Counter

from activities.errors import ScriptError
from activities.provider.scripted.script import Conditions, Reply, Script
from activities.provider.scripted.seen import SeenRequest, see


class Playbook:
    """A script, and how much of it has been used."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._uses: Counter[str] = Counter()
        self._attempts: Counter[bytes] = Counter()

    def see(self, content: bytes) -> SeenRequest:
        """Count a request in and return what it says.

        Raises:
            ScriptError: it is no Chat Completions request.
        """
        digest = hashlib.blake2b(content, digest_size=16).digest()
        self._attempts[digest] += 1
        return see(content, self._attempts.total(), self._attempts[digest])

    def choose(self, seen: SeenRequest) -> Reply:
        """Return the reply to *seen*, which counts as used from now on.

        Raises:
            ScriptError: no reply fits, and there is no default.
        """
        for reply in self._script.replies:
            used_up = reply.uses is not None and self._uses[reply.place] >= reply.uses
            if not used_up and _holds(reply.conditions, seen):
                self._uses[reply.place] += 1
                return reply
        if self._script.default is not None:
            return self._script.default
        raise ScriptError(f"the script has no reply for request {seen.number}")


def _holds(conditions: Conditions, seen: SeenRequest) -> bool:
    return (
        conditions.model in (None, seen.model)
        and all(text in seen.text(place) for place, text in conditions.texts.items())
        and all(bounds.holds(seen.count(name)) for name, bounds in conditions.numbers.items())
    )
