"""Scenarios: what people do in Slack, and what they then see."""
