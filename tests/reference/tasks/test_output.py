"""What a command writes is kept in bounds, and nothing is lost in silence."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probate_reference.tasks import TaskOutput
from probate_reference.tasks.output import Stream


def stream(tmp_path: Path, keep: int = 8, spill: int = 1000) -> Stream:
    return Stream(keep, spill, lambda: tmp_path / "all")


def test_a_read_gives_what_is_new(tmp_path: Path) -> None:
    out = stream(tmp_path)
    out.write(b"one")
    assert out.read() == ("one", False)
    assert out.read() == ("", False)
    out.write(b"two")
    out.write(b"3")
    assert out.read() == ("two3", False)
    assert out.spilled is None


def test_more_than_is_kept_goes_to_a_file_as_a_whole(tmp_path: Path) -> None:
    out = stream(tmp_path)
    out.write(b"1234")
    assert out.read() == ("1234", False)
    out.write(b"56789")
    assert out.read() == ("56789", False)
    out.write(b"abcdefghij")
    assert out.read() == ("cdefghij", True)
    assert out.spilled == tmp_path / "all"
    assert out.spilled.read_bytes() == b"123456789abcdefghij"
    out.close()
    assert out.read() == ("", False)


def test_the_file_has_a_bound_too(tmp_path: Path) -> None:
    out = stream(tmp_path, spill=10)
    for _ in range(5):
        out.write(b"12345678")
    assert out.spilled is not None
    assert out.spilled.read_bytes() == b"1234567812"
    assert out.read() == ("12345678", True)


def test_without_a_file_a_reader_is_still_told_that_something_is_missing(tmp_path: Path) -> None:
    out = Stream(4, 100, lambda: tmp_path / "no" / "directory")
    out.write(b"123456")
    out.write(b"78")
    assert out.read() == ("5678", True)
    assert out.spilled is None


def test_a_torn_character_is_held_back_until_its_rest_comes(tmp_path: Path) -> None:
    out = stream(tmp_path)
    euro = "€".encode()
    out.write(b"a" + euro[:1])
    assert out.read() == ("a", False)
    out.write(euro[1:])
    assert out.read() == ("€", False)
    out.write(euro[:2])
    assert out.read() == ("", False)
    assert out.rest() == "\ufffd"


@given(st.lists(st.binary(max_size=12)), st.lists(st.booleans()), st.integers(1, 20))
def test_nothing_is_told_twice_and_nothing_is_missing_in_silence(
    tmp_path_factory: pytest.TempPathFactory, writes: list[bytes], reads: list[bool], keep: int
) -> None:
    out = Stream(keep, 10_000, lambda: tmp_path_factory.mktemp("out") / "all")
    told = ""
    lost = False
    for place, data in enumerate(writes):
        out.write(data)
        if place < len(reads) and reads[place]:
            text, lossy = out.read()
            told += text
            lost = lost or lossy
    text, lossy = out.read()
    told += text + out.rest()
    everything = b"".join(writes)
    out.close()
    if not (lost or lossy):
        assert told == everything.decode(errors="replace")
    else:
        assert len(everything) > keep
    if len(everything) > keep:
        assert out.spilled is not None
        assert out.spilled.read_bytes() == everything
    else:
        assert out.spilled is None


@pytest.mark.parametrize(
    ("output", "text"),
    [
        (TaskOutput("", ""), ""),
        (TaskOutput("a\n", ""), "a"),
        (TaskOutput("", "b\n"), "[stderr]\nb"),
        (TaskOutput("a\n", "b"), "a\n[stderr]\nb"),
        (TaskOutput("a", "", lossy=True), "a\n[some output is left out here]"),
        (
            TaskOutput("a", "", lossy=True, spilled=(Path("/x"),)),
            "a\n[some output is left out here; all of it is in /x]",
        ),
    ],
)
def test_a_model_reads_both_streams_and_what_is_missing(output: TaskOutput, text: str) -> None:
    assert output.text == text
