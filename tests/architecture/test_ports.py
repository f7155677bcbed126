"""Every declared activity has an implementation with the same signature."""

import inspect

import pytest

from activities.provider.inference import Inference
from activities.tools.activities import Tools
from activities.transcript import Transcript
from workflows.ports.provider import ProviderPort
from workflows.ports.tools import ToolPort
from workflows.ports.transcript import TranscriptPort

PORTS = [(ProviderPort, Inference), (ToolPort, Tools), (TranscriptPort, Transcript)]


@pytest.mark.parametrize(("port", "implementation"), PORTS)
def test_an_implementation_matches_its_port(port: type, implementation: type) -> None:
    """A workflow can never call into a void, nor with the wrong payload."""
    declared = {n: f for n, f in inspect.getmembers(port) if getattr(f, "__isabstractmethod__", 0)}

    assert declared
    for name, stub in declared.items():
        assert inspect.signature(getattr(implementation, name)) == inspect.signature(stub)


def test_activity_names_are_unique_across_ports() -> None:
    """The name on the wire is the method's name."""
    names = [
        name
        for port, _ in PORTS
        for name, member in inspect.getmembers(port)
        if getattr(member, "__isabstractmethod__", 0)
    ]

    assert len(names) == len(set(names))
