"""What changes a claimed case in a worker's hands, and what counts as changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agent.claimed import Claimed
from agent.run import Status
from bot.local.claude import say
from tests.agent.bench import Bench, ask

WORDS = "My Bluetooth speaker, order 4471, arrived broken."


@pytest.fixture
async def claimed(bench: Bench) -> Claimed:
    """A case that waits for its customer, claimed again."""
    bench.claude.script("speaker", [ask(), say("Done.")])
    await bench.open(WORDS)
    _, claimed = await bench.claim()
    return claimed


CHANGES: list[Callable[[Claimed], Any]] = [
    lambda claimed: claimed.update(steps=claimed.running.steps),
    lambda claimed: claimed.amend(posts=claimed.case.posts + 1),
    lambda claimed: claimed.append({"role": "user", "content": []}),
    lambda claimed: claimed.note("line", text="Hello"),
    lambda claimed: claimed.done_with("e1"),
]


@pytest.mark.parametrize("change", CHANGES, ids=["run", "case", "message", "trace", "event"])
async def test_any_change_is_unsaved_until_a_save_or_until_it_is_taken_back(
    claimed: Claimed, change: Callable[[Claimed], Any]
) -> None:
    assert not claimed.unsaved
    before = claimed.snapshot()
    change(claimed)
    assert claimed.unsaved
    claimed.restore(before)
    assert not claimed.unsaved
    change(claimed)
    await claimed.save()
    assert not claimed.unsaved


async def test_a_run_goes_no_way_that_the_table_does_not_have(claimed: Claimed) -> None:
    with pytest.raises(ValueError, match=r"waiting_customer can't become done$"):
        claimed.update(status=Status.DONE)


async def test_a_record_gets_no_field_that_it_does_not_have(claimed: Claimed) -> None:
    with pytest.raises(TypeError, match=r"^Run has no \['stpes'\]$"):
        claimed.update(stpes=1)
    with pytest.raises(TypeError, match=r"^Case has no \['post'\]$"):
        claimed.amend(post=1)
    assert not claimed.unsaved
