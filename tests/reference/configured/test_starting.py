"""Configured agents: which id each gets, whom it waits for, what is told of those that fail, and when they end."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import anyio
import pytest

from probate_reference import (
    FiberState,
    IdExists,
    JsonlStore,
    LogDamaged,
    NoPersistence,
    NotFound,
    StorageError,
    TurnEnd,
    TurnReason,
    TurnStart,
)
from probate_reference.configured import AgentEntry, ConfiguredAgents, StartFailed, check_entries
from probate_reference.tables import ConfigError
from tests.reference.configured.kit import Stage, say

pytestmark = pytest.mark.anyio

Fresh = Callable[[], Stage]

EXACT = AgentEntry("notes", session="s1")
RESUMED = AgentEntry("old", resume="s1")
OTHER = AgentEntry("helper")


def turns(stage: Stage, id: str) -> list[int]:
    agent = stage.runtime.agents.get(id)
    assert agent is not None
    return [record.turn for record in agent.session if isinstance(record, TurnStart)]


async def kept(fresh: Fresh, entry: AgentEntry = EXACT) -> None:
    """Keep a session with one turn."""
    stage = fresh()
    async with stage.runtime:
        agents, _ = await stage.started(entry)
        await say(agents.agent(entry.label), "one")


# Which id


async def test_a_label_gets_a_new_session_at_every_start(stage: Stage) -> None:
    async with stage.runtime as runtime:
        agents, fiber = await stage.started(OTHER)
        await fiber.restart()
        await agents.settled()
        assert stage.starts == ["helper-session-1 startup", "helper-session-2 startup"]
        assert agents.agent("helper") is runtime.agents.get("helper-session-2")
        assert agents.agent("nobody") is None


async def test_the_new_part_is_a_uuid(stage: Stage) -> None:
    async with stage.runtime as runtime:
        agents = ConfiguredAgents([OTHER, OTHER])
        await runtime.fibers.root.plug(agents.apply).rest()
        await agents.settled()
        ids = [agent.id.removeprefix("helper-session-") for agent in runtime.agents.list()]
    assert len({uuid.UUID(one) for one in ids}) == 2


async def test_two_runs_of_a_label_never_collide(fresh: Fresh) -> None:
    await kept(fresh, OTHER)
    stage = fresh()
    next(stage.numbers)
    async with stage.runtime:
        agents, _ = await stage.started(OTHER)
        await say(agents.agent("helper"), "two")
        assert stage.persistence is not None
        assert [stored.id for stored in await stage.persistence.list()] == ["helper-session-1", "helper-session-2"]
    assert stage.reports == []


async def test_an_exact_id_is_created_and_then_resumed(fresh: Fresh) -> None:
    for source, numbers in (("startup", [1]), ("resume", [1, 2])):
        stage = fresh()
        async with stage.runtime:
            agents, _ = await stage.started(EXACT)
            assert stage.starts == [f"s1 {source}"]
            await say(agents.agent("notes"), "hello")
            assert turns(stage, "s1") == numbers
        assert stage.reports == []


async def test_what_is_to_be_remembered_is_remembered_when_it_is_created(fresh: Fresh) -> None:
    await kept(fresh, AgentEntry("notes", "s1", metadata={"cwd": "/one"}))
    stage = fresh()
    async with stage.runtime:
        agents, _ = await stage.started(AgentEntry("notes", "s1", metadata={"cwd": "/two"}))
        agent = agents.agent("notes")
        assert agent is not None
        assert agent.session.metadata == {"cwd": "/one"}


async def test_g2_a_resumed_session_goes_on(fresh: Fresh) -> None:
    await kept(fresh)
    stage = fresh()
    async with stage.runtime:
        agents, _ = await stage.started(RESUMED)
        await say(agents.agent("old"), "two")
        assert stage.starts == ["s1 resume"]
        assert turns(stage, "s1") == [1, 2]


async def test_g3_a_resume_of_nothing_is_told_and_the_others_start(stage: Stage) -> None:
    async with stage.runtime:
        agents, fiber = await stage.started(RESUMED, OTHER)
        assert fiber.state is FiberState.ACTIVE
        assert stage.starts == ["helper-session-1 startup"]
        assert agents.agent("old") is None
    assert stage.codes() == ["s1 NotFound"]
    assert [place for place, _ in stage.reports] == ["config-start-failed old"]


async def test_without_a_persistence_there_is_nothing_to_resume() -> None:
    stage = Stage(None)
    async with stage.runtime:
        await stage.started(AgentEntry("old", resume="s2"), EXACT)
        assert stage.starts == ["s1 startup"]
    assert [type(failed.error) for failed in stage.failures] == [NoPersistence]


@pytest.mark.parametrize(
    ("entries", "says"),
    [
        ([EXACT, EXACT], "'notes' and 'notes' have the same exact identity 's1'"),
        ([EXACT, RESUMED], "'notes' and 'old' have the same exact identity 's1'"),
        ([AgentEntry("a", "s1", "s2")], "mutually exclusive"),
        ([AgentEntry("a", "")], "empty session"),
        ([AgentEntry("")], "no label"),
    ],
)
async def test_g8_what_cannot_be_meant_together_is_refused_before_anything_starts(
    entries: list[AgentEntry], says: str
) -> None:
    with pytest.raises(ConfigError, match=says):
        ConfiguredAgents([OTHER, *entries])


async def test_an_empty_resume_is_none() -> None:
    check_entries([AgentEntry("a", "s1", ""), AgentEntry("b", None, ""), AgentEntry("c", None, "")])
    assert AgentEntry("b", None, "").identity is None


# Reload


async def test_g4_a_reloaded_loop_resumes(stage: Stage) -> None:
    async with stage.runtime:
        agents, fiber = await stage.started(EXACT)
        await say(agents.agent("notes"), "one")
        await fiber.restart()
        await agents.settled()
        await say(agents.agent("notes"), "two")
        assert stage.starts == ["s1 startup", "s1 resume"]
        assert turns(stage, "s1") == [1, 2]
    assert stage.reports == []


@pytest.mark.parametrize("entry", [EXACT, RESUMED], ids=["session", "resume"])
@pytest.mark.parametrize("nested", [False, True], ids=["itself", "by its parent"])
async def test_a_reload_waits_until_the_old_agent_is_gone(stage: Stage, entry: AgentEntry, nested: bool) -> None:
    async with stage.runtime as runtime:
        parent = runtime.fibers.root.plug(lambda _: None)
        await parent.rest()
        first, fiber = stage.plug(EXACT, parent=parent if nested else None)
        await fiber.rest()
        await first.settled()
        await say(first.agent("notes"), "one")
        stage.model.hold()
        old = first.agent("notes")
        assert old is not None
        old.send("two")
        arrival = await stage.model.arrival()
        stage.model.held = False
        # As a reload does it: the new one is plugged in at the very moment when the end of the old one begins.
        _ = (parent if nested else fiber).dispose()
        second, _ = stage.plug(entry)
        await anyio.wait_all_tasks_blocked()
        assert stage.starts == ["s1 startup"]
        assert not second.settled().done
        arrival.release()
        await second.settled()
        new = second.agent(entry.label)
        assert new is not None
        assert new is not old
        assert new.session.records == old.session.records
        assert new.session.records[-1] == TurnEnd(2, TurnReason.DISPOSED)
        assert stage.starts == ["s1 startup", "s1 resume"]
    assert stage.reports == []


async def test_g6_a_loop_that_waits_and_is_disposed_stops_waiting(stage: Stage) -> None:
    async with stage.runtime, stage.draining(EXACT) as old:
        agents, waiting = stage.plug(EXACT)
        await anyio.wait_all_tasks_blocked()
        await waiting.dispose()
        assert old.state is FiberState.UNLOADING
        assert agents.settled().done
        assert agents.agent("notes") is None
    assert (stage.starts, stage.failures, stage.reports) == ([], [], [])


async def test_a_runtime_that_is_left_does_not_wait_either(stage: Stage) -> None:
    async with stage.runtime, stage.draining(EXACT):
        _, waiting = stage.plug(EXACT)
        await waiting.rest()
        await anyio.wait_all_tasks_blocked()
    assert (stage.starts, stage.failures, stage.reports) == ([], [], [])


async def test_a_holder_that_stays_is_a_conflict(fresh: Fresh) -> None:
    await kept(fresh)
    stage = fresh()
    async with stage.runtime as runtime:
        handle = await runtime.owner("o").resume("s1")
        await stage.started(EXACT, OTHER)
        assert [type(failed.error) for failed in stage.failures] == [IdExists]
        assert runtime.agents.get("s1") is handle.agent
        assert stage.starts[1:] == ["helper-session-1 startup"]


async def test_a_handle_that_ends_the_holder_is_waited_for(fresh: Fresh) -> None:
    """Not only loops hold ids: whoever disposes the holder makes way."""
    stage = fresh()
    async with stage.runtime as runtime:
        handle = await runtime.owner("o").create("s1")
        stage.model.hold()
        handle.agent.send("one")
        arrival = await stage.model.arrival()
        _ = handle.dispose()
        agents, fiber = stage.plug(EXACT)
        await fiber.rest()
        arrival.release()
        await agents.settled()
        assert turns(stage, "s1") == [1]
        assert stage.reports == []


async def test_g12_what_never_said_anything_is_created_anew(stage: Stage) -> None:
    async with stage.runtime:
        agents, fiber = await stage.started(EXACT)
        await fiber.restart()
        await agents.settled()
        assert stage.starts == ["s1 startup", "s1 startup"]
    assert (stage.failures, stage.reports) == ([], [])


# Failures


class Unspeakable(Exception):
    """A failure that cannot be put into words."""

    def __str__(self) -> NoReturn:
        raise ValueError("no words")

    __repr__ = __str__


@pytest.mark.parametrize("failure", [StorageError("no"), OSError("no"), Unspeakable()])
async def test_g7_a_lookup_that_fails_is_told_and_the_others_start(stage: Stage, failure: Exception) -> None:
    stage.store.plan.append(failure)
    async with stage.runtime:
        await stage.started(EXACT, OTHER)
        assert stage.starts == ["helper-session-1 startup"]
    assert [(failed.entry, failed.id, failed.error) for failed in stage.failures] == [(EXACT, "s1", failure)]
    assert stage.reports == [("config-start-failed notes", failure)]


async def test_a_store_that_cannot_say_whether_there_is_a_log_proves_nothing(stage: Stage) -> None:
    failure = StorageError("no")
    stage.store.plan.extend([None, failure])
    async with stage.runtime:
        await stage.started(EXACT)
    assert [failed.error for failed in stage.failures] == [failure]
    assert stage.starts == []


async def test_a_not_found_that_is_not_about_this_log_proves_nothing(fresh: Fresh) -> None:
    """Somebody else's ``NotFound`` must not cost anybody the log that there is."""
    await kept(fresh)
    stage = fresh()
    stage.store.plan.append(NotFound("the volume"))
    async with stage.runtime:
        await stage.started(EXACT)
    assert stage.codes() == ["s1 NotFound"]
    assert stage.starts == []


