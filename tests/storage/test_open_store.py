"""What a store's URL may be, and what the operator reads when it isn't."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.errors import ConfigurationError
from storage import open_store
from tests.contracts.samples import CASE_ID, event


def refusal(url: str) -> str:
    """In one line, and without what is secret in the URL."""
    with pytest.raises(ConfigurationError) as raised:
        open_store(url)
    message = str(raised.value)
    assert "\n" not in message
    assert "secret" not in message
    return message


async def test_three_slashes_name_a_file_from_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    store = open_store("sqlite:///the store.db")
    await store.deliver(CASE_ID, event())
    await store.close()
    assert (tmp_path / "the store.db").is_file()


async def test_four_slashes_name_a_file_from_the_root(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'store #1 100%.db'}"
    store = open_store(url)
    await store.deliver(CASE_ID, event())
    reader = open_store(url, read_only=True)
    assert await reader.case(CASE_ID)
    await reader.close()
    await store.close()


async def test_two_names_of_one_file_are_one_store(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "store.db")
    store = open_store(f"sqlite:///{tmp_path}/store.db")
    with pytest.raises(ConfigurationError, match="another Casethread process"):
        open_store(f"sqlite:///{tmp_path}/link.db")
    await store.close()


@pytest.mark.parametrize(
    "url",
    [
        "",
        "casethread.db",
        "unix:///secret.sock",
        "postgresql://user:secret@db/cases",
        "sqlite://",
        "sqlite://store.db",
        "sqlite:store.db",
        "sqlite:///store.db?mode=secret",
    ],
)
def test_any_other_address_is_refused_in_one_line_without_its_password(url: str) -> None:
    assert refusal(url).startswith("CASETHREAD_STORE_URL: cases are kept in sqlite:///PATH")


@pytest.mark.parametrize(
    "url",
    [
        "redis://",
        "redis:///0",
        "redis://:secret@/0",
        "redis://user:secret@localhost:port/0",
        "redis://user:secret@localhost:6379/cases",
        "redis://user:secret@localhost:6379/0?decode_responses=true",
        "redis://user:secret@localhost:6379/0?ssl_cert_reqs=none",
        "rediss://user:secret@localhost:6379/0#ssl",
    ],
)
def test_a_redis_address_that_says_too_little_or_too_much_is_refused(url: str) -> None:
    assert refusal(url).startswith("CASETHREAD_STORE_URL must be redis://HOST:PORT/DB")


@pytest.mark.parametrize("option", ["ssl_cert_reqs=secret", "ssl_secret=1"])
def test_a_wrong_option_for_tls_is_refused(option: str) -> None:
    assert "option after the" in refusal(f"rediss://localhost:6379/0?{option}")


@pytest.mark.parametrize("url", ["sqlite:///", "sqlite:///:memory:"])
def test_a_store_needs_a_file(url: str) -> None:
    with pytest.raises(ConfigurationError, match="path of a file"):
        open_store(url)


@pytest.mark.parametrize("read_only", [True, False])
def test_a_missing_folder_is_named(tmp_path: Path, read_only: bool) -> None:
    with pytest.raises(ConfigurationError, match=r"folder .*nowhere does not exist"):
        open_store(f"sqlite:///{tmp_path}/nowhere/store.db", read_only=read_only)


@pytest.mark.parametrize("read_only", [True, False])
def test_a_folder_is_no_store(tmp_path: Path, read_only: bool) -> None:
    (tmp_path / "folder.db").mkdir()
    with pytest.raises(ConfigurationError, match=r"CASETHREAD_STORE_URL: .*folder\.db"):
        open_store(f"sqlite:///{tmp_path}/folder.db", read_only=read_only)
