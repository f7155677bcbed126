"""The models that are known without asking anyone.

The list needs no network and is no limit: any other id is sent as it is.
"""

from dataclasses import dataclass
from typing import Final

DEFAULT_WINDOW: Final = 272_000
"""Context window of a model that declares none (domain reference 15.1)."""
DEFAULT_MODEL: Final = "gpt-5.6-sol"


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """One model as ``autolith models`` shows it."""

    id: str
    provider: str
    description: str
    window: int = DEFAULT_WINDOW


MODELS: Final = (
    ModelEntry("gpt-6.1", "openai", "GPT-6.1"),
    ModelEntry("gpt-6", "openai", "GPT-6"),
    ModelEntry("gpt-5.6-sol", "openai", "GPT-5.6 Sol"),
    ModelEntry("gpt-5.6-luna", "openai", "GPT-5.6 Luna"),
    ModelEntry("gpt-5.6-terra", "openai", "GPT-5.6 Terra"),
)


def window(model: str) -> int:
    """Return the context window of *model*, in tokens."""
    return next((entry.window for entry in MODELS if entry.id == model), DEFAULT_WINDOW)
