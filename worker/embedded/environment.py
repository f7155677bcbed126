"""Which environment the worker was started with, without writing any value down.

The worker outlives the terminal that started it.  A person who later exports another
key or endpoint must be told that the running worker does not see it.
"""

import hmac
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from activities.configuration.locations import kept_secret
from activities.errors import EnvironmentDiffersError
from activities.shell.environment import is_secret

_PLACES: Final = re.compile(r"AUTOLITH_\w+_(ENDPOINTS?|BASE_URL|URL|DOMAIN|ROUTING)", re.ASCII)
_KEY_BYTES: Final = 32


def is_place(name: str) -> bool:
    """Tell whether the variable *name* says where a provider is."""
    return _PLACES.fullmatch(name) is not None


def digests(environ: Mapping[str, str], state: Path) -> dict[str, str]:
    """Return a keyed digest of each variable with which providers and the store are reached.

    The key never leaves the state root, so a copied ``runtime.sexp`` gives nothing to guess at.
    """
    key = bytes.fromhex(kept_secret(state / "digest-key", size=_KEY_BYTES))
    return {
        name: hmac.new(
            key, f"{name}={value}".encode(errors="surrogateescape"), "sha256"
        ).hexdigest()
        for name, value in sorted(environ.items())
        if value and (is_secret(name) or is_place(name))
    }


def require_same(recorded: Mapping[str, str], environ: Mapping[str, str], state: Path) -> None:
    """Refuse to go on when *environ* sets what the worker does not have.

    A variable that only the worker has is no difference: it was set on purpose, elsewhere.

    Raises:
        EnvironmentDiffersError: the worker would act on other values.
    """
    own = digests(environ, state)
    if names := [name for name, digest in own.items() if recorded.get(name) != digest]:
        raise EnvironmentDiffersError(
            f"The running worker was started with {_other(names, recorded)}; "
            "run 'autolith down' and repeat the command (nothing is lost by that), "
            f"or unset {'it' if len(names) == 1 else 'them'} here"
        )


def _other(names: list[str], recorded: Mapping[str, str]) -> str:
    said = [f"{'another' if name in recorded else 'no'} {name}" for name in names]
    return said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}"
