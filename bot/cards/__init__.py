"""What people read in Slack: pure builders from data to messages and modals, one file for each."""
