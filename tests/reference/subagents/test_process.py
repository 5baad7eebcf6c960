"""A run in another process, where the process is the test's: the one line of work and all that breaks it."""

from __future__ import annotations

from typing import Any

import acp.schema as schema
import anyio
import pytest

from probate_reference import Runtime
from probate_reference.models import EchoModel
from probate_reference.subagents import (
    AcpProvider,
    Capability,
    Command,
    DuplicateProvider,
    NoProvider,
    Run,
    RunRequest,
    RunResult,
    RunStop,
    Subagents,
    UnsupportedCapability,
)
from probate_reference.subagents.runs import Start
from probate_reference.tasks import AbortSignal
from tests.reference.subagents.fake import FakeChild, faked, line

pytestmark = pytest.mark.anyio


async def reply(child: FakeChild, request: dict[str, Any], result: object) -> None:
    await child.far.say({"jsonrpc": "2.0", "id": request["id"], "result": result})


async def test_the_line_of_work() -> None:
    async with faked() as it:
        run, child = it.start()
        assert it.lines == ["subagent/start acp"]
        initialize = await child.answer("initialize", {"protocolVersion": 1})
        schema.InitializeRequest.model_validate(initialize["params"])
        assert initialize["params"]["clientCapabilities"] == {
            "fs": {"readTextFile": False, "writeTextFile": False},
            "terminal": False,
        }
        await child.chunk("too early")
        new = await child.answer("session/new", {"sessionId": "s"})
        schema.NewSessionRequest.model_validate(new["params"])
        assert new["params"] == {"cwd": "/work", "mcpServers": []}
        prompt = await child.hear("session/prompt")
        schema.PromptRequest.model_validate(prompt["params"])
        assert prompt["params"]["prompt"] == [{"type": "text", "text": "do it"}]
        await child.chunk("One ")
        await child.chunk("hm", kind="agent_thought_chunk")
        await child.chunk("picture", of="image")
        await child.chunk(7)
        await child.chunk("elsewhere", session="t")
        await child.chunk("two.")
        await reply(child, prompt, {"stopReason": "end_turn"})
        assert await run.result == RunResult(RunStop.COMPLETED, ("One two.",))
        await it.told("subagent/start acp", "subagent/end acp completed")
        await child.chunk("late")
        await run.dispose()
        assert run.dispose() is run.dispose()
        assert child.command == Command(("agent",), "/work", {}, run.id)


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("end_turn", "completed"),
        ("max_tokens", "max-tokens"),
        ("refusal", "refusal"),
        ("cancelled", "aborted"),
        ("max_turn_requests", "error"),
        ("surprise", "error"),
        (None, "error"),
        (["end_turn"], "error"),
    ],
)
async def test_stop_reasons(reason: object, stop: str) -> None:
    async with faked() as it:
        run, child, prompt = await it.prompted()
        await reply(child, prompt, {"stopReason": reason})
        result = await run.result
        assert result.stop == stop
        assert (result.failure is None) == (stop != "error")
        assert result.output == ()


async def test_a_cancel_in_the_middle_is_told_and_the_child_decides() -> None:
    """K2, and the child's own reason counts."""
    async with faked() as it:
        for reason, stop in (("cancelled", "aborted"), ("end_turn", "completed")):
            run, child, prompt = await it.prompted()
            await child.chunk("so far")
            run.cancel()
            run.cancel()
            cancel = await child.hear("session/cancel")
            schema.CancelNotification.model_validate(cancel["params"])
            assert not run.result.done
            await reply(child, prompt, {"stopReason": reason})
            assert await run.result == RunResult(RunStop(stop), ("so far",))


@pytest.mark.parametrize("before", ["initialize", "session/new"])
async def test_a_cancel_before_there_is_a_session_issues_no_prompt(before: str) -> None:
    """K4."""
    async with faked() as it:
        run, child = it.start()
        if before == "initialize":
            run.cancel()
        await child.answer("initialize", {"protocolVersion": 1})
        new = await child.hear("session/new")
        run.cancel()
        await reply(child, new, {"sessionId": "s"})
        assert await run.result == RunResult(RunStop.ABORTED)
        await run.dispose()
        assert await child.far.hear_all() == []


async def test_a_run_whose_signal_has_fired_is_spawned_and_not_driven() -> None:
    """K3."""
    async with faked() as it:
        signal = AbortSignal()
        signal.abort()
        run, child = it.start(RunRequest("do it", signal=signal))
        assert await run.result == RunResult(RunStop.ABORTED)
        await run.dispose()
        assert await child.far.hear_all() == []
        assert child.steps[-1] == "clear"


