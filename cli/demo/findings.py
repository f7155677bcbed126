"""What the demonstration found, counted from the outside."""

from collections import Counter
from dataclasses import dataclass, field

from activities.store import items, requests, turns
from activities.store.database import Database
from cli.demo.project import Project
from workflows.contracts.item import UserItem


@dataclass(frozen=True)
class Revival:
    """One kill, and what it took to go on."""

    killed: str
    """What was going on."""
    at: float
    """Seconds since the task was given."""
    seconds: float
    """From the kill until the work went on."""
    how: str
    """What the next worker did."""


@dataclass
class Findings:
    """The result; ``holds`` says whether it is what was promised."""

    revivals: list[Revival] = field(default_factory=list)
    inputs_lost: int = 0
    effects_repeated: int = 0
    answers_repeated: int = 0
    tests_passed: bool = False
    attempts: list[str] = field(default_factory=list)
    """Every recorded attempt, in words."""
    diff: str = ""
    answer: str = ""
    turns: list[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """Whether nothing was lost and nothing happened twice."""
        lost = self.inputs_lost + self.effects_repeated + self.answers_repeated
        return lost == 0 and self.tests_passed and len(self.revivals) == KILLS and self.is_complete

    @property
    def is_complete(self) -> bool:
        """Whether the turn ended as completed, and with a change."""
        return self.turns == ["completed"] and bool(self.diff)

    def as_json(self) -> dict[str, object]:
        """Return the keys that ``autolith demo --json`` prints."""
        return {
            "revivals": len(self.revivals),
            "revival_seconds": [round(revival.seconds, 3) for revival in self.revivals],
            "inputs_lost": self.inputs_lost,
            "effects_repeated": self.effects_repeated,
            "answers_repeated": self.answers_repeated,
            "tests_passed": self.tests_passed,
        }


KILLS = 2


async def count(
    database: Database, project: Project, conversation: str, message: str, complete: list[str]
) -> Findings:
    """Count what was lost or repeated.

    *complete* names the reply of every complete answer that the provider gave: the
    provider's own books, not ours.
    """
    history = await database.read(lambda tx: items.history(tx, conversation))
    heard = [item.message for item in history if isinstance(item, UserItem)]
    runs = Counter(project.runs())
    attempts = await database.read(lambda tx: requests.attempts(tx, conversation))
    ended = await database.read(lambda tx: turns.all_turns(tx, conversation))
    return Findings(
        inputs_lost=1 - min(1, heard.count(message)) + abs(len(heard) - 1),
        effects_repeated=sum(times - 1 for times in runs.values()),
        answers_repeated=sum(times - 1 for times in Counter(complete).values()),
        tests_passed=project.tests_pass(),
        attempts=[
            f"request {record.request}, attempt {record.attempt}: {record.outcome}"
            + (" after output had started" if record.outcome == "worker-lost" else "")
            for record in attempts
        ],
        diff=project.diff(),
        turns=[str(turn.outcome) for turn in ended],
    )
