"""A small strict Slack of our own, for trying Casethread and for tests.

It refuses what the real Slack refuses, delivers events the way the real one does (late, twice, out
of order when asked to), and lets a test act as a person by what that person sees.
"""

from bot.local.slack.manifest import Manifest, ManifestError
from bot.local.slack.other_app import OtherApp
from bot.local.slack.people import ClickResult, Person, SubmitResult, Upload
from bot.local.slack.server import LocalSlack
from bot.local.slack.web_api import ApiCall
from bot.local.slack.workspace import Message, Notification, Seed, View

__all__ = [
    "ApiCall",
    "ClickResult",
    "LocalSlack",
    "Manifest",
    "ManifestError",
    "Message",
    "Notification",
    "OtherApp",
    "Person",
    "Seed",
    "SubmitResult",
    "Upload",
    "View",
]
