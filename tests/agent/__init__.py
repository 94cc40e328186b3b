"""The harness without Slack: a real store, a real shop, the real SDK against the local Claude."""
