"""Races that the numbered cases do not tell, each typed by hand from the rules."""

from __future__ import annotations

import pytest

from tests.model.helpers import turn
from tests.model.test_canonical import CREATED, check
from tests.model.test_cases_cancel import IDLE, IN_MODEL

DISPOSED = "agent/status a#1 disposed"
GONE = """
    agent/disposed a#1
    session/disposed a#1
"""
SENT = """
    agent/queued a#1 A
    settled A returned
    agent/status a#1 running
"""

MADE = ("create c a", CREATED)
HELD = ("hold model c\nsend c A", IN_MODEL)


def whole(number: int, seq: int, prompt: str, answer: str = "c:1") -> str:
    """Give a turn with one step and its flush."""
    return "\n".join(turn(number, seq, prompt, answer))


def cut(seq: int, outcome: str) -> str:
    """Give the end of a first turn that was stopped in its first step, and its flush."""
    return f"""
        log a#1 {seq} step/end turn=1 step=1
        log a#1 {seq + 1} turn/end turn=1 {outcome}
        session/flush a#1 upto={seq + 2}
    """


RACES: dict[str, tuple[tuple[str, str], ...]] = {
    "a cancel after the end finds what was never claimed, and says so once": (
        MADE,
        (
            """
                send c A
                dispose c
            """,
            f"""
                agent/queued a#1 A
                settled A returned
                {DISPOSED}
                {GONE}
                settled dispose returned
            """,
        ),
        (
            "cancel c parent",
            """
                agent/cancel-requested a#1 parent
                settled cancel returned
            """,
        ),
        (
            "cancel c",
            "settled cancel2 returned",
        ),
    ),
    "a cancel from inside the announcement of a cancel fires the signal": (
        MADE,
        HELD,
        (
            """
                react agent/cancel-requested cause=user do cancel this parent
                cancel c
            """,
            f"""
                agent/cancel-requested a#1 user
                agent/cancel-requested a#1 parent
                signal a#1 turn=1 parent
                settled r1.0 returned
                settled cancel returned
                {cut(3, "aborted")}
                {IDLE}
            """,
        ),
    ),
    "whoever hears the signal cancels, sends, steers and injects": (
        MADE,
        HELD,
        (
            """
                react signal do cancel this parent; send this R; steer this S; inject this X
                cancel c
            """,
            f"""
                agent/cancel-requested a#1 user
                signal a#1 turn=1 user
                agent/cancel-requested a#1 parent
                settled r1.0 returned
                agent/queued a#1 R
                settled r1.1 returned
                agent/queued a#1 S steering
                settled r1.2 returned
                log a#1 3 context/message X
                settled r1.3 returned
                settled cancel returned
                {cut(4, "aborted")}
                log a#1 6 turn/start turn=2 trigger=message
                log a#1 7 user/message R
                log a#1 8 step/start turn=2 step=1
            """,
        ),
    ),
    "a listener of a result injects and throws between two tool calls": (
        MADE,
        (
            """
                plan model c tools:2
                react log record=tool/result n=1 do inject this X; throw T
                send c A
            """,
            f"""
                {IN_MODEL}
                log a#1 3 assistant/message c:1
                log a#1 4 tool/call n=1
                log a#1 5 tool/result n=1 ok
                settled r1.0 returned
                log a#1 6 tool/call n=2
                log a#1 7 tool/result n=2 ok
                log a#1 8 context/message X
                log a#1 9 step/end turn=1 step=1
                log a#1 10 step/start turn=1 step=2
                log a#1 11 assistant/message c:2
                log a#1 12 step/end turn=1 step=2
                log a#1 13 turn/end turn=1 completed
                session/flush a#1 upto=14
                {IDLE}
            """,
        ),
    ),
    "a failing step whose report is answered with a dispose": (
        MADE,
        (
            """
                plan model c error
                react agent/error do dispose this; send this Z
                send c A
            """,
            f"""
                {IN_MODEL}
                log a#1 3 step/end turn=1 step=1
                agent/error a#1 step=1 model
                {DISPOSED}
                settled r1.1 raised disposed
                log a#1 4 turn/end turn=1 disposed
                session/flush a#1 upto=5
                {GONE}
                settled r1.0 returned
            """,
        ),
    ),
    "two flushes are open, and each is waited for by somebody else": (
        MADE,
        (
            """
                hold flush c
                send c A
            """,
            f"""
                {IN_MODEL}
                log a#1 3 assistant/message c:1
                {cut(4, "completed")}
            """,
        ),
        (
            "inject c X",
            """
                log a#1 6 turn/start turn=2 trigger=injection
                log a#1 7 context/message X
                log a#1 8 turn/end turn=2 completed
                session/flush a#1 upto=9
                settled X returned
            """,
        ),
        (
            """
                idle c
                dispose c
            """,
            DISPOSED,
        ),
        (
            "release flush c",
            "settled idle returned",
        ),
        (
            "open flush c",
            f"""
                {GONE}
                settled dispose returned
            """,
        ),
    ),
    "a veto waits for the flush of what was injected during the publication": (
        (
            """
                hold flush c
                react session/created do inject this X
                react agent/created do throw no
                create c a
            """,
            """
                session/created a#1
                log a#1 0 turn/start turn=1 trigger=injection
                log a#1 1 context/message X
                log a#1 2 turn/end turn=1 completed
                session/flush a#1 upto=3
                settled r1.0 returned
                agent/created a#1
            """,
        ),
        (
            "release flush c fail",
            f"""
                agent/error a#1 step=0 flush
                {GONE}
                settled c raised thrown:no
            """,
        ),
    ),
    "a cancel and steering in a held closing flush, with a queue": (
        MADE,
        (
            """
                hold flush c
                send c A
                send c B
                idle c
            """,
            f"""
                agent/queued a#1 A
                settled A returned
                agent/queued a#1 B
                settled B returned
                agent/status a#1 running
                {whole(1, 0, "A")}
            """,
        ),
        (
            """
                cancel c
                steer c S
            """,
            """
                agent/cancel-requested a#1 user
                settled cancel returned
                agent/queued a#1 S steering
                settled S returned
            """,
        ),
        (
            "release flush c",
            whole(2, 6, "S", "c:2"),
        ),
        (
            "open flush c",
            f"""
                {IDLE}
                settled idle returned
            """,
        ),
    ),
    "steering that came too late stands behind a prompt that came after it": (
        MADE,
        (
            """
                hold flush c
                send c A
            """,
            f"""
                {IN_MODEL}
                log a#1 3 assistant/message c:1
                {cut(4, "completed")}
            """,
        ),
        (
            """
                steer c S
                send c B
            """,
            """
                agent/queued a#1 S steering
                settled S returned
                agent/queued a#1 B
                settled B returned
            """,
        ),
        (
            "open flush c",
            f"""
                {whole(2, 6, "B", "c:2")}
                {whole(3, 12, "S", "c:3")}
                {IDLE}
            """,
        ),
    ),
    "what was accepted at the end of a turn is flushed before the turn is": (
        MADE,
        (
            """
                hold flush c
                react log record=turn/end do inject this X; dispose this
                send c A
            """,
            f"""
                {IN_MODEL}
                log a#1 3 assistant/message c:1
                log a#1 4 step/end turn=1 step=1
                log a#1 5 turn/end turn=1 completed
                settled r1.0 returned
                {DISPOSED}
                log a#1 6 turn/start turn=2 trigger=injection
                log a#1 7 context/message X
                log a#1 8 turn/end turn=2 completed
                session/flush a#1 upto=9
                session/flush a#1 upto=9
            """,
        ),
        (
            "release flush c",
            "",
        ),
        (
            "release flush c",
            f"""
                {GONE}
                settled r1.1 returned
            """,
        ),
    ),
    "a deaf preparation that throws after its turn was cancelled": (
        MADE,
        (
            """
                hold prepare c deaf
                send c A
                steer c S
                idle c
            """,
            """
                agent/queued a#1 A
                settled A returned
                agent/queued a#1 S
                settled S returned
                agent/status a#1 running
                log a#1 0 turn/start turn=1 trigger=message
                log a#1 1 user/message A
            """,
        ),
        (
            """
                cancel c
                send c B
                release prepare c throw
            """,
            """
                agent/cancel-requested a#1 user
                settled cancel returned
                agent/queued a#1 B
                settled B returned
                log a#1 2 turn/end turn=1 aborted
                session/flush a#1 upto=3
                log a#1 3 turn/start turn=2 trigger=message
                log a#1 4 user/message B
            """,
        ),
        (
            "release prepare c throw",
            f"""
                agent/error a#1 step=0 internal
                log a#1 5 turn/end turn=2 error
                session/flush a#1 upto=6
                {IDLE}
                settled idle returned
            """,
        ),
    ),
    "a prompt whose announcement is answered with a cancel is swept with the rest": (
        MADE,
        (
            """
                hold model c
                send c A
                send c B
                react agent/queued text=C do cancel this
            """,
            """
                agent/queued a#1 A
                settled A returned
                agent/queued a#1 B
                settled B returned
                agent/status a#1 running
                log a#1 0 turn/start turn=1 trigger=message
                log a#1 1 user/message A
                log a#1 2 step/start turn=1 step=1
            """,
        ),
        (
            "send c C",
            f"""
                agent/queued a#1 C
                agent/cancel-requested a#1 user
                signal a#1 turn=1 user
                settled r1.0 returned
                settled C returned
                {cut(3, "aborted")}
                {IDLE}
            """,
        ),
    ),
    "what is sent before and after a cancel from inside the announcement of one": (
        MADE,
        HELD,
        (
            """
                react agent/cancel-requested do send this X; cancel this parent; send this Y
                cancel c
            """,
            f"""
                agent/cancel-requested a#1 user
                agent/queued a#1 X
                settled r1.0 returned
                agent/cancel-requested a#1 parent
                signal a#1 turn=1 parent
                settled r1.1 returned
                agent/queued a#1 Y
                settled r1.2 returned
                settled cancel returned
                {cut(3, "aborted")}
                {IDLE}
            """,
        ),
    ),
    "a creation that is ended in its setup, and everybody else who ends it": (
        (
            """
                create c a setup cleanup
                hold setup c
                hold cleanup c
            """,
            "",
        ),
        (
            "withdraw c",
            """
                settled withdraw returned
                scope/cleanup c
            """,
        ),
        (
            """
                unload host
                create k a by=host
                abort c
                withdraw c
            """,
            """
                settled withdraw2 returned
                settled k raised owner-inactive
            """,
        ),
        (
            "open cleanup c",
            """
                settled c raised lifecycle-disposed
                settled unload returned
            """,
        ),
    ),
    "the first of two steered messages is answered with a cancel": (
        MADE,
        HELD,
        (
            """
                steer c S1
                steer c S2
                react log record=user/message text=S1 do cancel this
                release model c text
            """,
            f"""
                agent/queued a#1 S1 steering
                settled S1 returned
                agent/queued a#1 S2 steering
                settled S2 returned
                log a#1 3 assistant/message c:1
                log a#1 4 user/message S1
                agent/cancel-requested a#1 user
                settled r1.0 returned
                {cut(5, "aborted")}
                {IDLE}
            """,
        ),
    ),
    "the end of a turn is answered with a cancel and a replacement": (
        MADE,
        (
            """
                react log record=turn/end do cancel this parent; send this C
                send c A
                send c B
                idle c
            """,
            f"""
                agent/queued a#1 A
                settled A returned
                agent/queued a#1 B
                settled B returned
                agent/status a#1 running
                log a#1 0 turn/start turn=1 trigger=message
                log a#1 1 user/message A
                log a#1 2 step/start turn=1 step=1
                log a#1 3 assistant/message c:1
                log a#1 4 step/end turn=1 step=1
                log a#1 5 turn/end turn=1 completed
                agent/cancel-requested a#1 parent
                settled r1.0 returned
                agent/queued a#1 C
                settled r1.1 returned
                session/flush a#1 upto=6
                {whole(2, 6, "C", "c:2")}
                {IDLE}
                settled idle returned
            """,
        ),
    ),
    "an id that was vetoed is used again, while the cleanup of the veto is held": (
        (
            """
                hold cleanup c
                react agent/created do throw v
                create c a cleanup
            """,
            f"""
                session/created a#1
                agent/created a#1
                {GONE}
                scope/cleanup c
            """,
        ),
        (
            "create k a",
            """
                session/created a#2
                agent/created a#2
                agent/session-start a#2 startup
                settled k returned a#2
            """,
        ),
        (
            "unload host",
            """
                agent/status a#2 disposed
                agent/disposed a#2
                session/disposed a#2
            """,
        ),
        (
            "release cleanup c fail",
            """
                settled c raised thrown:v
                settled unload returned
            """,
        ),
    ),
    "a closing flush is answered with an injection and a cancel": (
        MADE,
        (
            """
                react session/flush do inject this X; cancel this
                hold flush c
                send c A
                send c B
            """,
            f"""
                agent/queued a#1 A
                settled A returned
                agent/queued a#1 B
                settled B returned
                agent/status a#1 running
                {whole(1, 0, "A")}
                log a#1 6 turn/start turn=2 trigger=injection
                log a#1 7 context/message X
                log a#1 8 turn/end turn=2 completed
                session/flush a#1 upto=9
                settled r1.0 returned
                agent/cancel-requested a#1 user
                settled r1.1 returned
            """,
        ),
        (
            "release flush c",
            IDLE,
        ),
        (
            "release flush c fail",
            "agent/error a#1 step=0 flush",
        ),
    ),
    "an injection into an injection, and an end inside of both": (
        MADE,
        (
            """
                react log record=context/message do inject this Y; cancel this
                react log text=Y do dispose this
                inject c X
            """,
            f"""
                log a#1 0 turn/start turn=1 trigger=injection
                log a#1 1 context/message X
                settled r1.0 returned
                settled r1.1 returned
                log a#1 2 context/message Y
                {DISPOSED}
                log a#1 3 turn/end turn=1 completed
                session/flush a#1 upto=4
                settled X returned
                {GONE}
                settled r2.0 returned
            """,
        ),
    ),
}


@pytest.mark.parametrize("name", RACES)
def test_a_race_goes_as_the_rules_have_it(name: str) -> None:
    check(*RACES[name])
