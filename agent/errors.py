"""Errors, named by who reads them.

    CasethreadError
    ├── ToolError        the model: an instruction what to do instead
    ├── ConfigurationError  the operator: what is wrong and how to mend it
    ├── LeaseLost        nobody: another worker owns the case now; this one stops writing
    ├── InboxChanged     nobody: an event arrived first; look at the inbox and decide again
    └── StoreError       the operator: what the store could not do
        └── StoreAway    the operator: the store can't be reached or refuses for a while; nothing
                         is known to be wrong with the record

People in Slack never read an exception: they get safe words and the run's id.
"""

from __future__ import annotations


class CasethreadError(Exception):
    """Root of everything Casethread raises on purpose."""


class ToolError(CasethreadError):
    """Raised by a tool; its message goes to the model as an instruction."""


class ConfigurationError(CasethreadError):
    """A setting is missing or wrong; the message is one line that names it and mends it."""


class LeaseLost(CasethreadError):
    """The lease ended or another worker took the case. Nothing was written."""


class InboxChanged(CasethreadError):
    """A save that assumed an unchanged inbox found a newer event. Nothing was written."""


class StoreError(CasethreadError):
    """The store refused or could not be read; the message is for the operator."""


class StoreAway(StoreError):
    """The store can't be reached, or refuses for a while. Later it may take the same call.

    Whether a write was done is not known: load the case again before going on with it.
    """
