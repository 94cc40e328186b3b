"""A Slack and a Claude of our own, for trying Casethread and for its tests."""
