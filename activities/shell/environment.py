"""The environment of a command: everything of ours, except what is not its business.

The runner is started with this environment too, so that the parent which a command
can look at (``/proc/$PPID/environ``) has nothing more to show (field case A-22).
"""

import os
import re
from collections.abc import Mapping

EXECUTION_VARIABLE = "AUTOLITH_EXECUTION"
"""Tells a command, and whoever meets its remains, the directory of its execution: an id
alone could belong to another state root."""

SECRET_VARIABLES = (
    "ANTHROPIC_API_KEY",
    "AUTOLITH_GEMINI_OAUTH_CLIENT_SECRET",
    "AUTOLITH_OPENAI_API_KEY",
    "AUTOLITH_STORE",
    "FIREWORKS_API_KEY",
    "MISTRAL_API_KEY",
    "OPENAI_API_KEY",
    "OPENROUTER_API_KEY",
)
"""Every secret that Autolith itself reads from its environment (domain reference 1.4);
the address of a shared store carries its password."""

OWN_SECRET = re.compile(r"AUTOLITH_\w*(KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL|DSN|AUTH)")
"""Variables of our own that are a secret by their name, also future ones."""

GIT_LOCAL_VARIABLES = (
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
)
"""``git rev-parse --local-env-vars`` of Git 2.39: they would point every git command at
the repository from whose hook or alias Autolith was started, not at the workspace."""

SHORTEST_SECRET = 8
"""A shorter value is too likely to be an ordinary word of the output."""


def is_secret(name: str) -> bool:
    """Tell whether the variable *name* holds a secret of ours."""
    return name in SECRET_VARIABLES or OWN_SECRET.match(name) is not None


def child_environment(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return what a command inherits of *environment*."""
    return {
        name: value
        for name, value in environment.items()
        if not is_secret(name) and name not in GIT_LOCAL_VARIABLES
    }


def redact(text: str, environment: Mapping[str, str] = os.environ) -> str:
    """Return *text* without the secrets that are known from *environment*."""
    for name, value in environment.items():
        if is_secret(name) and len(value) >= SHORTEST_SECRET:
            text = text.replace(value, f"[{name} removed]")
    return text
