"""Read what a client asks with, and refuse what we cannot do.

Each function takes the parameters of a method as they came and gives what was meant, or raises invalid
params with one sentence that says what is wrong. What we did not ask for is ignored; what we cannot do and
a client relies on, such as a server of tools that we would have to start, is refused rather than dropped.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from probate_reference.jsonrpc import ErrorCode, RpcError

__all__ = ("absolute_path", "integer", "invalid", "optional_text", "prompt_text", "session_folder", "text")


def invalid(says: str) -> RpcError:
    """Make the error for parameters that are wrong."""
    return RpcError(ErrorCode.INVALID_PARAMS, says)


def text(params: Mapping[str, object], name: str) -> str:
    """Read a string.

    :raises RpcError: if it is none
    """
    value = params.get(name)
    if not isinstance(value, str):
        raise invalid(f"{name} must be a string")
    return value


def optional_text(params: Mapping[str, object], name: str) -> str | None:
    """Read a string that may be absent.

    :raises RpcError: if it is something else
    """
    return None if params.get(name) is None else text(params, name)


def integer(params: Mapping[str, object], name: str) -> int:
    """Read an integer.

    :raises RpcError: if it is none
    """
    value = params.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise invalid(f"{name} must be an integer")
    return value


def absolute_path(params: Mapping[str, object], name: str) -> str:
    """Read an absolute path, and normalise it.

    :raises RpcError: if it is none
    """
    path = text(params, name)
    if not os.path.isabs(path) or "\0" in path:
        raise invalid(f"{name} must be an absolute path")
    return os.path.normpath(path)


def session_folder(params: Mapping[str, object]) -> str:
    """Read where a session works, and refuse what else a client may want of it.

    :raises RpcError: if the folder is no absolute path, or servers or further folders are wanted
    """
    folder = absolute_path(params, "cwd")
    if params.get("mcpServers"):
        raise invalid("MCP servers are not supported: mcpServers must be empty")
    if params.get("additionalDirectories"):
        raise invalid("additional directories are not supported: additionalDirectories must be empty")
    return folder


def prompt_text(params: Mapping[str, object]) -> str:
    """Read a prompt: its blocks of text and its links, joined.

    :raises RpcError: if a block is of another kind, or nothing is said
    """
    blocks = params.get("prompt")
    if not isinstance(blocks, list):
        raise invalid("prompt must be a list of content blocks")
    said = "\n".join(_block(block) for block in blocks)
    if not said.strip():
        raise invalid("empty prompt")
    return said


def _block(block: object) -> str:
    if not isinstance(block, dict):
        raise invalid("a content block must be an object")
    match block.get("type"):
        case "text":
            return text(block, "text")
        case "resource_link":
            name = optional_text(block, "name")
            uri = text(block, "uri")
            return f"[{name}]({uri})" if name else uri
        case other:
            raise invalid(f"content of type {other!r:.40} is not supported; text and resource_link are")
