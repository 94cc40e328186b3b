"""The cases that can be played, one file each, in the order they are played."""

from bot.local.play.story import Story
from bot.local.stories.decline import DECLINE
from bot.local.stories.handoff import HANDOFF
from bot.local.stories.seed import SEED
from bot.local.stories.small import SMALL
from bot.local.stories.stranger import STRANGER
from bot.local.stories.too_large import TOO_LARGE

__all__ = ["STORIES"]

STORIES: tuple[Story, ...] = (SEED, SMALL, DECLINE, STRANGER, TOO_LARGE, HANDOFF)
