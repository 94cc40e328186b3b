"""How long a killed owner's cases wait until another process has them."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import Any, cast

from redis.asyncio import Redis
from redis.exceptions import RedisError

from tests.faults.world import World

LOOK_SECONDS = 0.2
LONGEST_SECONDS = 60.0


@dataclass(frozen=True, kw_only=True)
class Held:
    """A lease as Redis has it. `expires` is in Unix seconds, 0 when it was given back."""

    owner: str
    token: int
    expires: float


@dataclass(kw_only=True)
class Recovery:
    """`disturbed`: meanwhile Redis was away, or for a moment no other process was at work."""

    seconds: float
    disturbed: bool


@dataclass(kw_only=True)
class Recoveries:
    found: list[Recovery] = field(default_factory=list[Recovery])
    _disturbances: int = 0

    def disturbed(self) -> None:
        """What is being measured now says less about a single death."""
        self._disturbances += 1

    async def measure(self, world: World, pid: int) -> None:
        """From a kill, which was just now, to the next claim of each case the process had."""
        killed = time.monotonic()
        before = self._disturbances
        alone = False
        owned = await _owned_by(world, pid)
        while owned and time.monotonic() - killed < LONGEST_SECONDS:
            alone = alone or not any(each.at_work for each in world.children)
            for case_id, held in (await leases(world)).items():
                if held.token > owned.get(case_id, held.token):
                    del owned[case_id]
                    self._add(time.monotonic() - killed, alone or self._disturbances > before)
            await asyncio.sleep(LOOK_SECONDS)
        for _ in owned:
            self._add(LONGEST_SECONDS, alone or self._disturbances > before)

    def _add(self, seconds: float, disturbed: bool) -> None:
        self.found.append(Recovery(seconds=seconds, disturbed=disturbed))


async def _owned_by(world: World, pid: int) -> dict[str, int]:
    """The cases that the process had a lease on, with the lease's token."""
    return {
        case_id: held.token
        for case_id, held in (await leases(world)).items()
        if f":{pid}:" in held.owner and held.expires > time.time()
    }


async def leases(world: World) -> dict[str, Held]:
    """The latest lease of each case that ever had one; empty while Redis is away."""
    found: dict[str, Held] = {}
    try:
        async with Redis(port=world.redis.port, decode_responses=True) as redis:
            scan = cast("Any", redis.scan_iter)  # pyright: ignore[reportUnknownMemberType]
            async for head in scan(match="casethread:{*}", count=1_000):
                owner, token, expires = await redis.hmget(head, "owner", "token", "expires")
                if owner and token and expires:
                    case_id = str(head).removeprefix("casethread:{").removesuffix("}")
                    found[case_id] = Held(
                        owner=str(owner), token=int(token), expires=float(expires)
                    )
    except RedisError:
        return {}
    return found
