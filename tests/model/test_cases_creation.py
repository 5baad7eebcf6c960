"""The numbered cases C of the contract: creation and publication."""

from __future__ import annotations

import pytest

from probate_model.alphabet.editions import EDITION_2026_08
from tests.model.helpers import Play, lines, playing

NOTHING = "agents= roots= sessions="


def created(number: int, call: str, name: str = "a") -> list[str]:
    """Give the lines of a creation that comes to its end."""
    return lines(f"""
        session/created {name}#{number}
        agent/created {name}#{number}
        agent/session-start {name}#{number} startup
        settled {call} returned {name}#{number}
    """)


def in_setup(options: str = "setup") -> Play:
    """Give a play in which the creation ``c`` of ``a`` waits in its setup."""
    play = Play("host", "side")
    assert (
        play.run(f"""
        hold setup c
        create c a {options}
    """)
        == []
    )
    return play


def test_c2_the_signal_ends_a_pending_creation_and_frees_its_id() -> None:
    play = in_setup("setup signal")
    assert play.run("abort c") == ["settled abort returned", "settled c raised aborted"]
    assert play.look == NOTHING
    assert play.run("create d a") == created(1, "d")


def test_c3_the_signal_of_a_creation_does_not_reach_the_live_agent() -> None:
    play = playing("create c a signal")
    assert play.run("abort c") == ["settled abort returned"]
    assert play.look == "agents=a#1:idle roots=a#1 sessions=a#1"


def test_c4_what_the_setup_throws_is_raised_after_the_rollback() -> None:
    play = Play()
    assert play.run("""
        plan setup c throw
        hold cleanup c
        create c a setup cleanup
    """) == ["scope/cleanup c"]
    assert play.run("release cleanup c ok") == ["settled c raised thrown:setup"]


def test_c6_of_two_creations_of_one_id_one_is_published() -> None:
    play = in_setup("setup cleanup")
    assert (
        play.run("""
        hold setup d
        create d a setup cleanup by=side
    """)
        == []
    )
    assert play.run("""
        release setup c ok
        release setup d ok
    """) == [*created(1, "c")[:3], "scope/cleanup d", "settled c returned a#1", "settled d raised id-exists"]
    assert play.look == "agents=a#1:idle roots=a#1 sessions=a#1"


def test_c7_an_owners_unload_ends_a_pending_creation_and_waits_for_its_cleanup() -> None:
    play = in_setup("setup cleanup")
    assert play.run("""
        hold cleanup c
        unload host
    """) == ["scope/cleanup c"]
    assert play.run("release cleanup c ok") == ["settled c raised owner-disposed", "settled unload returned"]


def test_c8_a_setup_that_has_returned_does_not_help_against_an_unload_in_the_same_tick() -> None:
    play = in_setup()
    assert sorted(
        play.run("""
        release setup c ok
        unload host
    """)
    ) == ["settled c raised owner-disposed", "settled unload returned"]
    assert play.look == NOTHING


def test_c14_a_veto_in_session_created_never_speaks_of_the_agent() -> None:
    play = Play()
    assert play.run("""
        react session/created do throw V
        react session/created do look
        create c a
    """) == ["session/created a#1", "session/disposed a#1", "settled c raised thrown:V"]
    # Later listeners were not called, and the id can be used at once.
    assert play.run("create d a") == [
        "session/created a#2",
        "settled r2.0 returned agents=a#2:idle roots=a#2 sessions=a#2",
        *created(2, "d")[1:],
    ]


def test_c15_a_veto_in_agent_created_is_announced_as_the_end_of_both() -> None:
    play = Play()
    assert play.run("""
        react agent/created do throw V
        create c a
    """) == lines("""
        session/created a#1
        agent/created a#1
        agent/disposed a#1
        session/disposed a#1
        settled c raised thrown:V
    """)
    assert play.look == NOTHING
    assert play.run("create d a") == created(2, "d")


def test_c16_an_end_from_inside_session_created_waits_until_the_publication_unwinds() -> None:
    play = Play()
    assert play.run("""
        react session/created do withdraw this
        react session/created do look
        create c a cleanup
    """) == lines("""
        session/created a#1
        settled r1.0 returned
        settled r2.0 returned agents=a#1:idle roots=a#1 sessions=a#1
        session/disposed a#1
        scope/cleanup c
        settled c raised lifecycle-disposed
    """)


def test_c16_the_scope_unwinds_before_the_session_goes_in_2026_08() -> None:
    play = Play(edition=EDITION_2026_08)
    assert play.run("""
        react session/created do withdraw this
        react session/created do look
        create c a cleanup
    """) == lines("""
        session/created a#1
        settled r1.0 returned
        settled r2.0 returned agents=a#1:idle roots=a#1 sessions=a#1
        scope/cleanup c
        session/disposed a#1
        settled c raised lifecycle-disposed
    """)


def test_c18_the_same_from_inside_session_start() -> None:
    play = Play()
    assert play.run("""
        react agent/session-start do withdraw this
        react agent/session-start do look
        create c a cleanup
    """) == lines("""
        session/created a#1
        agent/created a#1
        agent/session-start a#1 startup
        settled r1.0 returned
        settled r2.0 returned agents=a#1:idle roots=a#1 sessions=a#1
        agent/status a#1 disposed
        agent/disposed a#1
        session/disposed a#1
        scope/cleanup c
        settled c raised lifecycle-disposed
    """)


