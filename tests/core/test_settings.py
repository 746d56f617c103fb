from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from armillary.core.errors import ExitCode, SettingsError
from armillary.core.settings import FIELDS, PROJECT_FILE, Settings, load_settings, user_home


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    return home


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def _load(folder: Path, home: Path, overrides: dict[str, Any] | None = None, **variables: str) -> Settings:
    return load_settings(overrides, folder=folder, environment={"ARMILLARY_HOME": str(home), **variables})


def _source(settings: Settings, name: str) -> str:
    return next(row.source for row in settings.rows if row.name == name)


def test_nobody_said_anything_gives_the_defaults(folder: Path, tmp_path: Path) -> None:
    settings = load_settings(folder=folder, environment={"XDG_DATA_HOME": str(tmp_path / "data")})
    assert settings.home == tmp_path / "data" / "armillary"
    assert settings["models.default"] == "qwen2.5-coder-0.5b"
    assert settings["models.sources"] == ("hub", "pypi")
    assert (settings["engine.threads"], settings["sandbox.minimum_tier"]) == (0, "A")
    assert {row.source for row in settings.rows} == {"default"}


def test_the_process_s_own_folder_and_environment_are_the_default(
    folder: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("ARMILLARY_HOME", str(home))
    (folder / PROJECT_FILE).write_text("engine.threads = 3")
    settings = load_settings()
    assert (settings.home, settings["engine.threads"]) == (home, 3)


def test_each_place_beats_those_below_it_and_is_named(folder: Path, home: Path) -> None:
    user_file, project_file = home / "config.toml", folder / PROJECT_FILE
    seen = []

    def look(**more: Any) -> None:
        settings = _load(folder, home, **more)
        seen.append((settings["engine.threads"], _source(settings, "engine.threads")))

    look()
    user_file.write_text("[engine]\nthreads = 1\n")
    look()
    project_file.write_text("[engine]\nthreads = 2\n")
    look()
    look(ARMILLARY_THREADS="3")
    look(ARMILLARY_THREADS="3", overrides={"engine.threads": 4})
    assert seen == [
        (0, "default"),
        (1, str(user_file)),
        (2, str(project_file)),
        (3, "environment"),
        (4, "command line"),
    ]


def test_unset_options_and_empty_variables_do_not_count(folder: Path, home: Path) -> None:
    settings = _load(folder, home, {"models.default": None}, ARMILLARY_MODEL="")
    assert _source(settings, "models.default") == "default"


@pytest.mark.parametrize(
    ("variable", "text", "name", "value"),
    [
        ("ARMILLARY_MODEL", "smollm2-135m", "models.default", "smollm2-135m"),
        ("ARMILLARY_SOURCES", "pypi, /models", "models.sources", ("pypi", "/models")),
        ("ARMILLARY_THREADS", "2", "engine.threads", 2),
        ("ARMILLARY_MINIMUM_TIER", "B", "sandbox.minimum_tier", "B"),
        ("ARMILLARY_MINIMUM_TIER", "C only", "sandbox.minimum_tier", "C only"),
        ("ARMILLARY_REMOTE_URL", "http://localhost:1", "remote.url", "http://localhost:1"),
        ("ARMILLARY_REMOTE_KEY", "k", "remote.key", "k"),
    ],
)
def test_every_variable_is_read(folder: Path, home: Path, variable: str, text: str, name: str, value: Any) -> None:
    assert _load(folder, home, **{variable: text})[name] == value


def test_there_are_at_most_eight_variables_with_distinct_names() -> None:
    variables = [field.variable for field in FIELDS]
    assert len(set(variables)) == len(FIELDS) <= 8
    assert all(name.startswith("ARMILLARY_") for name in variables)
    assert all(field.help for field in FIELDS)


def test_toml_values_keep_their_types(folder: Path, home: Path) -> None:
    (folder / PROJECT_FILE).write_text('engine.threads = 2\n[models]\nsources = ["/a", "hub"]\n')
    settings = _load(folder, home)
    assert (settings["engine.threads"], settings["models.sources"]) == (2, ("/a", "hub"))


def test_paths_are_made_absolute(folder: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(folder)
    assert load_settings({"home": Path("data")}, environment={}).home == folder / "data"
    assert load_settings({"home": "~/data"}, environment={}).home == home / "data"
    assert _load(folder, home, ARMILLARY_SOURCES="~/models")["models.sources"] == (str(home / "models"),)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("home", "", "must not be empty"),
        ("home", 5, "must be text"),
        ("home", "~nobody-has-this-name/x", "home"),
        ("models.default", 5, "must be text"),
        ("models.sources", "hub,ftp", "'ftp' is neither hub, pypi nor an absolute path"),
        ("models.sources", [], "name at least one source"),
        ("models.sources", [5], "must be text"),
        ("models.sources", True, "not iterable"),
        ("engine.threads", -1, "threads cannot be negative"),
        ("engine.threads", "two", "invalid literal"),
        ("engine.threads", True, "must be a whole number"),
        ("engine.threads", 1.5, "must be a whole number"),
        ("sandbox.minimum_tier", "D", "a sandbox tier is A, B, C or 'C only'"),
        ("remote.url", ["a"], "must be text"),
    ],
)
def test_a_value_that_makes_no_sense_names_its_place(
    folder: Path, home: Path, name: str, value: Any, message: str
) -> None:
    with pytest.raises(SettingsError, match=message) as caught:
        _load(folder, home, {name: value})
    assert str(caught.value).startswith(f"command line: {name} = ")
    assert caught.value.exit_code == ExitCode.USAGE


