"""Settings: defaults, forms, and the one line that mends a wrong one."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from agent.errors import ConfigurationError
from bot.settings import Settings, load_settings

SLACK = {
    "SLACK_BOT_TOKEN": "xoxb-secret-1",
    "SLACK_APP_TOKEN": "xapp-secret-2",
    "ANTHROPIC_API_KEY": "key-secret-3",
    "CASETHREAD_CASE_CHANNELS": "C0SUPPORT1",
}


def load(env: dict[str, str], env_file: Path | None = None) -> Settings:
    return load_settings(env=env, env_file=env_file)


def test_without_any_setting_everything_has_its_documented_default() -> None:
    settings = load({})

    assert not settings.slack_configured
    assert settings.store_url == "sqlite:///casethread.db"
    assert settings.model == "claude-opus-5-5"
    assert settings.approval_limit_paise == 100_000
    assert settings.second_approval_over_paise == 1_000_000
    assert settings.four_eyes
    assert (settings.max_steps, settings.max_cost_usd) == (12, Decimal("0.50"))
    assert settings.remind_after_seconds == 4 * 3600
    assert settings.expire_after_seconds == 3 * 86400
    assert settings.log == "info"
    assert settings.warnings == ()


def test_given_settings_are_read_in_their_units() -> None:
    settings = load(
        SLACK
        | {
            "CASETHREAD_CASE_CHANNELS": " C0SUPPORT1, G0PRIVATE1 ,",
            "CASETHREAD_APPROVERS": "U0PRIYA001,W0OMAR0001,S0LEADS001",
            "CASETHREAD_APPROVAL_LIMIT": "0",
            "CASETHREAD_SECOND_APPROVAL_OVER": "999.50",
            "CASETHREAD_FOUR_EYES": "no",
            "CASETHREAD_REMIND_AFTER": "15m",
            "CASETHREAD_EXPIRE_AFTER": "30s",
            "CASETHREAD_MAX_COST_USD": "1.25",
            "CASETHREAD_LOG": "DEBUG",
        }
    )

    assert settings.slack_configured
    assert settings.case_channels == ("C0SUPPORT1", "G0PRIVATE1")
    assert settings.approver_users == ("U0PRIYA001", "W0OMAR0001")
    assert settings.approver_groups == ("S0LEADS001",)
    assert settings.approval_limit_paise == 0
    assert settings.second_approval_over_paise == 99_950
    assert not settings.four_eyes
    assert (settings.remind_after_seconds, settings.expire_after_seconds) == (900, 30)
    assert settings.max_cost_usd == Decimal("1.25")
    assert settings.log == "debug"


@pytest.mark.parametrize(
    ("name", "value", "how_to_mend"),
    [
        ("SLACK_BOT_TOKEN", "xapp-secret", "starts with xoxb-"),
        ("SLACK_APP_TOKEN", "xoxb-secret", "starts with xapp-"),
        ("SLACK_API_URL", "slack.com", "https://"),
        ("ANTHROPIC_BASE_URL", "ftp://secret", "https://"),
        ("CASETHREAD_STORE_URL", "postgres://secret@host/db", "sqlite:///PATH"),
        ("CASETHREAD_SHOP_URL", "secret.db", "sqlite:///shop.db"),
        ("CASETHREAD_POLICIES", "no/such/folder", "existing folder"),
        ("CASETHREAD_PRICES", "no/such/file.toml", "TOML file"),
        ("CASETHREAD_CASE_CHANNELS", "#support", "C0123456789"),
        ("CASETHREAD_CASE_CHANNELS", "C0SUPPORT1,support", "'support'"),
        ("CASETHREAD_APPROVALS_CHANNEL", "C0SUPPORT1,C0SUPPORT2", "one channel"),
        ("CASETHREAD_APPROVERS", "U0PRIYA001,@omar", "'@omar'"),
        ("CASETHREAD_APPROVERS", "C0SUPPORT1", "user ids"),
        ("CASETHREAD_HANDOFF_MENTION", "@oncall", "user-group id"),
        ("CASETHREAD_APPROVAL_LIMIT", "1,000", "rupees like 1000"),
        ("CASETHREAD_APPROVAL_LIMIT", "-1", "rupees like 1000"),
        ("CASETHREAD_APPROVAL_LIMIT", "nan", "rupees like 1000"),
        ("CASETHREAD_SECOND_APPROVAL_OVER", "1e4", "rupees like 1000"),
        ("CASETHREAD_FOUR_EYES", "perhaps", "true or false"),
        ("CASETHREAD_MAX_STEPS", "0", "1 or more"),
        ("CASETHREAD_MAX_STEPS", "twelve", "1 or more"),
        ("CASETHREAD_MAX_COST_USD", "$1", "0.50"),
        ("CASETHREAD_REMIND_AFTER", "90", "30s, 15m, 4h or 3d"),
        ("CASETHREAD_EXPIRE_AFTER", "0d", "30s, 15m, 4h or 3d"),
        ("CASETHREAD_EXPIRE_AFTER", "1w", "30s, 15m, 4h or 3d"),
        ("CASETHREAD_LOG", "verbose", "debug, info"),
    ],
)
def test_a_wrong_setting_stops_with_one_line_that_names_and_mends_it(
    name: str, value: str, how_to_mend: str
) -> None:
    with pytest.raises(ConfigurationError) as failure:
        load({name: value})

    line = str(failure.value)
    assert line.startswith(f"{name} ")
    assert how_to_mend in line
    assert "\n" not in line
    assert "secret" not in line
    # A traceback would show the causes, too.
    assert failure.value.__cause__ is None


@pytest.mark.parametrize(
    ("left_out", "named"),
    [
        ("SLACK_BOT_TOKEN", "SLACK_BOT_TOKEN"),
        ("SLACK_APP_TOKEN", "SLACK_APP_TOKEN"),
        ("ANTHROPIC_API_KEY", "ANTHROPIC_API_KEY"),
        ("CASETHREAD_CASE_CHANNELS", "CASETHREAD_CASE_CHANNELS"),
    ],
)
def test_what_a_real_workspace_needs_and_is_missing_is_named(left_out: str, named: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^{named} is missing") as failure:
        load({name: value for name, value in SLACK.items() if name != left_out})

    assert "\n" not in str(failure.value)


def test_an_empty_setting_counts_as_unset() -> None:
    settings = load(
        {"SLACK_BOT_TOKEN": "", "CASETHREAD_APPROVAL_LIMIT": " ", "CASETHREAD_CASE_CHANNELS": ""}
    )

    assert not settings.slack_configured
    assert settings.approval_limit_paise == 100_000


def test_the_environment_wins_over_the_env_file(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text("CASETHREAD_MODEL=from-file\nCASETHREAD_MAX_STEPS=7\nCASETHREAD_LOG='debug'\n")

    settings = load({"CASETHREAD_MODEL": "from-environment", "CASETHREAD_MAX_STEPS": ""}, file)

    assert settings.model == "from-environment"
    assert settings.max_steps == 7
    assert settings.log == "debug"


def test_a_missing_env_file_is_nothing(tmp_path: Path) -> None:
    assert load({}, tmp_path / ".env") == load({})


def test_an_unknown_name_of_ours_is_warned_about_with_the_closest_known_one(
    tmp_path: Path,
) -> None:
    file = tmp_path / ".env"
    file.write_text("CASETHREAD_APROVERS=U0PRIYA001\n")

    settings = load({"CASETHREAD_ZZZ": "1", "OTHER": "x"}, file)

    first, second = settings.warnings
    assert first.startswith("CASETHREAD_APROVERS ")
    assert first.endswith("Did you mean CASETHREAD_APPROVERS?")
    assert second.startswith("CASETHREAD_ZZZ ")


def test_a_real_workspace_without_approvers_is_warned_about() -> None:
    (warning,) = load(SLACK).warnings

    assert warning.startswith("CASETHREAD_APPROVERS ")


def test_secrets_are_not_shown() -> None:
    settings = load(
        SLACK
        | {
            "CASETHREAD_STORE_URL": "redis://:secret-4@host/0",
            "CASETHREAD_SHOP_URL": "postgresql://shop:secret-5@host/shop",
        }
    )

    assert "secret" not in repr(settings)
    assert "secret" not in str(settings)
    assert settings.slack_bot_token is not None
    assert settings.slack_bot_token.get_secret_value() == "xoxb-secret-1"


def test_settings_cannot_be_changed() -> None:
    settings = load({})

    with pytest.raises(ValueError, match="frozen"):
        settings.model = "another"