async def test_damage_is_never_taken_for_absence(tmp_path: Path) -> None:
    """A log whose header cannot be read is in no listing."""
    await kept(lambda: Stage(JsonlStore(tmp_path / "home")))
    (log,) = (tmp_path / "home").rglob("*s1*")
    damaged = b"{" + log.read_bytes()
    log.write_bytes(damaged)
    stage = Stage(JsonlStore(tmp_path / "home"))
    async with stage.runtime:
        assert stage.persistence is not None
        assert await stage.persistence.list() == ()
        await stage.started(EXACT)
        assert stage.starts == []
    assert [type(failed.error) for failed in stage.failures] == [LogDamaged]
    assert log.read_bytes() == damaged


async def test_g10_neither_a_failure_without_words_nor_a_listener_that_fails_does_harm(stage: Stage) -> None:
    second = Unspeakable()
    told: list[StartFailed] = []

    def listener(failed: StartFailed) -> NoReturn:
        told.append(failed)
        raise second

    first = Unspeakable()
    stage.store.plan.append(first)
    async with stage.runtime:
        agents, fiber = stage.plug(EXACT, OTHER, failed=listener)
        await fiber.rest()
        await agents.settled()
        assert stage.starts == ["helper-session-1 startup"]
    assert [failed.error for failed in told] == [first]
    assert stage.reports == [("config-start-failed notes", first), ("listener config-start-failed", second)]


