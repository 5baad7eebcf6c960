"""Models behind the seam of that name: two that need nothing, and any endpoint that speaks like OpenAI's.

:class:`.openai.OpenAIModel` stands apart, since it alone needs httpx (the extra ``model``).
"""

from __future__ import annotations

from .conversation import conversation
from .echo import EchoModel
from .failures import ModelFailed
from .scripted import ScriptedModel, ScriptedReply

__all__ = ("EchoModel", "ModelFailed", "ScriptedModel", "ScriptedReply", "conversation")