async def test_a_signal_is_a_cancel() -> None:
    """K14."""
    async with faked() as it:
        signal = AbortSignal()
        run, child, prompt = await it.prompted(RunRequest("do it", signal=signal))
        signal.abort()
        await child.hear("session/cancel")
        await reply(child, prompt, {"stopReason": "cancelled"})
        assert (await run.result).stop is RunStop.ABORTED
        assert signal._callbacks == {}


@pytest.mark.parametrize("cancelled", [False, True])
async def test_a_torn_pipe(cancelled: bool) -> None:
    """K6, and after a cancel it is no error."""
    async with faked() as it:
        run, child, _prompt = await it.prompted()
        await child.chunk("so far")
        if cancelled:
            run.cancel()
            await child.hear("session/cancel")
        child.go()
        result = await run.result
        assert result.stop == ("aborted" if cancelled else "error")
        assert result.output == ("so far",)


@pytest.mark.parametrize("step", ["initialize", "session/new", "session/prompt"])
@pytest.mark.parametrize("how", ["dies", "error", "nonsense"])
async def test_a_child_that_breaks_the_line_is_an_error_and_no_exception(step: str, how: str) -> None:
    async with faked() as it:
        run, child = it.start()
        steps = {"initialize": {"protocolVersion": 1}, "session/new": {"sessionId": "s"}, "session/prompt": {}}
        for name, result in steps.items():
            if name == step:
                break
            await child.answer(name, result)
        request = await child.hear(step)
        if how == "dies":
            child.go()
        elif how == "error":
            await child.far.say({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -1, "message": "no"}})
        else:
            await reply(child, request, [7])
        result = await run.result
        assert result.stop is RunStop.ERROR
        assert result.failure
        await it.told("subagent/start acp", "subagent/end acp error")


async def test_a_program_that_does_not_exist_is_an_error_and_harms_nobody() -> None:
    """K7."""
    async with Subagents() as subagents:
        subagents.register("acp", AcpProvider("/no/such/program", "x"))
        run = subagents.start("acp", RunRequest("do it"))
        assert not run.result.done
        result = await run.result
        assert result.stop is RunStop.ERROR
        assert "/no/such/program" in str(result.failure)
        run.cancel()
        await run.dispose()


async def test_a_program_that_does_not_exist_and_that_nobody_wants_is_aborted() -> None:
    async with Subagents() as subagents:
        subagents.register("acp", AcpProvider("/no/such/program", "x"))
        signal = AbortSignal()
        signal.abort()
        run = subagents.start("acp", RunRequest("do it", signal=signal))
        assert await run.result == RunResult(RunStop.ABORTED)
        await run.dispose()


@pytest.mark.parametrize(
    ("allow", "options", "answer"),
    [
        (False, [("a", "allow_once")], {"outcome": "cancelled"}),
        (True, [("r", "reject_once"), ("a", "allow_once")], {"outcome": "selected", "optionId": "a"}),
        (
            True,
            [("r", "reject_always"), ("b", "allow_always"), ("a", "allow_once")],
            {"outcome": "selected", "optionId": "b"},
        ),
        (True, [("r", "reject_once"), ("q", "reject_always")], {"outcome": "cancelled"}),
        (True, [(7, "allow_once")], {"outcome": "cancelled"}),
        (True, [], {"outcome": "cancelled"}),
    ],
)
async def test_permission_is_a_matter_of_policy(
    allow: bool, options: list[tuple[object, str]], answer: dict[str, str]
) -> None:
    """K8, K10."""
    async with faked(allow=allow) as it:
        _run, child, _prompt = await it.prompted()
        given = [{"optionId": name, "name": "x", "kind": kind} for name, kind in options]
        params = {"sessionId": "s", "toolCall": {"toolCallId": "t"}, "options": given}
        await child.far.say({"jsonrpc": "2.0", "id": "q", "method": "session/request_permission", "params": params})
        heard = await child.far.hear()
        schema.RequestPermissionResponse.model_validate(heard["result"])
        assert heard["result"] == {"outcome": answer}


async def test_a_question_after_the_cancel_is_answered_cancelled() -> None:
    async with faked(allow=True) as it:
        run, child, _prompt = await it.prompted()
        run.cancel()
        await child.hear("session/cancel")
        options = [{"optionId": "a", "name": "x", "kind": "allow_once"}]
        params = {"sessionId": "s", "toolCall": {"toolCallId": "t"}, "options": options}
        await child.far.say({"jsonrpc": "2.0", "id": "q", "method": "session/request_permission", "params": params})
        assert (await child.far.hear())["result"] == {"outcome": {"outcome": "cancelled"}}


