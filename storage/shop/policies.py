"""Policies: a folder of Markdown files with front matter, found by full-text search.

The folder is read once, when it is opened. Which passage is best is SQLite FTS5's BM25 over
stemmed words; which policies are in force is decided here, from their dates.
"""

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path

import frontmatter
import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agent.refunds.ports import Passage
from storage.shop.hinglish import in_english

MOST_PASSAGES = 3
_MOST_WORDS = 48
_PASSAGE_CHARACTERS = 1_200
_WORD = re.compile(r"[^\W_]+")

# What a question is made of whatever it is about; in a small collection BM25 alone would take
# the rare ones among them for telling.
_EMPTY_WORDS = (
    "a an and any are as at be but by can could did do does for from get give had has have he her"
    " his how i if in is it its me my of on or our she should so than that the their them then"
    " there they this to us was we were what when where which who why will with would you your"
    " customer customers please want wants"
)

# Columns of the index: policy id (not searched), title, category, text.
_WEIGHTS = "0.0, 3.0, 2.0, 1.0"
_SEARCH = f"""
    SELECT policy_id, text FROM passages WHERE passages MATCH ?
    ORDER BY bm25(passages, {_WEIGHTS}), rowid
"""


class Policy(BaseModel):
    """One policy file: its front matter and its text."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(pattern=r"^[a-z0-9-]+$")
    title: str = Field(min_length=1)
    category: str = Field(min_length=1)
    effective: date
    superseded_by: str | None = None
    text: str = Field(min_length=1)


class PolicyError(ValueError):
    """The folder can't be used; `problems` has one line for each thing to mend."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = tuple(problems)


class FolderPolicies:
    """`Policies` over the files of one folder."""

    def __init__(self, policies: Sequence[Policy]) -> None:
        self._policies = {policy.id: policy for policy in policies}
        # In memory and small: a search takes well under a millisecond and needs no thread.
        self._index = sqlite3.connect(":memory:", check_same_thread=False)
        self._index.execute(
            "CREATE VIRTUAL TABLE passages USING fts5("
            "policy_id UNINDEXED, title, category, text, tokenize = 'porter unicode61')"
        )
        self._index.executemany(
            "INSERT INTO passages VALUES (?, ?, ?, ?)",
            [
                (policy.id, policy.title, policy.category, passage)
                for policy in policies
                for passage in _passages(policy.text)
            ],
        )

    async def search(self, query: str, *, today: date) -> Sequence[Passage]:
        """See `Policies`. Any text is a query; one with no word to look for finds nothing."""
        words = _words(query)
        if not words:
            return []
        # Each word stands in quotes: then nothing in it is an operator.
        match = " OR ".join(f'"{word}"' for word in words)
        best: dict[str, Passage] = {}
        for policy_id, text in self._index.execute(_SEARCH, (match,)):
            policy = self._policies[policy_id]
            if policy_id not in best and self._in_force(policy, today):
                best[policy_id] = Passage(
                    policy_id=policy_id, title=policy.title, effective=policy.effective, text=text
                )
            if len(best) == MOST_PASSAGES:
                break
        return list(best.values())

    def close(self) -> None:
        self._index.close()

    def _in_force(self, policy: Policy, today: date) -> bool:
        """Begun, and not superseded by one that has begun too."""
        successor = self._policies.get(policy.superseded_by or "")
        superseded = successor is not None and successor.effective <= today
        return policy.effective <= today and not superseded


def open_policies(folder: Path) -> FolderPolicies:
    """Read every `*.md` file of the folder. Raises `PolicyError` with all that is wrong with it."""
    return FolderPolicies(read_policies(folder))


def read_policies(folder: Path) -> Sequence[Policy]:
    """The folder's policies by file name, checked against each other. Raises `PolicyError`."""
    if not folder.is_dir():
        raise PolicyError([f"{folder} is not a folder."])
    policies: list[Policy] = []
    problems: list[str] = []
    for path in sorted(folder.glob("*.md")):
        try:
            policies.append(_read(path))
        except PolicyError as error:
            problems.extend(error.problems)
    problems.extend(_conflicts(policies))
    if not policies and not problems:
        problems.append(f"{folder} has no policy in it: no file that ends in .md.")
    if problems:
        raise PolicyError(problems)
    return policies


def _read(path: Path) -> Policy:
    try:
        metadata, text = frontmatter.parse(path.read_text(encoding="utf-8"))
        return Policy.model_validate({**metadata, "text": text.strip()})
    except ValidationError as error:
        raise PolicyError(
            [
                f"{path.name}: {'.'.join(str(part) for part in problem['loc'])}: {problem['msg']}"
                for problem in error.errors()
            ]
        ) from None
    except yaml.YAMLError as error:
        words = " ".join(str(error).split())
        raise PolicyError([f"{path.name}: the front matter is not YAML: {words}"]) from None
    except UnicodeDecodeError:
        raise PolicyError([f"{path.name}: the file is not UTF-8 text."]) from None


def _conflicts(policies: Sequence[Policy]) -> Iterator[str]:
    known: dict[str, Policy] = {}
    for policy in policies:
        if policy.id in known:
            yield f"{policy.id}: more than one file has this id."
        known[policy.id] = policy
    for policy in known.values():
        if policy.superseded_by is not None and policy.superseded_by not in known:
            yield f"{policy.id}: superseded by {policy.superseded_by}, which is no policy here."
        if _ends_in_itself(policy, known):
            yield f"{policy.id}: supersedes itself in the end."


def _ends_in_itself(policy: Policy, known: Mapping[str, Policy]) -> bool:
    seen: set[str] = set()
    successor = known.get(policy.superseded_by or "")
    while successor is not None and successor.id not in seen:
        seen.add(successor.id)
        successor = known.get(successor.superseded_by or "")
    return policy.id in seen


def _passages(text: str) -> Iterator[str]:
    """Whole paragraphs, together as long as they fit one passage; a heading stays with its text."""
    passage = ""
    for paragraph in re.split(r"\n\s*\n", text):
        too_long = len(passage) + len(paragraph) > _PASSAGE_CHARACTERS
        if passage and (too_long or paragraph.startswith("#")):
            yield passage
            passage = ""
        passage = f"{passage}\n\n{paragraph}".strip()
    if passage:
        yield passage


def _words(query: str) -> Sequence[str]:
    """The words to look for, once each, in order; Hinglish ones with their English beside them."""
    found = _WORD.findall(in_english(query.lower()))
    empty = _EMPTY_WORDS.split()
    telling = [word for word in found if word not in empty]
    return list(dict.fromkeys(telling))[:_MOST_WORDS]
