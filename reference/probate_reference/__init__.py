"""The agent lifecycle as an async library, on asyncio and trio."""
