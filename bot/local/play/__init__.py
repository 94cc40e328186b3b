"""Playing cases: a local Slack and Claude here, the bot in a process of its own, people acting."""

from bot.local.play.playing import play_cases
from bot.local.play.stage import Stage, UnmetError
from bot.local.play.story import Expected, Refund, Story

__all__ = ["Expected", "Refund", "Stage", "Story", "UnmetError", "play_cases"]
