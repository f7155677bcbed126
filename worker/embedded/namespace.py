"""What a server must be told at every start, and how it is recognised.

The server's own flags for this are ignored on an existing database file, so it is
said through the API, which also answers which database is being served.
"""

from datetime import timedelta
from functools import cache
from typing import Final

from google.protobuf.duration_pb2 import Duration
from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.namespace.v1 import NamespaceConfig
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest
from temporalio.api.workflowservice.v1 import GetClusterInfoRequest, UpdateNamespaceRequest
from temporalio.runtime import Runtime, TelemetryConfig
from temporalio.service import ConnectConfig, RPCError, ServiceClient

from activities.errors import ServerUnreachableError
from workflows.policy.search import ALL

NAMESPACE: Final = "default"
RETENTION: Final = timedelta(days=30)
"""Ended workflows can be looked at for this long; by default it is one day."""
TIMEOUT: Final = timedelta(seconds=5)


async def connected(address: str) -> ServiceClient:
    """Return a connection to the server at *address*.

    Raises:
        ServerUnreachableError: nothing there speaks Temporal's protocol.
    """
    config = ConnectConfig(target_host=address, runtime=_silent(), connect_timeout=TIMEOUT)
    try:
        return await ServiceClient.connect(config)
    except RuntimeError as error:
        raise ServerUnreachableError(f"No Temporal server answers at {address}") from error


@cache
def _silent() -> Runtime:
    """Return a runtime without the SDK's log, which would go where answers belong."""
    return Runtime(telemetry=TelemetryConfig(logging=None))


async def cluster_of(client: ServiceClient) -> str:
    """Return the id of the database that is served, which lasts as long as its file.

    Raises:
        ServerUnreachableError: the server does not answer.
    """
    try:
        info = await client.workflow_service.get_cluster_info(
            GetClusterInfoRequest(), timeout=TIMEOUT
        )
    except RPCError as error:
        raise ServerUnreachableError(f"The Temporal server does not answer: {error}") from error
    return info.cluster_id


async def prepare(client: ServiceClient) -> None:
    """Set retention and search attributes; doing it again changes nothing.

    Raises:
        ServerUnreachableError: the server does not accept it.
    """
    keyword = IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD
    keep = Duration(seconds=int(RETENTION.total_seconds()))
    try:
        await client.workflow_service.update_namespace(
            UpdateNamespaceRequest(
                namespace=NAMESPACE,
                config=NamespaceConfig(workflow_execution_retention_ttl=keep),
            ),
            retry=True,
            timeout=TIMEOUT,
        )
        await client.operator_service.add_search_attributes(
            AddSearchAttributesRequest(
                namespace=NAMESPACE, search_attributes={key.name: keyword for key in ALL}
            ),
            retry=True,
            timeout=TIMEOUT,
        )
    except RPCError as error:
        raise ServerUnreachableError(f"The Temporal server refused its set-up: {error}") from error
