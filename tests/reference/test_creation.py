"""A creation publishes in one go, or leaves no trace."""

from __future__ import annotations

from collections.abc import Callable

import anyio
import pytest

from probate_reference import (
    Aborted,
    Agent,
    AgentScope,
    CreationSignal,
    Event,
    IdExists,
    LifecycleDisposed,
    OwnerDisposed,
    OwnerInactive,
    ProviderInactive,
    Refusal,
)
from tests.reference.kit import CREATED, DISPOSED, World

pytestmark = pytest.mark.anyio


class Veto(Exception):
    """What a listener or a setup raises."""


def cleanup(world: World, name: str = "a") -> Callable[[], object]:
    async def note() -> None:
        world.note(f"cleanup {name}")

    return note


def raiser(failure: BaseException) -> Callable[[Event], object]:
    def raise_it(event: Event) -> object:
        raise failure

    return raise_it


async def test_create_announces_and_returns_a_handle(world: World) -> None:
    async with world.runtime as runtime:
        creation = runtime.owner("o").create("a")
        assert world.take() == []
        handle = await creation
        assert world.take() == CREATED
        assert handle.agent.id == "a"
        assert handle.agent.session is runtime.sessions.get("a")
        assert await creation is handle


async def test_publication_is_a_later_step_also_without_setup(world: World) -> None:
    async with world.runtime as runtime:
        creation = runtime.owner("o").create("a")
        assert not creation.done
        assert "a" not in runtime.sessions
        await creation


async def test_setup_is_entered_in_a_later_step(world: World) -> None:
    async def setup(scope: AgentScope) -> None:
        world.note(f"setup {scope.id}")

    async with world.runtime as runtime:
        creation = runtime.owner("o").create("a", setup=setup)
        assert world.lines == []
        await creation
        assert world.lines == ["setup a", *CREATED]


async def test_both_registries_hold_the_pair_at_the_first_announcement(world: World) -> None:
    seen: list[object] = []

    def look(event: Event) -> None:
        agent = runtime.agents.get("a")
        assert agent is not None
        seen.append(agent.session is runtime.sessions.get("a"))

    runtime = world.runtime
    runtime.events.on(look, "session/created")
    async with runtime:
        await runtime.owner("o").create("a")
    assert seen == [True]


@pytest.mark.parametrize(
    ("event", "rest"),
    [
        ("session/created a", ["session/created a", "session/disposed a"]),
        (
            "agent/created a",
            ["session/created a", "agent/created a", "agent/disposed a", "session/disposed a"],
        ),
    ],
)
async def test_a_raising_listener_vetoes(world: World, event: str, rest: list[str]) -> None:
    veto = Veto()
    world.when(event, raiser(veto))
    world.when(event, lambda event: world.note("later listener"))
    async with world.runtime as runtime:
        with pytest.raises(Veto) as caught:
            await runtime.owner("o").create("a", cleanups=(cleanup(world),))  # type: ignore[arg-type]
        assert caught.value is veto
        assert world.take() == [*rest, "cleanup a"]
        assert len(runtime.agents) == len(runtime.sessions) == 0
        await runtime.owner("o").create("a")


async def test_a_listener_of_session_start_cannot_veto(world: World) -> None:
    world.when("agent/session-start a startup", raiser(Veto()))
    async with world.runtime as runtime:
        await runtime.owner("o").create("a")
    assert [place for place, _ in world.reports] == ["listener agent/session-start"]


async def test_an_asynchronous_rejection_never_vetoes(world: World) -> None:
    rejected = anyio.Event()

    async def reject() -> None:
        rejected.set()
        raise Veto

    world.when("session/created a", lambda event: reject())
    async with world.runtime as runtime:
        await runtime.owner("o").create("a")
        await rejected.wait()
    assert [place for place, _ in world.reports] == ["listener session/created"]


async def test_a_failing_setup_is_raised_as_it_is_after_the_rollback(world: World) -> None:
    failure = Veto()

    async def setup(scope: AgentScope) -> None:
        scope.on_cleanup(cleanup(world))  # type: ignore[arg-type]
        raise failure

    async with world.runtime as runtime:
        with pytest.raises(Veto) as caught:
            await runtime.owner("o").create("a", setup=setup)
        assert caught.value is failure
        assert world.lines == ["cleanup a"]


async def test_the_signal_aborts_a_pending_setup(world: World) -> None:
    signal = CreationSignal()
    async with world.runtime as runtime:
        creation = runtime.owner("o").create("a", setup=sleep_forever, signal=signal)
        signal.abort()
        with pytest.raises(Aborted):
            await creation
        assert world.lines == []
        await runtime.owner("o").create("a")


async def sleep_forever(scope: AgentScope) -> None:
    await anyio.sleep_forever()


async def test_the_signal_has_no_power_over_a_live_agent(world: World) -> None:
    signal = CreationSignal()
    async with world.runtime as runtime:
        await runtime.owner("o").create("a", signal=signal)
        signal.abort()
        assert "a" in runtime.agents


async def test_a_signal_aborted_in_the_publication_ends_it(world: World) -> None:
    signal = CreationSignal()
    world.when("session/created a", lambda event: signal.abort())
    world.when("session/created a", lambda event: world.note(f"still {'a' in world.runtime.agents}"))
    async with world.runtime as runtime:
        with pytest.raises(Aborted):
            await runtime.owner("o").create("a", signal=signal)
        assert world.lines == ["session/created a", "still True", "session/disposed a"]


