"""Connect to Temporal: sealed payloads, and the SDK's logs where ours go."""

import logging
from functools import cache

from temporalio.client import Client
from temporalio.runtime import (
    LogForwardingConfig,
    LoggingConfig,
    Runtime,
    TelemetryConfig,
    TelemetryFilter,
)
from temporalio.service import RPCError

from activities.configuration.locations import Roots
from activities.errors import ServerUnreachableError
from worker.payloads import data_converter
from worker.sealing.keys import open_key_ring

NAMESPACE = "default"


async def connect(address: str, roots: Roots) -> Client:
    """Return a client that seals what it sends and refuses what is not sealed.

    Raises:
        KeyFileError: the sealing key cannot be used.
        ServerUnreachableError: no Temporal server answers at *address*.
    """
    converter = data_converter(open_key_ring(roots.state), roots.data / "objects")
    try:
        return await Client.connect(
            address, namespace=NAMESPACE, data_converter=converter, runtime=_runtime()
        )
    except (RuntimeError, RPCError) as error:
        raise ServerUnreachableError(f"No Temporal server answers at {address}") from error


@cache
def _runtime() -> Runtime:
    """Keep the SDK's core from writing to our standard output, its default."""
    forwarding = LogForwardingConfig(logger=logging.getLogger("temporalio.core"))
    telemetry = TelemetryConfig(
        logging=LoggingConfig(
            filter=TelemetryFilter(core_level="WARN", other_level="ERROR"), forwarding=forwarding
        )
    )
    return Runtime(telemetry=telemetry)
