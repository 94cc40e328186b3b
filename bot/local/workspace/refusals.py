"""Why the workspace does not do what the page asked; the words are for the person who asked.

NotHereError     there is no such thing
NotYoursError    this person may not see or do it
NotNowError      it can't be done as things are
  NeedsFreshError  not before the workspace is begun anew
"""

from __future__ import annotations


class NotHereError(Exception):
    """There is no such thing."""


class NotYoursError(Exception):
    """This person may not see or do it."""


class NotNowError(Exception):
    """It can't be done as things are."""


class NeedsFreshError(NotNowError):
    """The story's orders were dealt with in this workspace, so it would end another way."""
