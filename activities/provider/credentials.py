"""The keys that a person stored: ``api-keys.sexp`` in the state root.

Only the owner reads the file, it is replaced in one step, and changes of several
processes wait for each other at ``api-keys.lock``.
"""

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from activities.configuration.form_writer import publish_form
from activities.configuration.forms import Form, Keyword, read_form
from activities.configuration.properties import as_integer, as_list, as_text, properties
from activities.errors import ConfigurationError, UnwritableRootError

VERSION: Final = 1
FILE: Final = "api-keys.sexp"
LOCK: Final = "api-keys.lock"

_PROVIDER = re.compile(r"[a-z0-9][a-z0-9-]{0,63}", re.ASCII)
_KEY = re.compile(r"[\x21-\x7e]{1,4096}", re.ASCII)


def usable_key(text: str, origin: str) -> str:
    """Return *text* as a key that fits into an HTTP header; *origin* says where it came from.

    Raises:
        ConfigurationError: it cannot be a key.  The message does not repeat it.
    """
    key = text.strip()
    if not _KEY.fullmatch(key):
        raise ConfigurationError(
            f"The key in {origin} is no key: it must be printable ASCII without spaces"
        )
    return key


class Credentials:
    """The stored keys of one state root, by provider name."""

    def __init__(self, state_root: Path) -> None:
        self._path = state_root / FILE
        self._lock = state_root / LOCK

    def key(self, provider: str) -> str | None:
        """Return the stored key of *provider*, or None.

        Raises:
            ConfigurationError: the file is malformed, or others can read it.
        """
        return self._read().get(provider)

    def providers(self) -> tuple[str, ...]:
        """Return the names that have a stored key.

        Raises:
            ConfigurationError: the file is malformed, or others can read it.
        """
        return tuple(sorted(self._read()))

    def save(self, provider: str, key: str) -> None:
        """Store the key of *provider*, replacing an earlier one.

        Raises:
            ConfigurationError: the name or the key cannot be one, or the file is malformed.
            UnwritableRootError: it cannot be written.
        """
        if not _PROVIDER.fullmatch(provider):
            raise ConfigurationError(
                "A provider's name is lower-case letters, digits and hyphens, such as openai"
            )
        good = usable_key(key, "the input")
        with self._locked():
            self._publish(self._read() | {provider: good})

    def remove(self, provider: str) -> bool:
        """Forget the key of *provider*; return whether there was one.

        Raises:
            ConfigurationError: the file is malformed, or others can read it.
            UnwritableRootError: it cannot be written.
        """
        with self._locked():
            keys = self._read()
            had = keys.pop(provider, None) is not None
            if had:
                self._publish(keys)
        return had

    def _read(self) -> dict[str, str]:
        try:
            mode = self._path.stat().st_mode & 0o777
            form = read_form(self._path)
        except FileNotFoundError:
            return {}
        if mode & 0o077:
            raise ConfigurationError(
                f"{self._path}: other accounts can read it; run: chmod 600 {self._path}"
            )
        return self._parsed(form)

    def _parsed(self, form: Form) -> dict[str, str]:
        values = properties(form, path=self._path).only("version", "keys")
        if as_integer(values, "version") != VERSION:
            raise values.fault("version", f"must be {VERSION}; a newer release wrote this file")
        keys: dict[str, str] = {}
        for entry in as_list(values, "keys"):
            fields = properties(entry, path=self._path).only("provider", "key")
            provider = as_text(fields, "provider")
            if provider in keys:
                raise fields.fault("provider", f"{provider} stands twice")
            keys[provider] = usable_key(as_text(fields, "key"), str(self._path))
        return keys

    def _publish(self, keys: dict[str, str]) -> None:
        entries = tuple(
            (Keyword("provider"), provider, Keyword("key"), key)
            for provider, key in sorted(keys.items())
        )
        publish_form(self._path, (Keyword("version"), VERSION, Keyword("keys"), entries))

    @contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            descriptor = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise UnwritableRootError(
                f"{self._lock}: cannot be opened: {error.strerror}"
            ) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)
