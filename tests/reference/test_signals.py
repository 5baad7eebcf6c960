"""A turn's signal is heard synchronously, once, with its first cause."""

from __future__ import annotations

import anyio
import pytest

from probate_reference import AbortCause, CreationSignal, Signal

pytestmark = pytest.mark.anyio

Reports = list[tuple[str, BaseException]]


@pytest.fixture
def reports() -> Reports:
    return []


@pytest.fixture
def signal(reports: Reports) -> Signal:
    return Signal(lambda place, failure: reports.append((place, failure)))


def test_the_first_cause_stays(signal: Signal) -> None:
    heard: list[AbortCause] = []
    signal.subscribe(heard.append)
    assert signal.cause is None
    signal._fire(AbortCause.PARENT)
    signal._fire(AbortCause.USER)
    assert heard == [AbortCause.PARENT]
    assert signal.cause is AbortCause.PARENT


def test_a_subscription_can_be_taken_back(signal: Signal) -> None:
    heard: list[AbortCause] = []
    unsubscribe = signal.subscribe(heard.append)
    unsubscribe()
    unsubscribe()
    signal._fire(AbortCause.USER)
    assert heard == []


def test_a_callback_can_take_the_next_one_back(signal: Signal) -> None:
    heard: list[AbortCause] = []
    signal.subscribe(lambda cause: unsubscribe())
    unsubscribe = signal.subscribe(heard.append)
    signal._fire(AbortCause.USER)
    assert heard == []


def test_who_subscribes_late_hears_it_at_once(signal: Signal) -> None:
    heard: list[AbortCause] = []
    signal._fire(AbortCause.USER)
    signal.subscribe(heard.append)()
    assert heard == [AbortCause.USER]


def test_a_failing_callback_harms_nobody(signal: Signal, reports: Reports) -> None:
    def fail(cause: AbortCause) -> None:
        raise ValueError

    heard: list[AbortCause] = []
    signal.subscribe(fail)
    signal.subscribe(heard.append)
    signal._fire(AbortCause.DISPOSED)
    assert heard == [AbortCause.DISPOSED]
    assert [place for place, _ in reports] == ["signal"]


async def test_a_scope_is_cancelled_when_it_fires(signal: Signal) -> None:
    with signal.scope() as scope:
        signal._fire(AbortCause.USER)
        await anyio.sleep_forever()
    assert scope.cancelled_caught


async def test_a_scope_of_a_fired_signal_is_cancelled_at_once(signal: Signal) -> None:
    signal._fire(AbortCause.USER)
    with signal.scope() as scope:
        await anyio.sleep_forever()
    assert scope.cancelled_caught


async def test_a_scope_that_was_left_is_not_touched(signal: Signal) -> None:
    with signal.scope() as scope:
        pass
    signal._fire(AbortCause.USER)
    assert not scope.cancel_called


def test_a_creation_signal_may_be_aborted_twice() -> None:
    signal = CreationSignal()
    assert not signal.aborted
    signal.abort()
    signal.abort()
    assert signal.aborted