@pytest.mark.parametrize("outcome", [None, StorageError("no")], ids=["succeeds", "fails"])
@pytest.mark.parametrize("how", ["fiber", "provider", "runtime"])
async def test_g11_disposed_before_the_resume_settles(fresh: Fresh, outcome: Exception | None, how: str) -> None:
    await kept(fresh)
    stage = fresh()
    stage.store.hold()
    async with stage.runtime as runtime:
        agents, fiber = stage.plug(RESUMED)
        await fiber.rest()
        arrival = await stage.store.arrival()
        if how == "fiber":
            _ = fiber.dispose()
        elif how == "provider":
            _ = runtime.provider.unload()
        if how != "runtime":
            arrival.release(outcome)
            await agents.settled()
            assert len(runtime.agents) == 0
    assert (stage.starts, stage.failures, stage.reports) == ([], [], [])


async def test_a_provider_that_was_never_there_is_told(stage: Stage) -> None:
    async with stage.runtime as runtime:
        await runtime.provider.unload()
        await stage.started(OTHER)
    assert stage.codes() == ["helper-session-1 ProviderInactive"]


# The end


async def test_d21_they_die_with_the_fiber_and_with_nothing_else(stage: Stage) -> None:
    async with stage.runtime as runtime:
        handle = await runtime.owner("o").create("mine")
        agents, fiber = await stage.started(EXACT, OTHER)
        started = {agents.agent("notes"), agents.agent("helper")}
        assert set(runtime.agents.roots()) == {handle.agent, *started}
        await fiber.dispose()
        assert runtime.agents.list() == (handle.agent,)
        assert runtime.sessions.get("s1") is None
        assert runtime.statistics().lifecycles == 1


async def test_before_it_is_loaded_there_is_nothing_to_wait_for() -> None:
    with pytest.raises(RuntimeError, match="not loaded"):
        _ = ConfiguredAgents([OTHER]).settled()
    assert ConfiguredAgents([OTHER]).agent("helper") is None


async def test_a_pending_start_holds_no_unload(stage: Stage) -> None:
    """The store may take its time; whoever unloads the loop does not wait for it to answer."""
    stage.store.hold()
    async with stage.runtime:
        _, fiber = stage.plug(EXACT, AgentEntry("b", session="s2"))
        for _ in range(2):
            await stage.store.arrival()
        await fiber.dispose()
    assert (stage.starts, stage.failures, stage.reports) == ([], [], [])
