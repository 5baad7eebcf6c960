"""The doctor, on adapters that are well and on a catalogue of ones that are not, each with one defect."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import pytest

from probate_conformance.doctor.lessons import LESSONS
from probate_conformance.manifest import FEATURES, OP_NAMES, Unclaimed
from probate_conformance.templates import TEMPLATES
from probate_model.alphabet import ops
from probate_model.alphabet.gates import GateKind
from probate_model.rehearsal import Rehearsing
from probate_model.world import new_world

from .conftest import Probate

WRITE = 'out.write(json.dumps(reply) + "\\n")\n            out.flush()'
"""How the template answers: all that breaks a line is put in its place."""

SHORT = 0.5
"""A deadline for what never comes, in seconds."""
LONG = 60
"""A deadline for what does come."""


@dataclass(frozen=True, slots=True)
class Defect:
    """One change to the template for Python, and what is said of it."""

    old: str
    new: str
    code: int
    step: str
    """Where it is found."""
    says: tuple[str, ...]
    deadline: float = LONG


DEFECTS = {
    "no newline": Defect(
        WRITE,
        'out.write(json.dumps(reply))\n            out.flush()',
        4,
        "hello",
        ("did not answer `hello` within 0.5 s", "without the line feed that ends a line", "end each answer"),
        SHORT,
    ),
    "never flushes": Defect(
        WRITE,
        'out.write(json.dumps(reply) + "\\n")',
        4,
        "hello",
        ("answered `hello` only when its input ended", "flush standard output after each line", '"name": "toy"'),
        SHORT,
    ),
    "reads all of its input first": Defect(
        "for line in sys.stdin:",
        "for line in sys.stdin.readlines():",
        4,
        "hello",
        ("answered `hello` only when its input ended", "read line by line"),
        SHORT,
    ),
    "never answers": Defect(
        WRITE, "pass", 4, "hello", ("did not answer `hello` within 0.5 s", "longer deadline"), SHORT
    ),
    "a banner": Defect(
        "    world: World | None = None\n    with",
        '    world: World | None = None\n    out.write("Toy 1.0\\n")\n    out.flush()\n    with',
        4,
        "hello",
        ("Toy 1.0", "standard output"),
    ),
    "two lines for one answer": Defect(
        WRITE,
        "out.write(json.dumps(reply, indent=1) + \"\\n\")\n            out.flush()",
        4,
        "hello",
        ("answered  {\n", "a JSON object (EOF", "one JSON object on each line"),
    ),
    "another version": Defect(
        '"protocol": 1', '"protocol": 2', 4, "hello", ("speaks version 2 of the protocol, and this is version 1",)
    ),
    "no manifest": Defect(
        ', "manifest": MANIFEST', "", 4, "hello", ("expected  a field 'manifest'", "a message is whole")
    ),
    "a name that nobody knows": Defect(
        '"ops": ["resume"', '"ops": ["fork"', 4, "hello",
        ("hello.manifest.unclaimed.ops[0]", "unknown op 'fork'; did you mean 'look'? `probate")
    ),
    "an unknown field": Defect(
        '"message": "opened"', '"message": "opened", "ready": True', 4, "open",
        ("opened.ready: true", "no field 'ready'"),
    ),
    "no message": Defect('{"message": "opened"}', "{}", 4, "open", ("a field 'message'",)),
    "an unknown message": Defect('"opened"', '"open"', 4, "open", ("expected  one of 'hello', 'opened', 'quiet'",)),
    "another answer than is due": Defect(
        'return {"message": "opened"}', 'return {"message": "closed"}', 4, "open", ("answered `open` with `closed`",)
    ),
    "answers twice": Defect(
        WRITE,
        'out.write((json.dumps(reply) + "\\n") * 2)\n            out.flush()',
        4,
        "open",
        ('"message": "hello"', "answer"),
    ),
    "answers bursts twice": Defect(
        WRITE,
        'again = 1 + bool(reply.get("events"))\n            out.write((json.dumps(reply) + "\\n") * again)\n'
        "            out.flush()",
        4,
        "open",
        ("quiet", "answer"),
    ),
    "exits": Defect(
        "            case \"look\":", '            case "look":\n                os._exit(7)', 4, "look",
        ("ended with exit code 7 instead of answering `burst`",),
    ),
    "exits with words": Defect(
        'case "look":',
        'case "look":\n                raise SystemExit("out of paper")',
        4,
        "look",
        ("ended with exit code 1 instead of answering `burst`", "its stderr out of paper"),
    ),
    "gives up": Defect(
        'case "look":', 'case "lock":', 4, "look", ("can't go on after `burst`: NotImplementedError: the manifest",)
    ),
    "an unknown event": Defect(
        "self.events.append(event)\n", 'self.events.append({**event, "event": name.replace("created", "made")})\n',
        4, "create", ("quiet.events[0]", '"session/made"', "expected  one of 'session/created'", "`unknown`"),
    ),
    "a number as text": Defect(
        '"seq": fields["seq"]', '"seq": str(fields["seq"])', 4, "send",
        ("log.seq: \"0\"", "input should be a valid integer"),
    ),
    "a missing field": Defect('event["steering"] = False', "pass", 4, "send", ("a field 'steering'",)),
    "settles twice": Defect(
        "self.returns(label, self.look())",
        "self.returns(label, self.look())\n                self.returns(label, self.look())",
        1,
        "look",
        ("events[1]: k1 returned", "expected  nothing", "CALL-01"),
    ),
    "forgets to settle": Defect(
        "self.follow(label, self.returned[item[\"agent\"]].dispose())",
        "self.returned[item[\"agent\"]].dispose()",
        1,
        "dispose",
        ("after the last event: nothing more", "d2 returned", "something was owed", "DISPOSE-01"),
    ),
    "a snapshot of long ago": Defect(
        '"snapshot": world.look()', '"snapshot": {}', 1, "create", ("snapshot: at rest: agents []", "REGISTRY-02")
    ),
    "goes on for ever": Defect(
        '"never": not calm', '"never": True', 1, "open", ("it never came to rest",)
    ),
    "begins the items one after the other": Defect(
        "                world.begin(item)\n",
        "                world.begin(item)\n                await quiet(world)\n",
        1,
        "burst",
        ('sent {"message":"burst","items":[{"label":"s', "expected agent/cancel-requested a#1 cause=user", "CANCEL-03"),
    ),
    "waits when it is awaited": Defect(
        'case "await_idle":\n                self.follow(label, self.returned[item["agent"]].idle())',
        'case "await_idle":\n                late = self.returned[item["agent"]]\n\n'
        "                async def idle() -> None:\n                    await late.idle()\n\n"
        "                self.follow(label, idle())",
        1,
        "idle",
        ("after the last event: nothing more", "IDLE-02"),
    ),
}  # fmt: skip


def adapter(folder: Path, old: str = "", new: str = "") -> list[str]:
    """Write the template with one change, and give the command that starts it."""
    TEMPLATES["python"].write(folder)
    file = folder / "adapter.py"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    return [sys.executable, str(file)]


@pytest.mark.parametrize("name", DEFECTS)
def test_each_defect_is_told_by_its_line(here: Probate, tmp_path: Path, name: str) -> None:
    defect = DEFECTS[name]
    ran = here("doctor", "--deadline", defect.deadline, *adapter(tmp_path / "it", defect.old, defect.new))
    assert ran.code == defect.code, ran.out
    assert f"✗ {defect.step} " in ran.out, ran.out
    said = " ".join(ran.out.split())
    for words in defect.says:
        assert " ".join(words.split()) in said, ran.out
    assert ran.err == ""
    assert "next:" not in ran.out


def test_an_adapter_that_is_well(here: Probate, tmp_path: Path) -> None:
    ran = here("doctor", *adapter(tmp_path / "it"))
    assert ran.code == 0
    assert "✓ hello     toy 1, python; protocol 1\n" in ran.out
    assert "- react     not claimed: react\n" in ran.out
    assert f"all {ran.out.count('✓') - 1} that it claims were as they should be" in ran.out
    assert "\nnext: probate check 'cmd:" in ran.out


def test_all_lessons_hold_on_the_model_and_none_is_void(here: Probate) -> None:
    ran = here("doctor", f"cmd:{sys.executable} -m probate_conformance.backends.serve model")
    assert ran.code == 0, ran.out
    assert ran.out.count("✓") == 1 + len(LESSONS)
    for lesson in LESSONS:
        rehearsing = Rehearsing(new_world(lesson.trace.world))
        for burst in lesson.trace.bursts()[:-1]:
            for item in burst:
                rehearsing.add(item)
            rehearsing.settle()
        assert not [void for rehearsal in rehearsing.done for void in rehearsal.void], lesson.name


def test_the_lessons_know_what_they_need() -> None:
    everything = Unclaimed(ops=OP_NAMES, gates=tuple(GateKind), features=FEATURES)
    needs = {lesson.name: lesson.lacks(everything) for lesson in LESSONS}
    assert needs["open"] == []
    assert needs["abort"] == ["abort", "create", "signal"]
    assert needs["deaf"] == ["cancel", "create", "deaf", "model", "send"]
    taught = {need for needed in needs.values() for need in needed}
    core = {op.__dataclass_fields__["item"].default for op in get_args(ops.Op) if op.__module__ == ops.__name__}
    gates = {"setup", "prepare", "model", "tool", "flush", "cleanup"}
    features = set(FEATURES) - {"services", "children"}  # of the profile fibers
    assert taught >= {*core, *gates, *features} - {"resume", "unload_provider", "load_provider", "reject"}


def test_an_adapter_without_bursts_gets_one_item_at_a_time(here: Probate, tmp_path: Path) -> None:
    claims = '"unclaimed": {'
    defect = DEFECTS["begins the items one after the other"]
    command = adapter(tmp_path / "it", claims, f'"bursts": "no", {claims}')
    file = Path(command[1])
    file.write_text(file.read_text().replace(defect.old, defect.new))
    assert here("doctor", *command).code == 0


def test_what_the_doctor_does_not_walk_is_told(here: Probate, tmp_path: Path) -> None:
    claims = '"unclaimed": {'
    ran = here("doctor", *adapter(tmp_path / "both", claims, f'"profiles": ["core", "fibers"], {claims}'))
    assert ran.code == 0
    assert ran.out.splitlines()[-1].startswith("also: probate check 'cmd:")
    assert ran.out.endswith(" --profile fibers --cases 20\n")
    ran = here("doctor", *adapter(tmp_path / "other", claims, f'"profiles": ["fibers"], {claims}'))
    assert ran.code == 5
    assert "it does not claim profile core, and the doctor walks no other" in ran.out
    assert ran.out.endswith(" --profile fibers --cases 20\n")


def test_what_is_not_wrong_is_noted(here: Probate, tmp_path: Path) -> None:
    ran = here("doctor", *adapter(tmp_path / "it", '"snapshot": world.look()', '"unknown": ["toy/\\x1b[2J"]'))
    assert ran.code == 0
    assert "names that are not of the alphabet: toy/\\x1b[2J\n" in ran.out
    assert "its answers lack the snapshot" in ran.out


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ([], 2, "no command is given"),
        (["--"], 2, "no command is given"),
        (["node 'adapter.ts"], 2, "can't be split into words"),
        (["no-such-program-at-all"], 4, "can't be started"),
        (["--edition", "1999", "true"], 2, "unknown edition '1999'"),
    ],
)
def test_a_command_that_means_nothing(here: Probate, arguments: list[str], code: int, says: str) -> None:
    ran = here("doctor", *arguments)
    assert ran.code == code
    assert says in ran.out + ran.err
