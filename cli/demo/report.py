"""Lay out the findings of the demonstration for a person."""

from cli.demo.findings import KILLS, Findings


def report(findings: Findings) -> str:
    """Return the whole report as plain text."""
    return "\n".join(
        [
            "",
            "The change:",
            *_indented(findings.diff.rstrip() or "(none)"),
            "",
            f"The answer: {findings.answer}",
            "",
            "What was killed:",
            *(
                f"  {revival.at:5.1f} s  SIGKILL while {revival.killed}; {revival.how} "
                f"after {revival.seconds:.1f} s"
                for revival in findings.revivals
            ),
            "",
            "Every attempt, as recorded:",
            *_indented("\n".join(findings.attempts)),
            "",
            _line("revivals", f"{len(findings.revivals)} of {KILLS}"),
            _line("inputs lost", findings.inputs_lost),
            _line("commands run twice", findings.effects_repeated),
            _line("complete answers requested again", findings.answers_repeated),
            _line("tests pass now", "yes" if findings.tests_passed else "no"),
            "",
            "Nothing was lost and nothing happened twice."
            if findings.holds
            else "This is NOT what was promised; please report it.",
        ]
    )


def _line(name: str, value: object) -> str:
    return f"  {name:<34}{value}"


def _indented(text: str) -> list[str]:
    return [f"  {line}" for line in text.splitlines()]
