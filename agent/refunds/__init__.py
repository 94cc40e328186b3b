"""The refund agent: its prompt, its tools, its money and its approvals."""
