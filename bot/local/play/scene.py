"""What a story is played with, and how the bot is told where its stand-ins are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import bot
from bot.local.claude import LocalClaude
from bot.local.play.process import BotProcess
from bot.local.slack import LocalSlack
from bot.local.slack.seed import APPROVALS, LEADS, SUPPORT_CASES
from bot.settings import Settings


@dataclass(frozen=True, kw_only=True)
class Scene:
    """Both stand-ins, the bot's process and its settings."""

    slack: LocalSlack
    claude: LocalClaude
    process: BotProcess
    settings: Settings


def own_manifest() -> Path:
    """Casethread's manifest: beside the modules where it is installed, else at the top of the
    checkout."""
    package = Path(bot.__file__).parent
    installed = package / "manifest.yml"
    return installed if installed.exists() else package.parent / "manifest.yml"


def bots_environment(slack: LocalSlack, claude: LocalClaude | None, store: Path) -> dict[str, str]:
    """The bot's settings in the workspace "Cartwise"; without a stand-in nothing is said about
    Claude."""
    environment = {
        "SLACK_BOT_TOKEN": slack.bot_token,
        "SLACK_APP_TOKEN": slack.app_token,
        "SLACK_API_URL": slack.api_url,
        "CASETHREAD_STORE_URL": f"sqlite:///{store}",
        "CASETHREAD_CASE_CHANNELS": SUPPORT_CASES,
        "CASETHREAD_APPROVALS_CHANNEL": APPROVALS,
        "CASETHREAD_APPROVERS": LEADS,
    }
    if claude is not None:
        environment["ANTHROPIC_API_KEY"] = "sk-ant-local-stand-in"
        environment["ANTHROPIC_BASE_URL"] = claude.base_url
    return environment
