"""A configuration: what it means, and one sentence for each mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from probate_reference import Reply, StopReason, ToolCall
from probate_reference.__main__ import main
from probate_reference.acp.config import (
    Config,
    ConfigError,
    Echo,
    OpenAICompatible,
    PermissionPolicy,
    Scripted,
    read_config,
)
from probate_reference.acp.serving import make_model
from probate_reference.configured import AgentEntry
from probate_reference.live import Live
from probate_reference.models import EchoModel, ScriptedReply
from probate_reference.models.openai import OpenAIModel

OPENAI = """
[model]
kind = "openai-compatible"
base-url = "http://127.0.0.1:8080/v1"
name = "m"
key-variable = "MY_KEY"
"""


def read(tmp_path: Path, text: str) -> Config:
    path = tmp_path / "c.toml"
    path.write_text(text)
    return read_config(path)


def test_an_empty_file_is_the_default(tmp_path: Path) -> None:
    assert read(tmp_path, "") == Config() == Config(Echo(), None, False, PermissionPolicy.ASK, 2.0)


def test_everything(tmp_path: Path) -> None:
    text = 'home = "kept"\ntools = true\npermission = "deny"\ngrace = 1\n' + OPENAI + 'system = "Be kind."\n'
    assert read(tmp_path, text) == Config(
        OpenAICompatible("http://127.0.0.1:8080/v1", "m", "MY_KEY", "Be kind."),
        tmp_path / "kept",
        True,
        PermissionPolicy.DENY,
        1.0,
    )


def test_agents(tmp_path: Path) -> None:
    text = """
    home = "kept"
    [[agents]]
    label = "helper"
    folder = "work"
    [[agents]]
    label = "notes"
    session = "s1"
    [[agents]]
    label = "old"
    resume = "s2"
    [[agents]]
    label = "new"
    resume = ""
    """
    assert read(tmp_path, text).agents == (
        AgentEntry("helper", metadata={"cwd": str(tmp_path / "work")}),
        AgentEntry("notes", session="s1"),
        AgentEntry("old", resume="s2"),
        AgentEntry("new"),
    )


def test_a_script(tmp_path: Path) -> None:
    text = """
    [model]
    kind = "scripted"
    [[model.replies]]
    text = "one"
    tools = [{ name = "bash", arguments = { command = "ls" } }, { name = "raw", arguments = "{}" }, { name = "none" }]
    [[model.replies]]
    stop = "max-tokens"
    hangs = true
    [[model.replies]]
    fails = "why"
    """
    calls = (ToolCall("bash", '{"command": "ls"}'), ToolCall("raw", "{}"), ToolCall("none", "{}"))
    assert read(tmp_path, text).model == Scripted(
        (
            ScriptedReply(Reply("one", calls)),
            ScriptedReply(Reply(stop=StopReason.MAX_TOKENS), hangs=True),
            ScriptedReply(fails="why"),
        )
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x =", "is no TOML"),
        ("x = '\udcff'", "is no TOML"),
        ("hom = 'x'", "hom is not known; did you mean home?"),
        ("zzz = 'x'", "zzz is not known; there are home, tools, permission, grace, model"),
        ("home = 7", "home must be a string that says something, not 7"),
        ("home = ''", "home must be a string"),
        ("tools = 'yes'", "tools must be true or false, not 'yes'"),
        ("permission = 'maybe'", "permission cannot be 'maybe'; choose one of ask, allow, deny"),
        ("permission = ['ask']", "permission cannot be ['ask']"),
        ("grace = 0", "grace must be a number of seconds above 0 and up to 5"),
        ("grace = true", "grace must be a number"),
        ("grace = nan", "grace must be a number"),
        ("model = 'echo'", "model must be a table; write [model]"),
        ("[model]", "model.kind is missing; choose one of echo, scripted, openai-compatible"),
        ("[model]\nkind = 'ecoh'", "model.kind cannot be 'ecoh'"),
        ("[model]\nkind = 'echo'\nname = 'x'", "model.name is not known; there is kind"),
        ("[model]\nkind = 'scripted'\nreplies = 7", "model.replies must be a list of tables"),
        ("[model]\nkind = 'scripted'\nreplies = [7]", "model.replies must be a list of tables"),
        (
            "[model]\nkind = 'scripted'\nreplies = [{txt = 'x'}]",
            "model.replies[1].txt is not known; did you mean text?",
        ),
        (
            "[model]\nkind = 'scripted'\nreplies = [{tools = [{name = 'x', arguments = 7}]}]",
            "model.replies[1].tools[1].arguments must be a table, or a string of JSON",
        ),
        (
            "[model]\nkind = 'scripted'\nreplies = [{tools = [{name = 'x', arguments = {a = 2020-01-01}}]}]",
            "arguments must hold nothing but what JSON has",
        ),
        ("[model]\nkind = 'scripted'\nreplies = [{tools = [{}]}]", "model.replies[1].tools[1].name is missing"),
        ("[model]\nkind = 'openai-compatible'", "model.base-url is missing; give a string"),
        (OPENAI.replace("http://127.0.0.1:8080/v1", "localhost:8080"), "model.base-url must be a URL such as"),
        (OPENAI.replace("http://127.0.0.1:8080/v1", "http://x:99999/"), "model.base-url must be a URL such as"),
        (OPENAI.replace("http://127.0.0.1:8080/v1", "file:///etc"), "model.base-url must be a URL such as"),
        (OPENAI.replace("http://127.0.0.1:8080/v1", "http://me:pw@host/v1"), "model.base-url must hold no user"),
        ("agents = 7", "agents must be a list of tables"),
        ("[[agents]]", "agents[1].label is missing; give a string"),
        ("[[agents]]\nlabel = 'a b'", "agents[1].label must be one word"),
        ("[[agents]]\nlabel = '@a'", "agents[1].label must be one word"),
        ("[[agents]]\nlabel = 'a'\nsesion = 's'", "agents[1].sesion is not known; did you mean session?"),
        ("[[agents]]\nlabel = 'a'\nsession = ''", "agents[1].session must be a string that says something"),
        ("[[agents]]\nlabel = 'a'\nsession = 's'\nresume = 's'", "agents[1].resume and session exclude each other"),
        ("[[agents]]\nlabel = 'a'\nresume = 's'", "agents[1].resume needs a home"),
        (
            "home = 'h'\n[[agents]]\nlabel = 'a'\nresume = 's'\nfolder = '.'",
            "agents[1].folder is remembered with the session",
        ),
        ("[[agents]]\nlabel = 'a'\nfolder = '~nobody-here/x'", "agents[1].folder cannot be found"),
        ("[[agents]]\nlabel = 'a'\n[[agents]]\nlabel = 'a'", "agents[2].label 'a' is another agent's too"),
        (
            "[[agents]]\nlabel = 'a'\nsession = 's'\n[[agents]]\nlabel = 'b'\nsession = 's'",
            "agents 'a' and 'b' have the same exact identity 's'",
        ),
        (OPENAI.replace("MY_KEY", "sk-abc"), "model.key-variable must be the name of a variable"),
        (OPENAI.replace('"m"', '" "'), "model.name must be a string that says something"),
    ],
)
def test_each_mistake_gets_a_sentence(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "c.toml"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ConfigError) as raised:
        read_config(path)
    message = str(raised.value)
    assert says in message
    assert str(path) in message
    assert "\n" not in message


def test_what_is_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["acp", str(tmp_path / "none")]) == 2
    assert main(["acp", str(tmp_path)]) == 2
    (tmp_path / "large").write_bytes(b"#" * (1024 * 1024 + 1))
    assert main(["acp", str(tmp_path / "large")]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert all(line.startswith("error: ") for line in lines)


def test_a_key_that_is_not_there(tmp_path: Path) -> None:
    config = read(tmp_path, OPENAI)
    for environment in ({}, {"MY_KEY": ""}):
        with pytest.raises(ConfigError, match="MY_KEY is not set"):
            make_model(config, Live(), environment)
    assert isinstance(make_model(config, Live(), {"MY_KEY": "x"}), OpenAIModel)


def test_an_endpoint_needs_httpx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "httpx", None)
    monkeypatch.delitem(sys.modules, "probate_reference.models.openai", raising=False)
    with pytest.raises(ConfigError, match="pip install 'httpx<1'"):
        make_model(read(tmp_path, OPENAI), Live(), {"MY_KEY": "x"})
    assert isinstance(make_model(Config(), Live(), {}), EchoModel)
