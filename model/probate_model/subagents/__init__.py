"""The rules of profile ``subagents``: runs of agents by agents."""
