"""What a call on a workspace file has to say, and what it observed."""

from dataclasses import dataclass
from pathlib import Path

from activities.errors import StaleRevision
from activities.store.observations import Observation
from activities.tools.tool import ToolContext, ToolResult
from activities.workspace.names import SCHEME
from activities.workspace.paths import Place, demand_public, locate
from activities.workspace.ranges import Ranges
from activities.workspace.revision import Snapshot
from activities.workspace.snapshots import SnapshotDirectory


@dataclass(frozen=True)
class Scene:
    """The files and the memory of the conversation that calls."""

    conversation: str
    workspace: Path
    snapshots: SnapshotDirectory
    key: str
    """Names the call, so that its repetition finds what it left behind."""
    private: Path
    """Autolith's own state, which no call reads or edits."""

    @classmethod
    def of(cls, context: ToolContext) -> "Scene":
        """Return the scene of a call."""
        snapshots = SnapshotDirectory(context.objects)
        return cls(
            conversation=context.key.conversation,
            workspace=context.workspace,
            snapshots=snapshots,
            key=context.key.execution,
            private=context.state_root,
        )

    def locate(self, name: str) -> Place:
        """Return the place that *name* leads to.

        Raises:
            AccessDenied: it is outside of the workspace, or Autolith's own.
        """
        place = locate(self.workspace, name)
        demand_public(place, self.private)
        return place

    def keep(self, place: Place, present: Snapshot, shown: Ranges) -> Observation:
        """Keep the content of *present* and return the observation of it."""
        size = 0
        if present.content is not None:
            self.snapshots.put(present.content)
            size = len(present.content)
        return Observation(SCHEME, place.identity, present.digest, size, shown)

    def revision(self, observation: Observation) -> str:
        """Return the name of *observation* in this conversation."""
        return observation.alias(self.conversation)


@dataclass(frozen=True)
class Sighting:
    """A result with the observation that has to be recorded before it is given."""

    result: ToolResult | StaleRevision
    observation: Observation | None = None
