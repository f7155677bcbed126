"""Turn the forms of scripted arguments into JSON, filled in from the request."""

import re
from collections.abc import Sequence

from activities.configuration.forms import NIL, Form, Keyword, Symbol, T
from activities.configuration.properties import as_name, as_text, properties
from activities.errors import ConfigurationError, ScriptError
from activities.provider.scripted.seen import SeenRequest

NULL = Keyword("null")
PLACES = ("result", "user")


def as_json(form: Form, seen: SeenRequest) -> object:
    """Return the JSON value that *form* stands for in the answer to *seen*.

    Raises:
        ScriptError: a ``:match`` finds nothing.
    """
    if isinstance(form, tuple):
        return _list(form, seen)
    if form == NULL:
        return None
    return form == T if isinstance(form, Symbol | Keyword) else form


def check_value(form: Form) -> None:
    """Refuse a form that stands for no JSON value.

    Raises:
        ConfigurationError: it holds a name, a half property list or a bad expression.
    """
    if isinstance(form, tuple):
        _check_list(form)
    elif isinstance(form, Keyword) and form != NULL:
        raise ConfigurationError(f"the keyword :{form.name} is no value; :null is")
    elif isinstance(form, Symbol) and form not in (NIL, T):
        raise ConfigurationError(f"the name {form.name} is no value; write a string, t or nil")


def _list(form: tuple[Form, ...], seen: SeenRequest) -> object:
    match form:
        case (Keyword("match"), *_):
            return _found(form, seen)
        case (Keyword("object"),):
            return {}
        case (Keyword() as key, *_) if key != NULL:
            return {name: as_json(value, seen) for name, value in properties(form).items()}
    return [as_json(element, seen) for element in form]


def _check_list(form: tuple[Form, ...]) -> None:
    elements: Sequence[Form] = form
    match form:
        case (Keyword("match"), *_):
            _expression(form)
            return
        case (Keyword("object"),):
            return
        case (Keyword() as key, *_) if key != NULL:
            elements = list(properties(form).values())
    for element in elements:
        check_value(element)


def _expression(form: tuple[Form, ...]) -> tuple[re.Pattern[str], str]:
    values = properties(form).only("match", "in")
    place = as_name(values, "in", "result")
    if place not in PLACES:
        raise values.fault("in", f"must be {' or '.join(PLACES)}")
    try:
        return re.compile(as_text(values, "match")), place
    except re.error as error:
        raise values.fault("match", f"is no regular expression: {error}") from error


def _found(form: tuple[Form, ...], seen: SeenRequest) -> str:
    pattern, place = _expression(form)
    texts = reversed(seen.results) if place == "result" else iter((seen.user,))
    for text in texts:
        if match := pattern.search(text):
            return match.group(1) if pattern.groups and match.group(1) else match.group()
    raise ScriptError(f"{pattern.pattern!r} matches no {place} of the request")
