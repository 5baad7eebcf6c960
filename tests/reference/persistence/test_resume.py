"""An agent goes on where its log ends."""

from __future__ import annotations

from collections.abc import Callable

import anyio
import pytest

from probate_reference import (
    Aborted,
    AgentScope,
    CreationSignal,
    IdExists,
    LogExists,
    ModelRequest,
    NoPersistence,
    NotFound,
    OwnerDisposed,
    OwnerInactive,
    Persistence,
    ProviderInactive,
    Record,
    Reply,
    Report,
    Runtime,
    SessionLive,
    Signal,
    Store,
    log_report,
)
from tests.reference.kit import line, turn

pytestmark = pytest.mark.anyio


async def answer(request: ModelRequest, signal: Signal) -> Reply:
    return Reply("answer")


@pytest.fixture
def start(make: Callable[[], Store]) -> Callable[[], Runtime]:
    """Give a maker of runtimes that share a home, one after the other."""

    def maker(report: Report = log_report) -> Runtime:
        return Runtime(answer, persistence=Persistence(make()), report=report)

    return maker


async def said(runtime: Runtime, id: str, text: str, *, owner: str = "o", resume: bool = False) -> tuple[Record, ...]:
    """Let an agent say something and return its records."""
    begin = runtime.owner(owner).resume if resume else runtime.owner(owner).create
    handle = await begin(id)
    handle.agent.send(text)
    await handle.agent.idle()
    return handle.agent.session.records


async def test_resume_goes_on_with_seqs_and_turns(start: Callable[[], Runtime]) -> None:
    async with start() as runtime:
        before = await said(runtime, "a", "one")
    async with start() as runtime:
        lines: list[str] = []
        runtime.events.on(lambda event: lines.append(line(event)))
        seqs: list[int] = []
        runtime.events.on(lambda event: seqs.append(event.seq), "log")  # type: ignore[union-attr]
        handle = await runtime.owner("o").resume("a")
        assert lines == ["session/created a", "agent/created a", "agent/session-start a resume"]
        assert handle.agent.session.records == before
        lines.clear()
        handle.agent.send("two")
        await handle.agent.idle()
        assert [text for text in lines if text.startswith("a:")] == turn(2, "two")
        assert seqs == list(range(6, 12))
        after = handle.agent.session.records
    async with start() as runtime:
        assert runtime.persistence is not None
        assert (await runtime.persistence.read("a")).records == after
        assert after[:6] == before


async def test_metadata_comes_back(start: Callable[[], Runtime]) -> None:
    given = {"cwd": "/here"}
    async with start() as runtime:
        creation = runtime.owner("o").create("a", metadata=given)
        given["cwd"] = "changed"
        (await creation).agent.inject("x")
    async with start() as runtime:
        assert runtime.persistence is not None
        (stored,) = await runtime.persistence.list()
        assert (stored.id, stored.metadata) == ("a", {"cwd": "/here"})
        assert (await runtime.owner("o").resume("a")).agent.session.metadata == {"cwd": "/here"}


async def test_an_agent_that_logged_nothing_leaves_nothing(start: Callable[[], Runtime]) -> None:
    async with start() as runtime:
        await runtime.owner("o").create("a")
    async with start() as runtime:
        assert runtime.persistence is not None
        assert await runtime.persistence.list() == ()
        with pytest.raises(NotFound):
            await runtime.owner("o").resume("a")
        await said(runtime, "a", "one")
    async with start() as runtime:
        await runtime.owner("o").resume("a")


async def test_resume_refuses_as_create_does(start: Callable[[], Runtime]) -> None:
    async with Runtime(answer) as runtime:
        with pytest.raises(NoPersistence, match="give it a home"):
            await runtime.owner("o").resume("a")
    async with start() as runtime:
        await said(runtime, "a", "one")
        with pytest.raises(IdExists):
            await runtime.owner("o").resume("a")
        signal = CreationSignal()
        signal.abort()
        with pytest.raises(Aborted):
            await runtime.owner("o").resume("b", signal=signal)
        await runtime.owner("o").unload()
        with pytest.raises(OwnerInactive):
            await runtime.owner("o").resume("a")
        await runtime.provider.unload()
        with pytest.raises(ProviderInactive):
            await runtime.owner("p").resume("a")


