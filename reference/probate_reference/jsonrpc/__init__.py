"""Speak JSON-RPC, one message a line, as an equal: both sides ask, both sides answer.

Start with :class:`Peer`. It is told what to do with requests and notifications, reads from one byte
stream and writes to another; :mod:`.descriptors` makes such streams of file descriptors.
"""

from __future__ import annotations

from .descriptors import DescriptorReceiveStream, DescriptorSendStream
from .incoming import Incoming
from .lines import MAX_LINE, Lines, TooLong
from .messages import Answer, ErrorCode, Malformed, Message, Notification, Request, RequestId, RpcError, encode, read
from .outgoing import ConnectionClosed, Outgoing
from .peer import CloseCause, Peer

__all__ = (
    "MAX_LINE",
    "Answer",
    "CloseCause",
    "ConnectionClosed",
    "DescriptorReceiveStream",
    "DescriptorSendStream",
    "ErrorCode",
    "Incoming",
    "Lines",
    "Malformed",
    "Message",
    "Notification",
    "Outgoing",
    "Peer",
    "Request",
    "RequestId",
    "RpcError",
    "TooLong",
    "encode",
    "read",
)
