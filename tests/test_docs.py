"""What the documents say about the code is so: names exist, defaults are right, examples run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest
import yaml

from agent.case import Case
from agent.pricing import load_prices
from agent.refunds.ports import RESERVING, RefundStatus
from agent.run import TRANSITIONS, Run
from bot.cli import main
from bot.local.stories import STORIES
from bot.settings import Settings, load_settings

ROOT = Path(__file__).parent.parent
DOCUMENTS = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
WITH_SETTINGS = (ROOT / "README.md", ROOT / "docs" / "operating.md")
FIELD_OF = {field.alias: name for name, field in Settings.model_fields.items() if field.alias}

SETTING = re.compile(r"\b(?:ANTHROPIC|CASETHREAD|RAZORPAY|SLACK|STRIPE)_[A-Z_]+\b")
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`\n]+)`")
BLOCK = re.compile(r"^ *```(\w+)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
PATH = re.compile(r"(?:agent|bot|docs|storage|tests)/[\w./-]*|[\w-]+\.(?:md|yml|toml)")


def test_the_examples_of_adding_a_tool_run() -> None:
    namespace: dict[str, object] = {}
    blocks = [code for language, code in blocks_of("adding-a-tool.md") if language == "python"]
    assert len(blocks) > 3
    for code in blocks:
        exec(compile(code, "docs/adding-a-tool.md", "exec"), namespace)


def test_the_example_of_a_price_file_can_be_loaded(tmp_path: Path) -> None:
    (example,) = [code for language, code in blocks_of("operating.md") if language == "toml"]
    path = tmp_path / "prices.toml"
    path.write_text(example, encoding="utf-8")
    assert "my-model" in load_prices(path)


def test_the_env_file_of_the_readme_is_complete(tmp_path: Path) -> None:
    (example,) = [code for _, code in blocks_of("README.md") if "SLACK_BOT_TOKEN" in code]
    path = tmp_path / "env"
    path.write_text(example, encoding="utf-8")
    settings = load_settings(env={}, env_file=path)
    assert settings.slack_configured
    assert settings.warnings == ()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_setting_that_a_document_names_exists(document: Path) -> None:
    named = {name for name in SETTING.findall(text_of(document)) if not name.endswith("_")}
    assert named - set(FIELD_OF) == set()


@pytest.mark.parametrize("document", WITH_SETTINGS, ids=lambda path: path.name)
def test_the_settings_table_has_every_setting_with_its_default(document: Path) -> None:
    told = dict(re.findall(r"^\| `([A-Z_]+)` \| (.*?) ?\|", text_of(document), re.MULTILINE))
    assert set(told) == set(FIELD_OF)
    defaults = load_settings(env={}, env_file=None)
    for name, cell in told.items():
        default = getattr(defaults, FIELD_OF[name])
        if literal := CODE.fullmatch(cell):
            given = Settings.model_validate({name: literal[1]})
            assert getattr(given, FIELD_OF[name]) == default, name
        else:
            assert default in (None, ()), name


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_command_that_a_document_names_exists(document: Path) -> None:
    named = re.findall(r"`[^`\n]*\bcasethread ([a-z]+)([^`\n]*)`", text_of(document))
    assert {command for command, _ in named} - set(main.commands) == set()
    options = {
        (command, option) for command, rest in named for option in re.findall(r"--[a-z-]+", rest)
    }
    assert options - options_of_the_commands() == set()
    cases = {
        word
        for command, rest in named
        if command == "play"
        for word in re.findall(r"[a-z-]+", rest)
    }
    assert cases - {story.name for story in STORIES} == set()


def test_the_readme_names_every_command() -> None:
    text = text_of(ROOT / "README.md")
    assert [name for name in main.commands if f"`casethread {name}" not in text] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_file_that_a_document_names_exists(document: Path) -> None:
    spans = [span for span in CODE.findall(text_of(document)) if PATH.fullmatch(span)]
    assert [span for span in spans if not (ROOT / span).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_between_documents_leads_somewhere(document: Path) -> None:
    dead: list[str] = []
    for link in LINK.findall(text_of(document)):
        name, _, anchor = link.partition("#")
        target = document.parent / name if name else document
        if "://" in link:
            continue
        if not target.exists() or (anchor and anchor not in anchors_of(target)):
            dead.append(link)
    assert dead == []


def test_the_scopes_that_are_explained_are_those_of_the_manifest() -> None:
    manifest = yaml.safe_load(text_of(ROOT / "manifest.yml"))
    section = text_of(ROOT / "docs" / "operating.md").partition("## Scopes")[2]
    rows = re.findall(r"^\| (`.*?`) \|", section.partition("\n## ")[0], re.MULTILINE)
    explained = [scope for row in rows for scope in CODE.findall(row)]
    assert sorted(explained) == sorted(manifest["oauth_config"]["scopes"]["bot"])


def test_every_field_of_the_records_is_explained() -> None:
    named = set(CODE.findall(text_of(ROOT / "docs" / "run-record.md")))
    assert {each.name for record in (Run, Case) for each in fields(record)} - named == set()


def test_the_states_of_a_run_and_what_can_follow_are_those_of_the_code() -> None:
    text = text_of(ROOT / "docs" / "run-record.md")
    drawn = set(re.findall(r"^ +(\w+) --> (\w+)", text, re.MULTILINE))
    told = {
        (status, after)
        for status, cell in re.findall(r"^\| `(\w+)` \| .*? \| (.*?) \|$", text, re.MULTILINE)
        for after in CODE.findall(cell)
    }
    known = {(str(status), str(after)) for status, all in TRANSITIONS.items() for after in all}
    assert drawn == known
    assert told == known


def test_the_states_of_a_refund_and_what_they_reserve_are_those_of_the_code() -> None:
    text = text_of(ROOT / "docs" / "approvals.md")
    rows = dict(re.findall(r"^\| `(\w+)` \| .*? \| (yes|no) \|$", text, re.MULTILINE))
    assert rows == {str(each): "yes" if each in RESERVING else "no" for each in RefundStatus}
    drawn = {
        state for pair in re.findall(r"^ +(\S+) --> (\w+)", text, re.MULTILINE) for state in pair
    }
    assert drawn - {"[*]"} == {str(each) for each in RefundStatus}


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def blocks_of(name: str) -> Iterator[tuple[str, str]]:
    """The fenced blocks of a document: language and code, without their indentation."""
    path = ROOT / name if name == "README.md" else ROOT / "docs" / name
    for language, code in BLOCK.findall(text_of(path)):
        indented = len(code) - len(code.lstrip(" "))
        yield language, re.sub(rf"^ {{{indented}}}", "", code, flags=re.MULTILINE)


def anchors_of(document: Path) -> set[str]:
    """As the repository's web page makes them of headings."""
    headings = re.findall(r"^#+ (.+)$", text_of(document), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings}


def options_of_the_commands() -> set[tuple[str, str]]:
    return {
        (name, option)
        for name, command in main.commands.items()
        for parameter in command.params
        for option in parameter.opts
    }
