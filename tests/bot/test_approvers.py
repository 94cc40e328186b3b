"""Who may decide, asked of Slack each time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.approvers import SlackApprovers
from bot.local.slack.seed import GITA, KAVYA, LEADS, OMAR, PRIYA, SAM
from bot.local.slack.server import LocalSlack
from bot.people import People

MANIFEST = Path(__file__).parents[2] / "manifest.yml"
TEAM = "T0CARTWISE"


@pytest.fixture
async def slack() -> AsyncIterator[LocalSlack]:
    async with LocalSlack(manifest=MANIFEST) as slack:
        yield slack


def approvers(
    slack: LocalSlack,
    *,
    users: Sequence[str] = (PRIYA,),
    groups: Sequence[str] = (LEADS,),
    timeout_seconds: float = 2,
) -> SlackApprovers:
    client = AsyncWebClient(token=slack.bot_token, base_url=slack.api_url)
    return SlackApprovers(
        client, team_id=TEAM, users=users, groups=groups, timeout_seconds=timeout_seconds
    )


async def test_a_configured_user_and_a_member_of_a_configured_group_may_decide(
    slack: LocalSlack,
) -> None:
    ask = approvers(slack)

    assert await ask(PRIYA) == "approver"
    assert await ask(OMAR) == "approver"


async def test_another_member_is_a_stranger(slack: LocalSlack) -> None:
    assert await approvers(slack)(SAM) == "stranger"


async def test_without_approvers_everybody_is_a_stranger_and_slack_is_not_asked(
    slack: LocalSlack,
) -> None:
    assert await approvers(slack, users=[], groups=[])(PRIYA) == "stranger"
    assert slack.calls == []


async def test_somebody_who_left_the_group_is_a_stranger_at_once(slack: LocalSlack) -> None:
    ask = approvers(slack)
    assert await ask(OMAR) == "approver"

    slack.workspace.set_group(LEADS, [PRIYA])

    assert await ask(OMAR) == "stranger"


@pytest.mark.parametrize(
    "change",
    [
        {"deleted": True},
        {"is_restricted": True},
        {"is_ultra_restricted": True},
        {"is_stranger": True, "team_id": "T0PARTNER1"},
        {"is_bot": True},
    ],
)
async def test_a_configured_approver_who_is_no_full_member_is_a_stranger(
    slack: LocalSlack, change: dict[str, Any]
) -> None:
    slack.workspace.users[PRIYA] = replace(slack.workspace.users[PRIYA], **change)

    assert await approvers(slack)(PRIYA) == "stranger"


async def test_guests_are_strangers_even_when_they_are_configured(slack: LocalSlack) -> None:
    ask = approvers(slack, users=[GITA, KAVYA])

    assert await ask(GITA) == "stranger"
    assert await ask(KAVYA) == "stranger"


async def test_somebody_whom_slack_does_not_know_is_a_stranger(slack: LocalSlack) -> None:
    assert await approvers(slack, users=["U0NOBODY01"])("U0NOBODY01") == "stranger"


@pytest.mark.parametrize("method", ["users.info", "usergroups.users.list"])
@pytest.mark.parametrize("fault", ["error", "scope", "limit", "server", "cut", "slow"])
async def test_when_slack_cannot_be_asked_the_answer_is_unknown(
    slack: LocalSlack, method: str, fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    match fault:
        case "error":
            slack.faults.refuse(method, "internal_error")
        case "scope":
            slack.faults.refuse(method, "missing_scope")
        case "limit":
            slack.faults.rate_limited(30, method)
        case "server":
            slack.faults.server_error(method)
        case "cut":
            # The client asks once more by itself when only the connection was lost.
            slack.faults.drop_answer(method, times=2)
        case _:
            slack.faults.slow(method, 0.5)

    assert await approvers(slack, timeout_seconds=0.2)(OMAR) == "unknown"
    assert "can't be asked" in caplog.text


async def test_a_group_that_cannot_be_asked_does_not_hinder_a_configured_user(
    slack: LocalSlack,
) -> None:
    slack.faults.refuse("usergroups.users.list", "internal_error")

    assert await approvers(slack)(PRIYA) == "approver"


async def test_a_group_that_does_not_exist_gives_nobody_the_right(
    slack: LocalSlack, caplog: pytest.LogCaptureFixture
) -> None:
    ask = approvers(slack, users=[], groups=["S0NOTTHERE"])

    assert await ask(OMAR) == "stranger"
    assert "S0NOTTHERE" in caplog.text


class Watch:
    """A clock that moves when told."""

    def __init__(self) -> None:
        self.at = 1_000.0

    def __call__(self) -> float:
        return self.at


async def test_what_slack_said_of_a_person_is_believed_for_a_minute(slack: LocalSlack) -> None:
    watch = Watch()
    client = AsyncWebClient(token=slack.bot_token, base_url=slack.api_url)
    people = People(client, team_id=TEAM, now=watch)
    assert await people.standing(SAM) == "member"
    assert await people.name(SAM) == "Sam Fernandes"
    slack.workspace.users[SAM] = replace(slack.workspace.users[SAM], is_restricted=True)

    watch.at += 59
    assert await people.standing(SAM) == "member"
    assert len(slack.calls) == 1

    watch.at += 2
    assert await people.standing(SAM) == "outsider"


async def test_that_slack_could_not_be_asked_is_not_remembered(slack: LocalSlack) -> None:
    client = AsyncWebClient(token=slack.bot_token, base_url=slack.api_url)
    people = People(client, team_id=TEAM, now=Watch())
    slack.faults.refuse("users.info", "internal_error")

    assert await people.standing(SAM) == "unknown"
    assert await people.standing(SAM) == "member"


async def test_guests_and_people_of_other_organisations_are_outsiders(slack: LocalSlack) -> None:
    client = AsyncWebClient(token=slack.bot_token, base_url=slack.api_url)
    people = People(client, team_id=TEAM, now=Watch())

    assert await people.standing(GITA) == "outsider"
    assert await people.standing(KAVYA) == "outsider"