async def test_what_was_not_offered_is_not_there() -> None:
    async with faked() as it:
        _run, child, _prompt = await it.prompted()
        for method in ("fs/read_text_file", "fs/write_text_file", "terminal/create", "_custom"):
            await child.far.say({"jsonrpc": "2.0", "id": method, "method": method, "params": {}})
            assert (await child.far.hear())["error"]["code"] == -32601


@pytest.mark.parametrize(
    ("heeds", "steps"),
    [
        ({"SIGTERM", "SIGKILL"}, ["SIGTERM", "clear"]),
        ({"SIGKILL"}, ["SIGTERM", "SIGKILL", "clear"]),
    ],
)
@pytest.mark.parametrize("cancelled", [False, True])
async def test_a_dispose_ends_a_child_that_ignores_everything_it_can(
    heeds: set[str], steps: list[str], cancelled: bool
) -> None:
    """K26, and a result that only the disposal settles."""
    async with faked() as it:
        run, child, _prompt = await it.prompted()
        await child.chunk("so far")
        child.heeds = heeds
        if cancelled:
            run.cancel()
        await run.dispose()
        assert child.steps == steps
        result = await run.result
        assert result.stop == ("aborted" if cancelled else "error")
        assert result.output == ("so far",)


async def test_the_last_words_of_a_child_that_is_disposed_count() -> None:
    async with faked() as it:
        run, child, prompt = await it.prompted()
        end = run.dispose()
        assert [message["method"] for message in await child.far.hear_all()] == []
        await reply(child, prompt, {"stopReason": "cancelled"})
        child.go()
        await end
        assert (await run.result).stop is RunStop.ABORTED
        assert child.steps[-1] == "clear"


async def stand_still(_seconds: float) -> None:
    await anyio.sleep_forever()


async def test_a_cancel_that_a_disposed_child_cannot_hear_does_not_cost_its_answer() -> None:
    async with faked(sleep=stand_still) as it:
        run, child, prompt = await it.prompted()
        end = run.dispose()
        assert await child.far.hear_all() == []
        run.cancel()
        await anyio.wait_all_tasks_blocked()
        assert not run.result.done
        await reply(child, prompt, {"stopReason": "end_turn"})
        assert (await run.result).stop is RunStop.COMPLETED
        child.go()
        await end


async def test_a_signal_that_fires_after_the_dispose_is_not_heard() -> None:
    async with faked(sleep=stand_still) as it:
        signal = AbortSignal()
        run, child, _prompt = await it.prompted(RunRequest("do it", signal=signal))
        end = run.dispose()
        assert signal._callbacks == {}
        signal.abort()
        child.go()
        assert (await run.result).stop is RunStop.ERROR
        await end


async def test_a_child_that_says_too_much_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("probate_reference.subagents.process.MAX_OUTPUT", 10)
    async with faked() as it:
        run, child, _prompt = await it.prompted()
        await child.chunk("12345678")
        await child.chunk("12345678")
        result = await run.result
        assert (result.stop, result.output) == (RunStop.ERROR, ("12345678",))
        assert "more than 10" in str(result.failure)


async def test_garbage_is_reported_once() -> None:
    async with faked() as it:
        run, child, prompt = await it.prompted()
        await child.far.say(b"garbage\n" * 50)
        await reply(child, prompt, {"stopReason": "end_turn"})
        assert (await run.result).stop is RunStop.COMPLETED
        assert sum(line.startswith("report") for line in it.lines) == 1


@pytest.mark.parametrize(
    "request_", [RunRequest("x", output_schema={}), RunRequest("x", depth_limit=1), RunRequest("x", tools=frozenset())]
)
async def test_what_a_provider_cannot_do_is_refused_before_anything_exists(request_: RunRequest) -> None:
    """K16."""
    async with faked() as it:
        with pytest.raises(UnsupportedCapability):
            it.subagents.start("acp", request_)
        assert (it.children, it.lines) == ([], [])


async def test_providers_coexist_by_name() -> None:
    async with faked() as it:
        with pytest.raises(NoProvider, match="'acp'"):
            it.subagents.start("other", RunRequest("x"))
        with pytest.raises(DuplicateProvider):
            it.subagents.register("acp", AcpProvider("x"))
        remove = it.subagents.register("other", AcpProvider("x"))
        names = [it.subagents.providers]
        remove()
        remove()
        names.append(it.subagents.providers)
        assert names == [("acp", "other"), ("acp",)]
    with pytest.raises(RuntimeError):
        it.subagents.start("acp", RunRequest("x"))