async def test_of_two_resumes_one_wins(start: Callable[[], Runtime]) -> None:
    async with start() as runtime:
        await said(runtime, "a", "one")
    async with start() as runtime:
        first, second = runtime.owner("o").resume("a"), runtime.owner("o").resume("a")
        outcomes: list[str] = []
        for creation in (first, second):
            try:
                await creation
            except IdExists:
                outcomes.append("refused")
            else:
                outcomes.append("won")
        assert sorted(outcomes) == ["refused", "won"]
        assert len(runtime.agents) == 1


async def test_resume_loses_to_a_create_that_published_first(start: Callable[[], Runtime]) -> None:
    async with start() as runtime:
        await said(runtime, "a", "one")
    async with start() as runtime:

        async def setup(scope: AgentScope) -> None:
            await runtime.owner("o").create("a")

        with pytest.raises(IdExists):
            await runtime.owner("o").resume("a", setup=setup)
        assert len(runtime.sessions) == 1


async def test_a_fresh_agent_under_a_stored_id_lives_and_is_not_kept(start: Callable[..., Runtime]) -> None:
    reports: list[str] = []
    async with start() as runtime:
        before = await said(runtime, "a", "one")
    async with start(report=lambda place, failure: reports.append(f"{place}: {failure!r}")) as runtime:
        errors: list[str] = []
        failures: list[BaseException] = []

        def note(event: object) -> None:
            errors.append(line(event))  # type: ignore[arg-type]
            failures.append(event.error)  # type: ignore[attr-defined]

        runtime.events.on(note, "agent/error")
        handle = await runtime.owner("o").create("a")
        assert errors == []
        for text in ("one", "two"):
            handle.agent.send(text)
            await handle.agent.idle()
        assert errors == ["agent/error a 0 flush"] * 2
        assert all(isinstance(failure, LogExists) for failure in failures)
        await handle.dispose()
    assert reports == []
    async with start() as runtime:
        assert runtime.persistence is not None
        assert (await runtime.persistence.read("a")).records == before


async def test_an_unload_calls_a_load_off(start: Callable[[], Runtime]) -> None:
    async with start() as runtime:
        await said(runtime, "a", "one")
    runtime = start()
    assert runtime.persistence is not None
    loading = anyio.Event()

    async def never(agent: object) -> None:
        loading.set()
        await anyio.sleep_forever()

    runtime.persistence.load = never  # type: ignore[method-assign, assignment]
    async with runtime:
        creation = runtime.owner("o").resume("a")
        await loading.wait()
        await runtime.owner("o").unload()
        with pytest.raises(OwnerDisposed):
            await creation
        await runtime.owner("p").create("a")


async def test_a_live_session_is_not_deleted(start: Callable[[], Runtime]) -> None:
    async with start() as runtime:
        persistence = runtime.persistence
        assert persistence is not None
        await said(runtime, "a", "one")
        with pytest.raises(SessionLive):
            await persistence.delete("a")
        await runtime.owner("o").unload()
        await persistence.delete("a")
        with pytest.raises(NotFound):
            await persistence.delete("a")
        assert await persistence.list() == ()


async def test_a_child_is_resumed_on_behalf_of_its_parent(start: Callable[[], Runtime]) -> None:
    async with start() as runtime:
        await said(runtime, "child", "one")
    async with start() as runtime:
        parent = await runtime.owner("o").create("parent")
        child = await parent.agent.resume("child")
        assert runtime.agents.is_owned_by("child", parent.agent)
        assert len(child.agent.session) == 6
        await parent.dispose()
        assert len(runtime.agents) == 0


async def test_a_stale_resume_writes_nothing(start: Callable[[], Runtime]) -> None:
    async with start() as runtime:
        await said(runtime, "a", "one")
    async with start() as runtime:
        loaded, held = anyio.Event(), anyio.Event()

        async def wait(scope: AgentScope) -> None:
            loaded.set()
            await held.wait()

        stale = runtime.owner("o").resume("a", setup=wait)
        await loaded.wait()
        fresh = await said(runtime, "a", "two", owner="p", resume=True)
        await runtime.owner("p").unload()
        held.set()
        failures: list[str] = []
        runtime.events.on(lambda event: failures.append(line(event)), "agent/error")
        handle = await stale
        handle.agent.send("three")
        await handle.agent.idle()
        assert failures == ["agent/error a 0 flush"]
    async with start() as runtime:
        assert runtime.persistence is not None
        assert (await runtime.persistence.read("a")).records == fresh
