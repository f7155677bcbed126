"""Text of models, tools and files, made harmless for a terminal.

Only display copies pass through here; what is stored stays as it was.  A control
sequence could clear the screen, set the clipboard or repaint an approval.
"""

KEPT = frozenset("\n\t")
"""Line feeds and tabs are layout, not control."""
C0 = frozenset(range(0x20)) | {0x7F}
C1 = frozenset(range(0x80, 0xA0))
BIDIRECTIONAL = frozenset([0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)])
"""Marks, embeddings, overrides and isolates: they reorder what a person reads."""
SEPARATORS = frozenset({0x2028, 0x2029})
"""Line breaks that some terminals honour and no layout counts."""
PICTURES = 0x2400
"""Unicode's visible pictures of the C0 controls begin here."""
DELETE_PICTURE = "\u2421"


def neutralise(text: str) -> str:
    """Return *text* with every control character in a visible form."""
    return text.translate(_VISIBLE)


def on_one_line(text: str) -> str:
    """Return *text* neutralised, its line breaks and tabs folded into spaces."""
    return neutralise(" ".join(text.split()))


def _visible(code: int) -> str:
    if code == 0x7F:  # noqa: PLR2004 -- the one control whose picture stands apart
        return DELETE_PICTURE
    if code in C0:
        return chr(PICTURES + code)
    return f"<U+{code:04X}>"


_VISIBLE = {
    code: _visible(code)
    for code in (C0 | C1 | BIDIRECTIONAL | SEPARATORS | set(range(0xD800, 0xE000)))
    if chr(code) not in KEPT
}
