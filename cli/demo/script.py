"""What the scripted model of the demonstration says.

Each reply depends on how many results the request holds, never on how often it was
asked, so a request that is sent again gets the same reply again.
"""

from cli.demo.project import Project

TASK = "The test for an even number of values fails. Please find out why and mend it."
PLAN = (
    "I will read the module and its test first, run the test to see it fail, correct the "
    "median for an even number of values, and run the test again before I answer. "
)
ANSWER = (
    "Done. `median` returned the upper middle value for an even number of values; it now returns "
    "the mean of the two middle ones. Both tests pass."
)
CORRECTED = """\
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2"""
COMMAND_SECONDS = 2.5
"""Long enough to be killed in the middle, also on a slow machine."""


def script(project: Project) -> str:
    """Return the provider script for work on *project*."""
    reads = _calls(
        ("resource.read", {"uri": '"workspace:test_stats.py"'}),
        ("resource.read", {"uri": '"workspace:stats.py"'}),
    )
    fails = _calls(_run(project, "first", "run the tests"))
    lines = f":start-line 8 :end-line 8 :text {_text(CORRECTED)}"
    edit = _calls(
        (
            "resource.edit",
            {
                "uri": '"workspace:stats.py"',
                "base-revision": r'(:match "R[0-9A-Za-z]{16}")',
                "operations": f"((:operation {_text('replace-lines')} {lines}))",
            },
        )
    )
    again = _calls(_run(project, "second", "run the tests again"))
    replies = [
        _reply(0, text=PLAN, calls=reads, delay=0.08),
        _reply(2, calls=fails),
        _reply(3, text="As expected, the even case fails. ", calls=edit),
        _reply(4, calls=again),
        _reply(5, text=ANSWER, delay=0.01),
    ]
    return f"(:version 1 :replies ({' '.join(replies)}))"


def _run(project: Project, label: str, description: str) -> tuple[str, dict[str, str]]:
    command = project.command(label, seconds=COMMAND_SECONDS)
    return "shell.run", {"command": _text(command), "description": _text(description)}


def _reply(results: int, *, text: str = "", calls: str = "", delay: float = 0) -> str:
    said = f":text {_text(text)} " if text else ""
    return f"(:when (:results {results}) {said}{calls} :delay {delay} :piece 6 :repeat t)"


def _calls(*calls: tuple[str, dict[str, str]]) -> str:
    written = (
        f'(:tool "{tool}" :arguments ({" ".join(f":{k} {v}" for k, v in arguments.items())}))'
        for tool, arguments in calls
    )
    return f":calls ({' '.join(written)})"


def _text(text: str) -> str:
    """Write a string literal; JSON's escapes for quotes and backslashes are the same."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
