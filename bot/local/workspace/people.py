"""Who can be at the keyboard here, and as what."""

from __future__ import annotations

from bot.local.slack.seed import LEADS, MEENA, RAVI
from bot.local.slack.workspace import Json, User, Workspace


def people_json(workspace: Workspace) -> list[Json]:
    """Everybody but the bots, in the order of the seed."""
    return [person_json(workspace, each) for each in workspace.users.values() if not each.is_bot]


def person_json(workspace: Workspace, user: User) -> Json:
    role, label = _role(workspace, user)
    return {
        "id": user.id,
        "name": user.name,
        "real_name": user.real_name,
        "role": role,
        "role_label": label,
    }


def user_json(workspace: Workspace, user: User) -> Json:
    """A member as messages name them, bots too."""
    team = workspace.teams[user.team_id]
    return {
        "id": user.id,
        "name": user.name,
        "real_name": user.real_name,
        "is_bot": user.is_bot,
        "is_guest": user.is_restricted or user.is_stranger,
        "team_id": team.id,
        "team_name": team.name,
    }


def _role(workspace: Workspace, user: User) -> tuple[str, str]:
    if user.is_stranger:
        return "connect", f"Slack Connect, {workspace.teams[user.team_id].name}"
    if user.is_restricted:
        return "guest", "Guest in one channel"
    if user.id in workspace.groups[LEADS].users:
        return "lead", "Support lead"
    if user.id in (RAVI, MEENA):
        return "agent", "Support agent"
    return "colleague", "Colleague without a role"
