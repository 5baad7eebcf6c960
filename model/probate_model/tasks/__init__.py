"""The room of profile ``tasks``: who a background task belongs to, and how it ends."""
