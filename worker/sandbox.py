"""How strictly workflow code is isolated.

Everything in ``workflows`` is pure, which import contracts enforce and replay tests
confirm, so it is shared with the sandbox instead of being imported again for every
workflow.  The sandbox's restrictions on clocks, randomness, files and threads stay.
"""

from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions

from worker.sealing.gate import GatedRunner

PURE_PACKAGES = ("workflows", "pydantic", "pydantic_core", "annotated_types")


def workflow_runner() -> GatedRunner:
    """Return the runner every worker, every replay and every test uses."""
    restrictions = SandboxRestrictions.default.with_passthrough_modules(*PURE_PACKAGES)
    return GatedRunner(SandboxedWorkflowRunner(restrictions=restrictions))
