"""App Home: published whenever somebody opens it."""

from __future__ import annotations

from bot.cards.overview import home, home_of_an_outsider
from bot.listeners.desk import ANSWER_SECONDS, FrontDesk
from bot.listeners.payloads import HomeOpened
from bot.overview import overview
from bot.webapi import send


async def opened(desk: FrontDesk, event: HomeOpened) -> None:
    """Raises `SlackError` when Slack won't take the page; the event then comes again."""
    if event.tab != "home":
        return
    standing = await desk.people.standing(event.user)
    if standing == "member":
        view = home(await overview(desk, event.user))
    else:
        view = home_of_an_outsider(known=standing == "outsider")
    await send(desk.client, "views.publish", seconds=ANSWER_SECONDS, user_id=event.user, view=view)
