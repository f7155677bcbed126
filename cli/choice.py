"""What a person chooses for a conversation."""

from collections.abc import Mapping
from dataclasses import dataclass

from activities.provider.catalog import DEFAULT_MODEL
from workflows.contracts.permission import PermissionMode

MODEL_VARIABLE = "AUTOLITH_MODEL"


@dataclass(frozen=True)
class Choice:
    """What the person chose for a conversation; None keeps what there is."""

    model: str | None = None
    effort: str | None = None
    mode: PermissionMode | None = None

    def overridden_by(self, other: "Choice") -> "Choice":
        """Return this choice with whatever *other* chooses in its place."""
        return Choice(
            other.model or self.model, other.effort or self.effort, other.mode or self.mode
        )

    @property
    def is_empty(self) -> bool:
        """Whether nothing was chosen."""
        return self == Choice()


def default_model(environment: Mapping[str, str]) -> str:
    """Return the model of a conversation that names none."""
    return environment.get(MODEL_VARIABLE, "").strip() or DEFAULT_MODEL
