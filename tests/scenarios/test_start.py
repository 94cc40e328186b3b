"""What a start looks at before any case."""

from __future__ import annotations

import pytest

from agent.errors import ConfigurationError
from tests.scenarios.stage import Stage


async def test_a_store_is_never_started_with_another_shop_than_its_own(stage: Stage) -> None:
    async with stage.on():
        pass
    other = f"sqlite:///{stage.folder}/other-shop.db"
    with pytest.raises(ConfigurationError, match=r"CASETHREAD_SHOP_URL: .* another shop"):
        async with stage.on(CASETHREAD_SHOP_URL=other):
            pass
    del stage.overrides["CASETHREAD_SHOP_URL"]
    async with stage.on():
        assert await stage.runs() == []
