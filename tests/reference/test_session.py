"""A log is append-only, and the store holds exact entries."""

import pytest

from probate_reference import IdExists, Session, SessionStore, TurnEnd, TurnReason, TurnStart, TurnTrigger


def test_the_log_knows_its_open_turn() -> None:
    session = Session("a")
    assert session._commit(TurnStart(1, TurnTrigger.MESSAGE)) == 0
    assert session.statistics().open_turn == 1
    assert session._commit(TurnEnd(1, TurnReason.COMPLETED)) == 1
    statistics = session.statistics()
    assert (statistics.open_turn, statistics.turns, statistics.records) == (None, 1, 2)


def test_a_seed_is_part_of_the_log() -> None:
    seed = (TurnStart(4, TurnTrigger.MESSAGE), TurnEnd(4, TurnReason.COMPLETED))
    session = Session("a", seed=seed)
    assert session.records == seed == tuple(session)
    assert session[0] == seed[0]
    assert len(session) == session.statistics().records == 2
    assert session.statistics().turns == 4


def test_the_store_refuses_a_second_session_with_one_id() -> None:
    store = SessionStore()
    first, second = Session("a"), Session("a")
    store._enter(first)
    with pytest.raises(IdExists):
        store._enter(second)
    assert store.get("a") is first
    assert first.statistics().live
    assert not second.statistics().live


def test_a_stale_detach_takes_nothing() -> None:
    store = SessionStore()
    first, second = Session("a"), Session("a")
    store._enter(first)
    assert store._detach(first)
    store._enter(second)
    assert not store._detach(first)
    assert store.list() == (second,)
    assert "a" in store
    assert len(store) == store.statistics().sessions == 1


def test_an_empty_log_and_an_empty_store_are_true() -> None:
    assert Session("a")
    assert SessionStore()
    assert repr(Session("a")) == "<Session 'a' records=0>"
