"""The workspace "Cartwise" that a local Slack starts with; its ids are fixed, for tests to name."""

from __future__ import annotations

from bot.local.slack.manifest import Manifest
from bot.local.slack.workspace import App, Channel, Seed, Team, User, UserGroup

CASETHREAD_BOT_USER = "U0CASEBOT1"
HELPDESK_BOT_USER = "U0HELPBOT1"
RAVI, MEENA, PRIYA, OMAR = "U0RAVI0001", "U0MEENA001", "U0PRIYA001", "U0OMAR0001"
SAM, KAVYA, GITA = "U0SAM00001", "U0KAVYA001", "U0GITA0001"
LEADS = "S0LEADS001"
SUPPORT_CASES, APPROVALS, RANDOM = "C0SUPPORT1", "C0APPROVAL", "C0RANDOM01"
PARTNER_TEAM_ID = "T0PARTNER1"


def cartwise(manifest: Manifest) -> Seed:
    """Two support agents, two leads, a member who is neither, a guest of another organisation and
    a single-channel guest; the app of the manifest and a second one that can only post."""
    staff = (RAVI, MEENA, PRIYA, OMAR, SAM)
    return Seed(
        team=Team(id="T0CARTWISE", name="Cartwise", domain="cartwise"),
        other_teams=(Team(id=PARTNER_TEAM_ID, name="Parcel Partner", domain="parcelpartner"),),
        users=(
            _person(RAVI, "ravi", "Ravi Kumar"),
            _person(MEENA, "meena", "Meena Joshi"),
            _person(PRIYA, "priya", "Priya Menon"),
            _person(OMAR, "omar", "Omar Sheikh"),
            _person(SAM, "sam", "Sam Fernandes"),
            User(
                id=KAVYA,
                name="kavya",
                real_name="Kavya Pillai",
                team_id=PARTNER_TEAM_ID,
                is_stranger=True,
            ),
            User(
                id=GITA,
                name="gita",
                real_name="Gita Bose",
                is_restricted=True,
                is_ultra_restricted=True,
            ),
            User(
                id=CASETHREAD_BOT_USER,
                name=manifest.bot_display_name.lower().replace(" ", ""),
                real_name=manifest.bot_display_name,
                is_bot=True,
            ),
            User(id=HELPDESK_BOT_USER, name="helpdeskbot", real_name="Helpdesk bot", is_bot=True),
        ),
        groups=(UserGroup(id=LEADS, handle="leads", name="Support leads", users=(PRIYA, OMAR)),),
        channels=(
            Channel(
                id=SUPPORT_CASES,
                name="support-cases",
                members=(*staff, KAVYA, GITA, CASETHREAD_BOT_USER, HELPDESK_BOT_USER),
            ),
            Channel(id=APPROVALS, name="approvals", members=(*staff, CASETHREAD_BOT_USER)),
            Channel(id=RANDOM, name="random", members=staff),
        ),
        apps=(
            App(
                id="A0CASETHRD",
                name=manifest.name,
                bot_id="B0CASETHRD",
                bot_user_id=CASETHREAD_BOT_USER,
                bot_token="xoxb-local-casethread",
                app_token="xapp-1-A0CASETHRD-local",
                scopes=manifest.bot_scopes,
            ),
            App(
                id="A0HELPDESK",
                name="Helpdesk bot",
                bot_id="B0HELPDESK",
                bot_user_id=HELPDESK_BOT_USER,
                bot_token="xoxb-local-helpdesk",
                app_token=None,
                scopes=frozenset({"chat:write", "channels:read"}),
            ),
        ),
    )


def _person(user_id: str, name: str, real_name: str) -> User:
    return User(id=user_id, name=name, real_name=real_name, email=f"{name}@cartwise.example")