@pytest.mark.parametrize(("owner", "code"), [("host", "owner-disposed"), ("provider", "provider-inactive")])
def test_c19_an_unload_from_inside_agent_created_ends_the_creation(owner: str, code: str) -> None:
    play = Play()
    assert play.run(f"""
        react agent/created do unload {owner}
        create c a
    """) == lines(f"""
        session/created a#1
        agent/created a#1
        agent/disposed a#1
        session/disposed a#1
        settled c raised {code}
        settled r1.0 returned
    """)


@pytest.mark.parametrize("failure", ["throw", "reject"])
def test_c20_a_failing_listener_of_session_start_is_contained(failure: str) -> None:
    play = Play()
    assert play.run(f"""
        react agent/session-start do {failure} V
        create c a
    """) == created(1, "c")


def test_c31_a_creation_through_an_inactive_provider_is_refused() -> None:
    play = playing("unload provider")
    assert play.run("create c a") == ["settled c raised provider-inactive"]


def test_c32_an_agent_created_through_another_is_its_child_and_ends_with_it() -> None:
    play = playing("create p a")
    assert play.run("create k b by=agent:p") == created(1, "k", "b")
    assert play.look == "agents=a#1:idle,b#1:idle:a#1 roots=a#1 sessions=a#1,b#1"
    assert play.run("dispose p") == lines("""
        agent/status a#1 disposed
        agent/disposed a#1
        session/disposed a#1
        agent/status b#1 disposed
        agent/disposed b#1
        session/disposed b#1
        settled dispose returned
    """)


# What the rules say beside the numbered cases.


@pytest.mark.parametrize(
    ("state", "code"),
    [
        (("unload host", "unload provider"), "owner-inactive"),
        (("unload provider",), "provider-inactive"),
        ((), "aborted"),
    ],
)
def test_a_creation_is_checked_in_order(state: tuple[str, ...], code: str) -> None:
    """Decision 3: the owner, the provider, the signal, the id."""
    play = Play("side", "host")
    play.run("create o a by=side")
    for one in state:
        play(one)
    assert play("create c a by=host pre-aborted") == []
    assert f"settled c raised {code}" in play("settle")


def test_an_id_that_is_live_is_refused() -> None:
    play = playing()
    assert play.run("create d a") == ["settled d raised id-exists"]


def test_publication_is_a_later_step_also_without_a_setup() -> None:
    play = Play()
    assert play("create c a") == []
    assert play.look == NOTHING
    assert play("settle") == created(1, "c")


def test_two_creations_of_one_id_in_one_burst_race_for_it() -> None:
    assert Play().run("""
        create c a
        create d a
    """) == [*created(1, "c"), "settled d raised id-exists"]


@pytest.mark.parametrize("failure", ["reject"])
@pytest.mark.parametrize("event", ["session/created", "agent/created"])
def test_an_asynchronous_failure_of_a_creation_listener_vetoes_nothing(event: str, failure: str) -> None:
    """Decision 27."""
    assert Play().run(f"""
        react {event} do {failure} V
        create c a
    """) == created(1, "c")


@pytest.mark.parametrize(
    ("first", "second", "code"),
    [
        ("abort c", "unload host", "aborted"),
        ("unload host", "abort c", "owner-disposed"),
        ("unload provider", "unload host", "provider-inactive"),
        ("withdraw c", "abort c", "lifecycle-disposed"),
        ("unload host", "withdraw c", "owner-disposed"),
    ],
)
def test_the_first_cause_is_what_the_creation_raises(first: str, second: str, code: str) -> None:
    play = in_setup("setup signal")
    assert f"settled c raised {code}" in play.run(f"{first}\n{second}")


def test_a_throw_after_the_first_cause_does_not_replace_it() -> None:
    play = in_setup("setup signal")
    assert play.run("""
        abort c
        release setup c throw
    """) == ["settled abort returned", "settled c raised aborted"]


def test_a_veto_after_an_end_from_inside_does_not_replace_the_cause() -> None:
    assert Play().run("""
        react session/created do withdraw this; throw V
        create c a
    """) == lines("""
        session/created a#1
        settled r1.0 returned
        session/disposed a#1
        settled c raised lifecycle-disposed
    """)


def test_an_unload_ends_what_is_pending_at_its_begin() -> None:
    """Decision 9: the begin of an unload deactivates pending creations; a load does not bring them back."""
    play = in_setup()
    assert sorted(
        play.run("""
        unload host
        load host
        release setup c ok
    """)
    ) == ["settled c raised owner-disposed", "settled load returned", "settled unload returned"]
    assert play.run("create d a") == created(1, "d")


def test_pending_children_fail_from_the_moment_their_parent_begins_to_end() -> None:
    """Decision 11: ``owner-disposed`` if the parent began to end first, although its driver still runs."""
    play = playing("""
        create p a
        settle
        hold model p deaf
        send p A
        hold setup k
        create k b by=agent:p setup
    """)
    assert play.run("dispose p") == lines("""
        signal a#1 turn=1 disposed
        agent/status a#1 disposed
        settled k raised owner-disposed
    """)
    assert play.run("create l b by=agent:p") == ["settled l raised owner-inactive"]


def test_an_abort_is_void_when_no_signal_is_armed() -> None:
    play = playing()
    assert play.run("abort c") == []
    assert len(play.void) == 1