async def test_a_reload_of_the_provider_leaves_a_running_child_alone() -> None:
    """K15."""
    async with faked() as it:
        run, child, prompt = await it.prompted()
        assert it.remove is not None
        it.remove()
        it.subagents.register("acp", AcpProvider("another"))
        await reply(child, prompt, {"stopReason": "end_turn"})
        assert (await run.result).stop is RunStop.COMPLETED
        await run.dispose()


async def test_the_folder_is_the_parent_s_and_nothing_else_is() -> None:
    async with Runtime(EchoModel()) as runtime:
        parent = (await runtime.owner("me").create("p", metadata={"cwd": "/parents"})).agent
        bare = (await runtime.owner("me").create("q")).agent
        provider = AcpProvider("agent")
        assert provider.folder_for(RunRequest("x", parent)) == "/parents"
        assert provider.folder_for(RunRequest("x", bare)) == provider.folder_for(RunRequest("x"))
        assert AcpProvider("agent", folder="/own").folder_for(RunRequest("x", parent)) == "/own"


async def test_a_listener_that_throws_changes_nothing() -> None:
    reports: list[str] = []
    async with Subagents(report=lambda place, failure: reports.append(place)) as subagents:

        def throws(event: object) -> None:
            raise ValueError

        remove = subagents.on(throws)
        subagents.register("acp", AcpProvider("/no/such/program"))
        run = subagents.start("acp", RunRequest("x"))
        assert (await run.result).stop is RunStop.ERROR
        await run.dispose()
        remove()
    assert reports == ["listener subagent/start", "listener subagent/end"]


@pytest.mark.parametrize("step", ["start", "initialize", "session/prompt"])
async def test_a_host_that_is_cancelled_ends_its_children(step: str) -> None:
    """The result, the end of the child and the telling of it hold while everything around is cancelled."""
    children: list[FakeChild] = []
    lines: list[str] = []

    def spawn(command: Command) -> FakeChild:
        children.append(FakeChild(command))
        return children[-1]

    with anyio.CancelScope() as scope:
        async with Subagents() as subagents:
            subagents.register("acp", AcpProvider("agent", folder="/work", spawn=spawn, sleep=little_time_shielded))
            run = subagents.start("acp", RunRequest("do it"))
            (child,) = children
            child.heeds = {"SIGKILL"}
            if step != "start":
                await child.answer("initialize", {"protocolVersion": 1})
            if step == "session/prompt":
                await child.answer("session/new", {"sessionId": "s"})
                await child.hear("session/prompt")
            scope.cancel()
            try:
                await run.result
            finally:
                lines.append("left")
    await child.far.receive.aclose()
    assert lines == ["left"]
    assert child.steps == ["SIGTERM", "SIGKILL", "clear"]
    assert run.result.done
    assert run.gone.done


async def little_time_shielded(_seconds: float) -> None:
    for _ in range(5):
        await anyio.lowlevel.checkpoint()


async def test_what_is_begun_while_the_service_ends_is_refused() -> None:
    refused: list[str] = []
    async with faked() as it:
        run, _child, _prompt = await it.prompted()

        def again(event: object) -> None:
            try:
                it.start()
            except RuntimeError as refusal:
                refused.append(str(refusal))

        it.subagents.on(again)
    assert refused == ["the service of subagents is not running"]
    assert run.gone.done


async def test_a_result_that_is_raised_is_told_as_an_error_and_reaches_the_caller() -> None:
    """K18: what breaks below the run is no failure of the child."""

    class Broken(Run):
        def cancel(self) -> None: ...

        def _begin_end(self) -> None:
            self._end()

    class Breaks:
        capabilities = frozenset[Capability]()

        def start(self, request: RunRequest, tasks: Start) -> Run:
            run = Broken("run")
            run.result._raise(ValueError("broken"))
            return run

    lines: list[str] = []
    async with Subagents(report=lambda place, failure: lines.append(f"report {place}")) as subagents:
        subagents.on(lambda event: lines.append(line(event)))
        subagents.register("breaks", Breaks())
        run = subagents.start("breaks", RunRequest("x"))
        with pytest.raises(ValueError, match="broken"):
            await run.result
        await run.dispose()
    assert lines == ["subagent/start breaks", "report subagent result", "subagent/end breaks error"]
