"""Read property lists such as ``(:name "x" :limit 3)``, naming the key in every refusal."""

from pathlib import Path
from typing import Final, TypeVar

from activities.configuration.forms import NIL, Form, Keyword, Symbol, T
from activities.errors import ConfigurationError

D = TypeVar("D")


class Properties(dict[str, Form]):
    """The values of a property list by key, and the file they came from."""

    def __init__(self, values: dict[str, Form], path: Path | None = None) -> None:
        super().__init__(values)
        self.path = path

    def fault(self, key: str, reason: str) -> ConfigurationError:
        """Return the error that says what is wrong with *key*."""
        place = f"{self.path}: " if self.path else ""
        return ConfigurationError(f"{place}:{key} {reason}")

    def only(self, *known: str) -> "Properties":
        """Return this list, which may have no other keys than *known*.

        Raises:
            ConfigurationError: it has another one.
        """
        for key in self:
            if key not in known:
                raise self.fault(key, f"is unknown; known are :{', :'.join(known)}")
        return self


class _Required:
    """The mark of a key that has no default."""


REQUIRED: Final = _Required()


def properties(form: Form, *, path: Path | None = None) -> Properties:
    """Return the values of a property list by key, without the colons.

    Raises:
        ConfigurationError: it is no list, or a key is no keyword, lacks its value
            or stands twice.
    """
    values = Properties({}, path)
    if not isinstance(form, tuple):
        place = f"{path}: " if path else ""
        raise ConfigurationError(f"{place}a property list was expected, such as (:key value)")
    for index in range(0, len(form), 2):
        key = form[index]
        if not isinstance(key, Keyword):
            place = f"{path}: " if path else ""
            raise ConfigurationError(f"{place}element {index + 1} of a list must be a :keyword")
        if key.name in values:
            raise values.fault(key.name, "stands twice")
        if index + 1 == len(form):
            raise values.fault(key.name, "has no value")
        values[key.name] = form[index + 1]
    return values


def as_text(values: Properties, key: str, default: D | _Required = REQUIRED) -> str | D:
    """Return the string at *key*."""
    value = values.get(key)
    if value is None:
        return _default(values, key, default)
    if not isinstance(value, str):
        raise values.fault(key, "must be a string")
    return value


def as_integer(values: Properties, key: str, default: D | _Required = REQUIRED) -> int | D:
    """Return the integer at *key*."""
    value = values.get(key)
    if value is None:
        return _default(values, key, default)
    if not isinstance(value, int):
        raise values.fault(key, "must be an integer")
    return value


def as_number(values: Properties, key: str, default: D | _Required = REQUIRED) -> float | D:
    """Return the integer or decimal number at *key*."""
    value = values.get(key)
    if value is None:
        return _default(values, key, default)
    if not isinstance(value, int | float):
        raise values.fault(key, "must be a number")
    return float(value)


def as_boolean(values: Properties, key: str, default: D | _Required = REQUIRED) -> bool | D:
    """Return whether *key* says ``t`` rather than ``nil``."""
    value = values.get(key)
    if value is None:
        return _default(values, key, default)
    if value not in (NIL, T):
        raise values.fault(key, "must be t or nil")
    return value == T


def as_name(values: Properties, key: str, default: D | _Required = REQUIRED) -> str | D:
    """Return the name of the symbol or keyword at *key*; case does not matter."""
    value = values.get(key)
    if value is None:
        return _default(values, key, default)
    if not isinstance(value, Symbol | Keyword):
        raise values.fault(key, "must be a name")
    return value.name.lower()


def as_list(
    values: Properties, key: str, default: D | _Required = REQUIRED
) -> tuple[Form, ...] | D:
    """Return the list at *key*; ``nil`` is an empty one, as in Lisp."""
    value = values.get(key)
    if value is None:
        return _default(values, key, default)
    if value == NIL:
        return ()
    if not isinstance(value, tuple):
        raise values.fault(key, "must be a list")
    return value


def as_properties(values: Properties, key: str) -> Properties:
    """Return the property list at *key*, empty when there is none."""
    return properties(as_list(values, key, ()), path=values.path)


def _default(values: Properties, key: str, default: D | _Required) -> D:
    if isinstance(default, _Required):
        raise values.fault(key, "is missing")
    return default
