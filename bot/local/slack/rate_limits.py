"""How often a method may be called: Slack's tiers, and postMessage's one a second a channel.

Source: docs.slack.dev, apis/web-api/rate-limits. A bucket allows the documented short bursts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

POST_BURST = 5
_PER_MINUTE = {1: 1, 2: 20, 3: 50, 4: 100}


@dataclass(kw_only=True)
class _Bucket:
    tokens: float
    refilled_at: float


class RateLimits:
    """Buckets by what is limited together; times are seconds of the given clock."""

    def __init__(self) -> None:
        self._buckets: dict[tuple[str, str], _Bucket] = {}

    def retry_after_seconds(self, method: str, tier: int, channel: str, now: float) -> int | None:
        """None when the call may go on; else the whole seconds to wait. Tier 0 is unlimited."""
        if tier == 0:
            return None
        if method in ("chat.postMessage", "chat.postEphemeral"):
            return self._take((method, channel), rate=1.0, size=POST_BURST, now=now)
        per_minute = _PER_MINUTE[tier]
        return self._take((method, ""), rate=per_minute / 60, size=per_minute, now=now)

    def _take(self, key: tuple[str, str], *, rate: float, size: int, now: float) -> int | None:
        bucket = self._buckets.setdefault(key, _Bucket(tokens=size, refilled_at=now))
        bucket.tokens = min(size, bucket.tokens + (now - bucket.refilled_at) * rate)
        bucket.refilled_at = now
        if bucket.tokens >= 1:
            bucket.tokens -= 1
            return None
        return max(1, math.ceil((1 - bucket.tokens) / rate))
