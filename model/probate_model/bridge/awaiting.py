"""What the bridge waits for in the core, and what it makes of the end of that."""

from __future__ import annotations

from probate_model.alphabet.events import Settlement
from probate_model.alphabet.names import Label
from probate_model.bridge import connections
from probate_model.bridge.access import connection_of, put, put_session, room_of
from probate_model.bridge.state import UNLOAD, Closing, Holding
from probate_model.run import Run


def take(run: Run, call: Label, outcome: Settlement) -> bool:
    """Take the settlement of a call that is the bridge's own; tells whether it was."""
    if call == UNLOAD:
        put(run, room_of(run)._replace(closing=Closing.UNLOADED))
        return True
    for session in room_of(run).sessions:
        if call == session.label and session.holding is Holding.CREATING:
            put_session(run, session._replace(holding=Holding.CREATED, outcome=outcome))
        elif call == session.label and session.called_off:
            pass  # nobody waits for it any more
        elif call == session.end:
            put_session(run, session._replace(over=True))
            if call in connection_of(run, session.connection).awaited:
                connections.ended(run, session.connection, call)
        else:
            continue
        return True
    return False