async def test_of_two_creations_with_one_id_one_wins(world: World) -> None:
    async with world.runtime as runtime:
        owner = runtime.owner("o")
        first = owner.create("a", cleanups=(cleanup(world, "1"),))  # type: ignore[arg-type]
        second = owner.create("a", cleanups=(cleanup(world, "2"),))  # type: ignore[arg-type]
        outcomes: list[Agent | None] = []
        for creation in (first, second):
            try:
                outcomes.append((await creation).agent)
            except IdExists:
                outcomes.append(None)
        assert outcomes.count(None) == 1
        loser = "1" if outcomes[0] is None else "2"
        assert world.lines == [*CREATED, f"cleanup {loser}"] or world.lines == [f"cleanup {loser}", *CREATED]
        assert runtime.agents.get("a") in outcomes


async def test_refusals_at_the_begin_come_in_order_and_only_when_awaited(world: World) -> None:
    signal = CreationSignal()
    signal.abort()
    async with world.runtime as runtime:
        owner = runtime.owner("o")
        await owner.create("a")
        await owner.unload()
        await runtime.provider.unload()

        async def refusal() -> type[Exception]:
            with pytest.raises(Refusal) as caught:
                await owner.create("b", signal=signal)
            return type(caught.value)

        assert await refusal() is OwnerInactive
        owner.load()
        assert await refusal() is ProviderInactive
        runtime.provider.load()
        assert await refusal() is Aborted
        await owner.create("b")
        with pytest.raises(IdExists):
            await owner.create("b")


async def test_withdraw_calls_a_pending_creation_off(world: World) -> None:
    async with world.runtime as runtime:
        creation = runtime.owner("o").create("a", setup=sleep_forever, cleanups=(cleanup(world),))  # type: ignore[arg-type]
        await creation.withdraw()
        assert creation.done
        with pytest.raises(LifecycleDisposed):
            await creation
        assert world.lines == ["cleanup a"]


async def test_withdraw_disposes_a_live_agent(world: World) -> None:
    async with world.runtime as runtime:
        creation = runtime.owner("o").create("a")
        handle = await creation
        assert creation.withdraw() is handle.dispose()
        await creation.withdraw()
        assert world.lines == [*CREATED, *DISPOSED]


async def test_a_creation_knows_its_agent_from_the_begin(world: World) -> None:
    async with world.runtime as runtime:
        creation = runtime.owner("o").create("a")
        agent = creation.agent
        assert (await creation).agent is agent
        assert runtime.owner("o").create("a").agent is None


async def test_withdrawing_a_refused_creation_does_nothing(world: World) -> None:
    async with world.runtime as runtime:
        await runtime.owner("o").create("a")
        creation = runtime.owner("o").create("a")
        await creation.withdraw()
        assert "a" in runtime.agents


async def test_withdraw_within_the_publication_waits_for_it_to_unwind(world: World) -> None:
    world.when("session/created a", lambda event: creation.withdraw())
    world.when("session/created a", lambda event: world.note(f"still {'a' in world.runtime.agents}"))
    async with world.runtime as runtime:
        creation = runtime.owner("o").create("a")
        with pytest.raises(LifecycleDisposed):
            await creation
        assert world.lines == ["session/created a", "still True", "session/disposed a"]


async def test_withdraw_in_session_start_shows_only_the_disposed_status(world: World) -> None:
    world.when("agent/session-start a startup", lambda event: creation.withdraw())
    async with world.runtime as runtime:
        creation = runtime.owner("o").create("a")
        with pytest.raises(LifecycleDisposed):
            await creation
        assert world.lines == [*CREATED, *DISPOSED]


async def test_the_first_cause_wins_over_a_later_veto(world: World) -> None:
    def withdraw_and_raise(event: Event) -> None:
        _ = runtime.owner("o").unload()
        raise Veto

    runtime = world.runtime
    world.when("session/created a", withdraw_and_raise)
    async with runtime:
        with pytest.raises(OwnerDisposed):
            await runtime.owner("o").create("a")
    assert [place for place, _ in world.reports] == ["publication"]


async def test_an_owner_unloaded_after_the_setup_ended_prevents_the_publication(world: World) -> None:
    ended = anyio.Event()

    async def setup(scope: AgentScope) -> None:
        _ = world.runtime.owner("o").unload()
        with anyio.CancelScope(shield=True):
            ended.set()
            await anyio.lowlevel.checkpoint()

    async with world.runtime as runtime:
        with pytest.raises(OwnerDisposed):
            await runtime.owner("o").create("a", setup=setup)
        assert ended.is_set()
        assert world.lines == []


async def test_a_prompt_sent_by_a_creation_listener_runs(world: World) -> None:
    world.when("session/created a", lambda event: event.agent.send("early"))
    async with world.runtime as runtime:
        handle = await runtime.owner("o").create("a")
        await handle.agent.idle()
    assert "a: user/message early" in world.lines


async def test_a_repeated_await_raises_the_same_failure(world: World) -> None:
    async with world.runtime as runtime:
        creation = runtime.owner("o").create("a", setup=sleep_forever)
        _ = creation.withdraw()
        caught = []
        for _attempt in range(2):
            try:
                await creation
            except LifecycleDisposed as failure:
                caught.append(failure)
        assert caught[0] is caught[1]
