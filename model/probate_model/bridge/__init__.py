"""The rules of profile ``bridge``: an ACP server in front of agents."""
