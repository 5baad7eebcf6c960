"""What is kept of a client's sessions: list it, delete of it, and find the one that is to go on.

A session goes on where it was. The folder in which it works is remembered with its log, and a client that
names another folder, or means a log that never had one, is refused before an agent exists.

A list comes in pages, the newest first. A cursor says behind which session the next page begins, so it stays
right while sessions come and go.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from probate_reference.jsonrpc import ErrorCode, RpcError
from probate_reference.persistence import StorageError
from probate_reference.refusals import NotFound, SessionLive

from .parameters import invalid

if TYPE_CHECKING:
    from collections.abc import Mapping

    from probate_reference.persistence import Persistence, StoredSession

    from .protocol import SessionInfo

__all__ = ("FOLDER", "delete", "list_page", "require_folder")

FOLDER: Final = "cwd"
"""Under which name the folder of a session is remembered."""

PAGE: Final = 50


async def require_folder(persistence: Persistence, id: str, folder: str) -> None:
    """Check that a stored session works in a folder.

    :raises RpcError: if there is no such session, if it has no folder or another one, or if it cannot be read
    """
    try:
        stored = await persistence.read(id)
    except NotFound as refusal:
        raise RpcError(ErrorCode.NOT_FOUND, "unknown session", {"sessionId": id}) from refusal
    except StorageError as failure:
        raise RpcError(ErrorCode.INTERNAL_ERROR, str(failure), {"sessionId": id}) from failure
    kept = _folder(stored.header.metadata)
    if kept is None:
        raise invalid("the session was stored without a folder to work in")
    if kept != folder:
        raise invalid(f"the session works in {kept!r}, not in {folder!r}")


async def delete(persistence: Persistence, id: str) -> None:
    """Delete a stored session; nothing happens if there is none.

    :raises RpcError: if the session is live
    """
    try:
        await persistence.delete(id)
    except NotFound:
        return
    except SessionLive as refusal:
        raise RpcError(ErrorCode.INVALID_REQUEST, "the session is live: close it first", {"sessionId": id}) from refusal


async def list_page(persistence: Persistence, folder: str | None, cursor: str | None) -> dict[str, object]:
    """Give a page of the stored sessions, as the answer to ``session/list``.

    :param folder: where the sessions must work, or ``None``
    :param cursor: what the page before gave, or ``None``
    :raises RpcError: if the cursor is none
    """
    behind = None if cursor is None else _read_cursor(cursor)
    kept = [
        stored
        for stored in sorted(await persistence.list(), key=_place)
        if (place := _folder(stored.metadata)) is not None and folder in (None, place)
    ]
    left = kept if behind is None else [stored for stored in kept if _place(stored) > behind]
    page: dict[str, object] = {"sessions": [_info(stored) for stored in left[:PAGE]]}
    if len(left) > PAGE:
        page["nextCursor"] = f"{left[PAGE - 1].modified!r} {left[PAGE - 1].id}"
    return page


def _folder(metadata: Mapping[str, str]) -> str | None:
    kept = metadata.get(FOLDER, "")
    return os.path.normpath(kept) if os.path.isabs(kept) else None


def _place(stored: StoredSession) -> tuple[float, str]:
    return (-stored.modified, stored.id)


def _read_cursor(cursor: str) -> tuple[float, str]:
    modified, _, name = cursor.partition(" ")
    try:
        return (-float(modified), name)
    except ValueError:
        raise invalid("the cursor is none of ours") from None


def _info(stored: StoredSession) -> SessionInfo:
    return {
        "sessionId": stored.id,
        "cwd": stored.metadata[FOLDER],
        "updatedAt": datetime.fromtimestamp(stored.modified, UTC).isoformat(),
    }