def test_an_unknown_name_is_refused_in_every_place(folder: Path, home: Path) -> None:
    with pytest.raises(SettingsError, match=r"^command line: unknown setting 'engine.treads' \(known: home, models"):
        _load(folder, home, {"engine.treads": 1})
    (folder / PROJECT_FILE).write_text("[engine]\ntreads = 1\n")
    with pytest.raises(SettingsError, match=r"armillary.toml: unknown setting 'engine.treads'"):
        _load(folder, home)
    (folder / PROJECT_FILE).unlink()
    (home / "config.toml").write_text("treads = 1\n")
    with pytest.raises(SettingsError, match=r"config.toml: unknown setting 'treads'"):
        _load(folder, home)


def test_the_user_file_cannot_move_the_folder_that_it_is_found_in(folder: Path, home: Path) -> None:
    (home / "config.toml").write_text('home = "/elsewhere"\n')
    with pytest.raises(SettingsError, match=r"home cannot be set in the file that it locates \(set ARMILLARY_HOME\)$"):
        _load(folder, home)


@pytest.mark.parametrize(
    ("line", "name", "way_out"),
    [
        (
            "remote.url = 'http://stranger.example/v1'",
            "remote.url",
            "set ARMILLARY_REMOTE_URL or put it in config.toml",
        ),
        ("remote.key = 'k'", "remote.key", "set ARMILLARY_REMOTE_KEY or put it in config.toml"),
        ("sandbox.minimum_tier = 'B'", "sandbox.minimum_tier", "set ARMILLARY_MINIMUM_TIER or put it in config.toml"),
        ("home = 'here'", "home", r"set ARMILLARY_HOME\)$"),
    ],
)
def test_a_project_file_cannot_set_what_only_the_user_may(
    folder: Path, home: Path, line: str, name: str, way_out: str
) -> None:
    (folder / PROJECT_FILE).write_text(f"{line}\n")
    with pytest.raises(SettingsError, match=rf"armillary.toml: {name} cannot be set in a project file.*{way_out}"):
        _load(folder, home, ARMILLARY_REMOTE_KEY="secret")


def test_the_user_file_may_name_the_server_and_the_weaker_jail(folder: Path, home: Path) -> None:
    (home / "config.toml").write_text("remote.url = 'http://mine/v1'\nremote.key = 'k'\nsandbox.minimum_tier = 'B'\n")
    settings = _load(folder, home)
    assert [settings[name] for name in ("remote.url", "remote.key", "sandbox.minimum_tier")] == [
        "http://mine/v1",
        "k",
        "B",
    ]


@pytest.mark.parametrize("content", [b"threads = = 1", b"\xff\xfe"], ids=["syntax", "bytes"])
def test_a_file_that_is_no_toml_is_named(folder: Path, home: Path, content: bytes) -> None:
    (folder / PROJECT_FILE).write_bytes(content)
    with pytest.raises(SettingsError, match=r"armillary.toml: not a TOML file"):
        _load(folder, home)


@pytest.mark.parametrize("content", ["a = " + "[" * 5000, ".".join("a" * 5000) + " = 1"], ids=["brackets", "dots"])
def test_a_file_that_is_nested_without_end_is_named(folder: Path, home: Path, content: str) -> None:
    (folder / PROJECT_FILE).write_text(content)
    with pytest.raises(SettingsError, match=r"armillary.toml: not a TOML file: nested too deeply"):
        _load(folder, home)


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that cannot be read")
def test_a_file_that_cannot_be_read_is_named(folder: Path, home: Path) -> None:
    (folder / PROJECT_FILE).symlink_to("/proc/self/mem")
    with pytest.raises(SettingsError, match=r"armillary.toml: cannot be read: "):
        _load(folder, home)


def test_a_setting_that_does_not_exist_is_a_key_error(folder: Path, home: Path) -> None:
    with pytest.raises(KeyError, match="nothing"):
        _load(folder, home)["nothing"]


def test_the_user_s_folder_follows_the_desktop_standard(tmp_path: Path) -> None:
    assert user_home({"XDG_DATA_HOME": str(tmp_path)}) == tmp_path / "armillary"
    assert user_home({}) == Path.home() / ".local/share/armillary"
    assert user_home() == user_home(os.environ)
