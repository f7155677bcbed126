"""The composition root: real adapters, real tools, the real store."""

import os
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager

from activities.configuration.locations import Roots, store_url
from activities.provider.acceptance import Accepting
from activities.provider.credentials import Credentials
from activities.provider.inference import Inference
from activities.provider.registry import ServedModel, build_adapter, open_client
from activities.shell import sandbox
from activities.store.database import Database
from activities.store.objects import ObjectDirectory
from activities.tools.activities import Tools
from activities.tools.jobs import JobWatcher
from activities.tools.registry import ToolRegistry
from activities.tools.resource import ResourceEdit, ResourceRead
from activities.tools.runner import CallRunner
from activities.tools.search_content import SearchContent
from activities.tools.search_files import SearchFiles
from activities.tools.search_glob import SearchGlob
from activities.tools.shell import ShellRun
from activities.tools.shell_log import ShellLog
from activities.tools.workspace_resource import WorkspaceResource
from activities.transcript import Transcript
from worker.registry import Ports


def tool_registry(roots: Roots) -> ToolRegistry:
    """Return every tool of a session."""
    workspace, shell_log = WorkspaceResource(), ShellLog()
    kinds = {kind.scheme: kind for kind in (workspace, shell_log)}
    private = (roots.config, roots.data, roots.state, roots.cache)
    return ToolRegistry(
        [
            ResourceRead(kinds),
            ResourceEdit(kinds),
            SearchFiles(),
            SearchGlob(),
            SearchContent(),
            ShellRun(private=private),
        ]
    )


@asynccontextmanager
async def compose(roots: Roots, environ: Mapping[str, str] = os.environ) -> AsyncGenerator[Ports]:
    """Open the store and the HTTP client, and yield the ports over them."""
    database = Database.open(store_url(roots.data, environ))
    try:
        async with open_client() as client:
            credentials = Credentials(roots.state)

            def serve(model: str) -> ServedModel:
                return build_adapter(model, environ, credentials, client)

            yield _ports(roots, database, serve)
    finally:
        database.close()


def _ports(roots: Roots, database: Database, serve: Callable[[str], ServedModel]) -> Ports:
    registry = tool_registry(roots)
    objects = ObjectDirectory(roots.data / "objects")
    runner = CallRunner(database, objects, registry, state_root=roots.state)
    return Ports(
        provider=Inference(database, registry, Accepting(registry, sandbox.available), serve),
        tools=Tools(runner, JobWatcher(database, state_root=roots.state)),
        transcript=Transcript(database),
    )
