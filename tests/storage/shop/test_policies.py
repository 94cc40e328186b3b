"""Which policy a question finds, on which day, and what a folder of policies has to be."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.shop import SAMPLE_POLICIES, FolderPolicies, PolicyError, open_policies
from tests.storage.shop.world import TODAY

QUESTIONS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "policy_questions.json").read_text(encoding="utf-8")
)

Write = Callable[..., Path]


@pytest.fixture(scope="module")
def sample() -> Iterator[FolderPolicies]:
    policies = open_policies(SAMPLE_POLICIES)
    yield policies
    policies.close()


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_policy(policy_id: str, text: str = "Umbrellas are lent.", **metadata: str) -> Path:
        front = {"id": policy_id, "title": "Umbrellas", "category": "rain"}
        front |= {"effective": "2025-01-01", **metadata}
        lines = [f"{name}: {value}" for name, value in front.items() if value]
        document = "\n".join(["---", *lines, "---", text])
        (tmp_path / f"{policy_id}.md").write_text(document, encoding="utf-8")
        return tmp_path

    return write_policy


async def found(policies: FolderPolicies, query: str, today: date = TODAY) -> list[str]:
    return [passage.policy_id for passage in await policies.search(query, today=today)]


async def test_thirty_questions_find_their_policy_among_the_best_three(
    sample: FolderPolicies,
) -> None:
    missed = [
        question["question"]
        for question in QUESTIONS
        if question["policy"] not in await found(sample, question["question"])
    ]
    assert len(QUESTIONS) == 30
    assert 1 - len(missed) / len(QUESTIONS) >= 0.95, missed


@pytest.mark.parametrize(
    ("query", "policy"),
    [
        ("saaman toota hua aaya", "damaged-items"),
        ("galat cheez bheji", "wrong-item"),
        ("parcel nahi mila", "not-delivered"),
        ("pasand nahi aaya", "change-of-mind"),
        ("size badalna hai", "exchanges"),
        ("paisa wapas kitne din me", "refund-times"),
    ],
)
async def test_hinglish_words_find_the_english_policy_first(
    sample: FolderPolicies, query: str, policy: str
) -> None:
    assert (await found(sample, query))[0] == policy


async def test_the_best_three_come_at_most_once_each(sample: FolderPolicies) -> None:
    policies = await found(sample, "refund order item delivery days full return")
    assert len(policies) == len(set(policies)) == 3


async def test_a_passage_says_which_policy_it_is_of_and_since_when(sample: FolderPolicies) -> None:
    best, *_ = await sample.search("warranty repair", today=TODAY)
    assert (best.policy_id, best.title) == ("warranty", "Warranty and repairs")
    assert best.effective == date(2025, 4, 1)
    assert "12 months" in best.text


async def test_only_the_rule_in_force_on_the_day_is_found(sample: FolderPolicies) -> None:
    query = "customer no longer wants the item, change of mind"

    async def rules(today: date) -> set[str]:
        policies = await found(sample, query, today)
        return {policy for policy in policies if policy.startswith("change-of-mind")}

    change = date(2025, 7, 1)
    assert await rules(TODAY) == {"change-of-mind"}
    assert await rules(change) == {"change-of-mind"}
    assert await rules(change - timedelta(days=1)) == {"change-of-mind-2023"}
    assert await rules(date(2023, 1, 14)) == set()
    assert "change-of-mind-2099" in await rules(date(2099, 1, 1))


async def test_a_policy_whose_successor_was_itself_superseded_stays_out(write: Write) -> None:
    write("first", superseded_by="second")
    write("second", superseded_by="third")
    policies = open_policies(write("third"))
    assert await found(policies, "umbrellas") == ["third"]
    policies.close()


@pytest.mark.parametrize("query", ["", "   ", "?!", '"', "the and of"])
async def test_a_query_with_no_word_to_look_for_finds_nothing(
    sample: FolderPolicies, query: str
) -> None:
    assert await sample.search(query, today=TODAY) == []


@pytest.mark.parametrize(
    "query",
    [
        'refund" OR "x',
        "refund AND NOT",
        "title: refund",
        "refund*",
        "NEAR(refund card, 5)",
        "-refund ^refund",
        "refund\x00card",
        "refund \ud800",
        "(((refund",
        "refund; DROP TABLE passages",
        "refund " * 5_000,
    ],
)
async def test_no_query_is_a_syntax_error(sample: FolderPolicies, query: str) -> None:
    assert "refund-times" in await found(sample, query)


@given(query=st.text(max_size=200))
async def test_any_text_is_a_query(sample: FolderPolicies, query: str) -> None:
    assert len(await sample.search(query, today=TODAY)) <= 3


async def test_a_long_policy_is_cut_into_passages_and_found_once(write: Write) -> None:
    rain = "Rain is measured in millimetres. " * 20
    folder = write("long", text=f"# Rain\n\n{rain}\n\n# Snow\n\nUmbrellas and snow.\n\n{rain}")
    policies = open_policies(folder)
    (passage,) = await policies.search("snow umbrellas", today=TODAY)
    assert passage.text.startswith("# Snow")
    assert "# Rain" not in passage.text
    policies.close()


@pytest.mark.parametrize(
    ("metadata", "text", "problem"),
    [
        ({"title": ""}, "x", "umbrella.md: title"),
        ({"effective": "soon"}, "x", "umbrella.md: effective"),
        ({"id": "Not An Id"}, "x", "umbrella.md: id"),
        ({"colour": "blue"}, "x", "umbrella.md: colour"),
        ({}, "", "umbrella.md: text"),
        ({"title": "[unclosed"}, "x", "umbrella.md: the front matter is not YAML"),
        ({"superseded_by": "nothing"}, "x", "superseded by nothing"),
        ({"superseded_by": "umbrella"}, "x", "supersedes itself"),
    ],
)
def test_a_folder_that_can_not_be_used_says_what_to_mend(
    write: Write, metadata: dict[str, str], text: str, problem: str
) -> None:
    folder = write("umbrella", text, **metadata)
    with pytest.raises(PolicyError) as refused:
        open_policies(folder)
    assert any(problem in line for line in refused.value.problems)
    assert not any("\n" in line for line in refused.value.problems)


def test_two_files_with_one_id_are_refused(write: Write) -> None:
    folder = write("umbrella")
    (folder / "copy.md").write_text((folder / "umbrella.md").read_text(encoding="utf-8"))
    with pytest.raises(PolicyError, match="more than one file"):
        open_policies(folder)


def test_every_problem_of_a_folder_is_told_at_once(write: Write) -> None:
    write("one", title="")
    folder = write("two", category="")
    (folder / "three.md").write_bytes(b"\xff\xfe")
    with pytest.raises(PolicyError) as refused:
        open_policies(folder)
    assert len(refused.value.problems) == 3


def test_a_folder_without_policies_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="no policy in it"):
        open_policies(tmp_path)
    with pytest.raises(PolicyError, match="is not a folder"):
        open_policies(tmp_path / "missing")
