"""What the adapter does about a runtime that is none. It stands where the packages of dsh would be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from probate_conformance.backends import dsh
from probate_conformance.backends.dsh import DshBackend
from probate_conformance.backends.install import find_node
from probate_conformance.errors import BackendBroke
from probate_conformance.wire import Burst, Open, Quiet
from tests.conformance.backends.children import talk
from tests.conformance.backends.shorthand import WORLD, create, told

ADAPTER = Path(dsh.__file__).parent / "adapter.mjs"

STUB = """
export class Context {
  ctx = this
  fiber = { dispose() {} }
  sessions = { list: () => [] }
  llm = { registerAdapter() {} }
  tools = { register() {} }
  agents = { list: () => [], roots: () => [], create: (options) => create(this, options) }
  listeners = {}
  plugin() { return { ctx: this, dispose() {} } }
  get() { return { ownership: { liveAgents: this.teardowns ?? [] } } }
  on(name, listener) { this.listeners[name] = listener }
}
export class AgentLoop { static inject = [] }
export class AgentRegistry {}
export class LlmAdapter {}
export class LlmRuntime {}
export class SessionStore {}
export class SystemPrompt {}
export class ToolRuntime {}
const prepare = (context, { sessionId, setup }) => {
  const agent = { session: { id: sessionId } }
  setup({ agent, agents: context.agents, effect() {} })
  return agent
}
async function create(context, options) { %s }
"""


class TestAdapter:
    def run(self, folder: Path, create_does: str) -> Quiet | str:
        (folder / "packages.mjs").write_text(STUB % create_does)
        package = folder / "node_modules" / "@deepseek-ai" / "dsh-agent-loop"
        package.mkdir(parents=True)
        (package / "package.json").write_text('{"version": "0"}')
        with DshBackend("stub", (str(find_node().executable), str(ADAPTER), str(folder))) as backend:
            _, answer = backend.converse(talk(Open(world=WORLD), Burst(items=(create("c"),))))
        if isinstance(answer, BackendBroke):
            return str(answer)
        assert isinstance(answer, Quiet)
        return answer

    def test_never_quiet(self, tmp_path: Path) -> None:
        answer = self.run(
            tmp_path,
            """
            const { session } = prepare(context, options)
            const again = () => { context.listeners['session/created'](session); setImmediate(again) }
            again()
            """,
        )
        assert isinstance(answer, Quiet)
        assert answer.never

    @pytest.mark.parametrize(
        ("create_does", "said"),
        [
            ("setTimeout(() => {}, 600_000)", "quiet can't be shown: Timeout is outstanding"),
            ("setImmediate(() => { throw new Error('thrown at nobody') })", "thrown at nobody"),
            ("setImmediate(() => fetch('http://127.0.0.1:9/'))", "the adapter reaches no network"),
            (
                "const net = await import('node:net'); process.nextTick(() => net.connect(9, '127.0.0.1'))",
                "the adapter reaches no network",
            ),
            ("context.listeners['agent/disposed']({ agent: {} })", "TypeError"),
            (
                "context.teardowns = [async () => {}]; prepare(context, options); return { dispose() {} }",
                "withdraw is not dispose",
            ),
        ],
    )
    def test_what_it_can_not_vouch_for(self, create_does: str, said: str, tmp_path: Path) -> None:
        answer = self.run(tmp_path, create_does)
        assert isinstance(answer, str)
        assert "can't go on after `burst`" in answer
        assert said in answer

    def test_a_rejection_that_is_left_to_the_process_is_counted(self, tmp_path: Path) -> None:
        answer = self.run(tmp_path, "Promise.reject(new Error('left to nobody')); throw new Error('no')")
        assert isinstance(answer, Quiet)
        assert answer.unknown == ("unhandledRejection",)

    def test_unknown_failure_has_no_code(self, tmp_path: Path) -> None:
        answer = self.run(tmp_path, "throw new TypeError('agent loop is not active, is it?')")
        assert isinstance(answer, Quiet)
        assert [told(event) for event in answer.events] == ["c raised unspecified"]

    def test_output_carries_nothing_else(self, tmp_path: Path) -> None:
        answer = self.run(tmp_path, "console.log('printed'); console.info('printed'); throw null")
        assert isinstance(answer, Quiet)

    def test_home_is_its_own(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("NODE_OPTIONS", "--no-warnings")
        monkeypatch.setenv("XDG_CONFIG_HOME", "/somewhere")
        monkeypatch.setenv("DEEPSEEK_API_KEY", "dear")
        answer = self.run(
            tmp_path,
            """
            const { readdirSync } = await import('node:fs')
            const { homedir } = await import('node:os')
            const names = Object.keys(process.env)
            const seen = { home: homedir(), here: process.cwd(), files: readdirSync('.'), names }
            setImmediate(() => { throw new Error(`<<${JSON.stringify(seen)}>>`) })
            """,
        )
        assert isinstance(answer, str)
        seen = json.loads(answer[answer.index("<<") + 2 : answer.index(">>")])
        assert Path(seen["home"]).resolve() == Path(seen["here"])
        assert seen["home"] != str(Path.home())
        assert seen["files"] == []
        assert not {"NODE_OPTIONS", "XDG_CONFIG_HOME", "DEEPSEEK_API_KEY"} & set(seen["names"])
        assert not Path(seen["home"]).exists()
