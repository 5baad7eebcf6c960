"""Tell apart what may come in a line, and write what goes out.

What comes in was written by somebody else, so nothing is believed. A line is one message, or a batch
of them, or neither; what is neither becomes a :class:`Malformed`, which says what to answer, and never
an exception. What a message carries stays a plain mapping: a peer that knows more kinds of updates than
we do must not be cut off for it.

An id is an integer or a string, and nothing that merely equals one: Python thinks that ``1``, ``1.0``
and ``True`` are the same key.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, NoReturn, TypeAlias

__all__ = (
    "Answer",
    "ErrorCode",
    "Malformed",
    "Message",
    "Notification",
    "Request",
    "RequestId",
    "RpcError",
    "encode",
    "read",
)

RequestId: TypeAlias = int | str
"""What joins an answer to its request."""


class ErrorCode(IntEnum):
    """Why a request failed, as a number that both sides know."""

    PARSE_ERROR = -32700
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    INTERNAL_ERROR = -32603
    REQUEST_CANCELLED = -32800
    NOT_FOUND = -32002


class RpcError(Exception):
    """A request that failed: raised to answer with an error, and raised when one is the answer.

    :ivar code: why, for programs; a peer may use codes that we do not know
    :ivar message: why, for people
    :ivar data: what else there is to say, or ``None``
    """

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    def json(self) -> dict[str, object]:
        """Return it as the ``error`` of an answer."""
        error: dict[str, object] = {"code": int(self.code), "message": self.message}
        if self.data is not None:
            error["data"] = self.data
        return error


@dataclass(frozen=True, slots=True)
class Request:
    """A question that wants exactly one answer."""

    id: RequestId
    method: str
    params: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Notification:
    """Something said, to which there is no answer."""

    method: str
    params: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer to a request of ours.

    :ivar error: why there is no result, or ``None``
    """

    id: RequestId
    result: object
    error: RpcError | None


@dataclass(frozen=True, slots=True)
class Malformed:
    """What is no message.

    :ivar error: what to answer, with no id, since there was none that could be believed; ``None`` if it looked like an
        answer, for answering those would never end
    :ivar says: what is wrong, for a report
    """

    error: RpcError | None
    says: str


Message: TypeAlias = Request | Notification | Answer | Malformed
"""What a line may hold."""

_NOTHING: Final[Mapping[str, object]] = {}


def read(line: bytes) -> Message | list[Message]:
    """Read a line: a message, or the list of those in a batch that is not empty. Never raises."""
    try:
        value = json.loads(line.decode("utf-8"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as failure:
        return Malformed(RpcError(ErrorCode.PARSE_ERROR, "the line is no JSON"), f"no JSON: {failure}")
    if isinstance(value, list) and value:
        return [_message(member) for member in value]
    return _message(value)


def request_id(value: object) -> RequestId | None:
    """Return what came as an id, if it is one."""
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    return None


def encode(message: object) -> bytes:
    """Write a message as a line, in ASCII, so that no text in it can break the encoding.

    :raises ValueError: if it is no JSON
    :raises TypeError: if it is no JSON
    """
    return json.dumps(message, allow_nan=False, separators=(",", ":")).encode("ascii") + b"\n"


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _invalid(says: str) -> Malformed:
    return Malformed(RpcError(ErrorCode.INVALID_REQUEST, says), says)


def _message(value: object) -> Message:
    if not isinstance(value, dict):
        return _invalid("a message is an object")
    if "method" not in value:
        return _answer(value)
    if value.get("jsonrpc") != "2.0":
        return _invalid('a message says "jsonrpc": "2.0"')
    method = value["method"]
    if not isinstance(method, str):
        return _invalid("a method is a string")
    params = value.get("params")
    if params is None:
        params = _NOTHING
    if not isinstance(params, dict):
        return _invalid("params are an object")
    if "id" not in value:
        return Notification(method, params)
    name = request_id(value["id"])
    if name is None:
        return _invalid("an id is an integer or a string")
    return Request(name, method, params)


def _answer(value: dict[str, object]) -> Message:
    if "result" not in value and "error" not in value:
        return _invalid("a message has a method, a result or an error")
    name = request_id(value.get("id"))
    if name is None:
        return Malformed(None, f"an answer to nothing: {value.get('error')!r:.200}")
    error = value.get("error")
    if error is None and "result" in value:
        return Answer(name, value["result"], None)
    if isinstance(error, dict) and "result" not in value:
        code = error.get("code")
        message = error.get("message")
        if type(code) is int and isinstance(message, str):
            return Answer(name, None, RpcError(code, message, error.get("data")))
    return Answer(name, None, RpcError(ErrorCode.INTERNAL_ERROR, "the answer is malformed"))
