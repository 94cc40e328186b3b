"""The rules of the house that no linter knows. Those about imports are in pyproject.toml."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import yaml

import agent

ROOT = Path(__file__).parent.parent
FOLDERS = (".ci", "agent", "bench", "bot", "docs", "storage", "tests")
PACKAGES = ("agent", "bot", "storage")
MOST_LINES = 500

REGISTRIES = re.compile(
    r"""
    (pypi|pythonhosted|npmjs|yarnpkg|debian|ubuntu) \.(org|com) \b
    | \b index-url \b | "resolved": | ^\s* registry \s* =
    """,
    re.VERBOSE | re.MULTILINE | re.IGNORECASE,
)
MACHINE_PATHS = re.compile(r"(?<![\w.:/-])/(home|root|tmp|work|Users)/\w")


def test_no_source_file_is_longer_than_500_lines() -> None:
    lengths = {
        str(path.relative_to(ROOT)): len(text.splitlines())
        for path, text in project_texts()
        if path.suffix in {".py", ".js", ".lua"}
    }
    assert "tests/test_house.py" in lengths
    assert {name: length for name, length in lengths.items() if length > MOST_LINES} == {}


def test_every_folder_of_code_is_a_package_that_the_import_contracts_see() -> None:
    folders = {path.parent for package in PACKAGES for path in (ROOT / package).rglob("*.py")}
    assert ROOT / "agent" in folders
    assert [str(folder) for folder in folders if not (folder / "__init__.py").exists()] == []


def test_no_file_names_a_package_registrys_host() -> None:
    assert matches(REGISTRIES) == []


def test_no_file_names_a_path_of_one_machine() -> None:
    assert matches(MACHINE_PATHS) == []


def test_every_name_for_people_who_write_an_agent_has_a_docstring() -> None:
    assert {"Agent", "tool", "Context", "Pause", "ToolError"} <= set(agent.__all__)
    bare = [name for name in agent.__all__ if not has_docstring(getattr(agent, name))]
    assert bare == []


def test_slacks_manifest_is_one_yaml_document_for_this_app() -> None:
    manifest = yaml.safe_load((ROOT / "manifest.yml").read_text(encoding="utf-8"))
    assert manifest["display_information"]["name"] == "Casethread"


def test_every_make_target_that_a_document_names_exists() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    named = {
        target
        for path, text in project_texts()
        if path.suffix == ".md"
        for target in re.findall(r"(?:`|^\s*\$? ?)make ([a-z]+)", text, re.MULTILINE)
    }
    assert {"check", "test"} <= named
    assert named - targets == set()


def project_texts() -> Iterator[tuple[Path, str]]:
    """The project's own text files with their text; what tools and runs left behind isn't."""
    at_the_top = (path for path in ROOT.iterdir() if path.name != ".env")
    in_folders = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*"))
    for path in (*at_the_top, *in_folders):
        if not path.is_file() or "__pycache__" in path.parts or path.name.startswith(".coverage"):
            continue
        content = path.read_bytes()
        if b"\0" not in content:
            yield path, content.decode("utf-8")


def matches(pattern: re.Pattern[str]) -> list[str]:
    """Where the pattern occurs, as `path:line: what`."""
    return [
        f"{path.relative_to(ROOT)}:{len(text[: match.end()].splitlines())}: {match.group()}"
        for path, text in project_texts()
        if path != Path(__file__)
        for match in pattern.finditer(text)
    ]


def has_docstring(item: object) -> bool:
    """Whether somebody wrote one: a dataclass makes its own, which only repeats its signature."""
    written = vars(item).get("__doc__") if inspect.isclass(item) else inspect.getdoc(item)
    return bool(written) and not str(written).startswith(f"{getattr(item, '__name__', '')}(")
