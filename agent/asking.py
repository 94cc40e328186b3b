"""One model call of a run: what is sent, who may cut it short, what it costs without an answer."""

from __future__ import annotations

import asyncio
import json
import time
from decimal import Decimal

from agent import trace
from agent.case import FetchedPhoto
from agent.claimed import Claimed
from agent.definition import MAX_TOKENS
from agent.harness import Harness
from agent.messages import photos_in, stored_images, with_images, with_stored
from agent.run import Run, Status, Usage
from agent.turn import Failure, Turn

PHOTO_RETRY_SECONDS = (5.0, 15.0, 45.0)


async def ask_claude(h: Harness, c: Claimed) -> Turn | Failure | None:
    """Send the conversation; None when there is no answer to wait for.

    Either a photo can't be had just now and the run is parked; or a stop sign was stored before
    the answer came: then the call is cut short, and charged by estimate.
    """
    if not await _fetch_photos(h, c):
        return None
    run = c.running
    messages = with_stored(c.messages, run.photos)
    digests = list(stored_images(messages))
    images = {**await h.store.images(digests), **c.images} if digests else {}
    frozen = await h.frozen(run)
    started = time.monotonic()
    call = asyncio.create_task(
        h.claude.ask(
            frozen,
            with_images(messages, images),
            max_tokens=MAX_TOKENS << run.cuts,
            drop_unverified=run.repaired,
        )
    )
    try:
        while not call.done():
            done, _ = await asyncio.wait({call}, timeout=h.look_seconds)
            # An answer that came meanwhile is kept all the same: its cost is known.
            if not done and await c.has_stop_sign() and not call.done():
                count_attempt(h, c, _lost("cut short", seconds=time.monotonic() - started))
                return None
    finally:
        call.cancel()
        await asyncio.wait({call})
    return call.result()


async def _fetch_photos(h: Harness, c: Claimed) -> bool:
    """Have all photos of the conversation. False when one can't be had just now: the run is parked.

    What became of a photo stays: the model never sees the same message in two forms.
    """
    for photo in photos_in(c.messages):
        run = c.running
        if any(each.file_id == photo.file_id for each in run.photos):
            continue
        found = await h.fetch_photo(photo)
        if found == "later" and run.photo_tries < len(PHOTO_RETRY_SECONDS):
            wait = PHOTO_RETRY_SECONDS[run.photo_tries]
            c.update(photo_tries=run.photo_tries + 1, retry_at=h.now() + wait)
            c.note("photo", file_id=photo.file_id, problem="can't be had just now")
            return False
        image = None
        if isinstance(found, tuple):
            image, data = found
            c.images[image.digest] = data
        else:
            c.note("photo", file_id=photo.file_id, problem="can't be had")
        fetched = FetchedPhoto(file_id=photo.file_id, image=image)
        c.update(photos=(*run.photos, fetched), photo_tries=0)
    return True


def count_attempt(h: Harness, c: Claimed, failure: Failure) -> None:
    """Charge and trace a call without a usable answer: by estimate when it may have cost money,
    once a step however often that step is tried."""
    run = c.running
    cost = Decimal(0)
    if failure.maybe_charged and run.estimated_step != run.steps:
        cost = _estimate(h, c, run)
    c.update(
        cost_usd=run.cost_usd + cost,
        estimated_step=run.steps if cost else run.estimated_step,
        working_seconds=run.working_seconds + failure.seconds,
    )
    c.record(trace.attempt_entry(c.running, failure, cost, at=h.now()))


def charge_lost_call(h: Harness, c: Claimed) -> None:
    """A case whose last owner was interrupted where only the model is to be asked: it died asking.

    Nothing else leaves a run like that: a run that is released waits, ends, or has a time to retry.
    """
    run = c.run
    if not c.interrupted or run is None:
        return
    if run.status is not Status.RUNNING or run.retry_at is not None:
        return
    if c.messages[-1]["role"] == "user" and run.estimated_step != run.steps:
        count_attempt(h, c, _lost("lost in a restart", seconds=0.0))


def _lost(what: str, *, seconds: float) -> Failure:
    return Failure(
        temporary=True, what=what, detail="", maybe_charged=True, request_id=None, seconds=seconds
    )


def _estimate(h: Harness, c: Claimed, run: Run) -> Decimal:
    """What a lost call may have cost: as much as the step before it.

    The first: about 4 characters a token, nothing cached, a short reply. A model that has no price
    any more: nothing.
    """
    if run.steps or run.model not in h.prices:
        return run.last_cost_usd
    characters = len(json.dumps(c.messages)) + len(json.dumps(h.agent.frozen))
    return h.price(run).cost(Usage(uncached=characters // 4, output=300))
