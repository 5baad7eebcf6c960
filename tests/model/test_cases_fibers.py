"""The numbered cases H of the contract, and traces T26 and T27: fibers, effects, services."""

from __future__ import annotations

from tests.model.helpers import Play, lines


def planted() -> Play:
    """Give a world of profile ``fibers`` in which nothing is plugged in."""
    return Play(profile="fibers")


def loaded(*fibers: str) -> Play:
    """Give a world with these fibers, loaded."""
    play = planted()
    play.run("\n".join(f"plug {fiber}" for fiber in fibers))
    return play


def test_h1_all_siblings_have_begun_before_one_has_ended() -> None:
    play = loaded("f effects=1,1")
    assert play.run("""
        hold disposer f.0
        hold disposer f.1
        unplug f
    """) == lines("""
        fiber/state f unloading
        effect/dispose f.1 1
        effect/dispose f.0 1
    """)
    assert play.run("release disposer f.0") == ["effect/disposed f.0 1 ok"]
    assert play.run("release disposer f.1") == lines("""
        effect/disposed f.1 1 ok
        fiber/state f disposed
        settled unplug returned
    """)


def test_t26_siblings_start_in_one_wave_and_members_strictly_in_reverse() -> None:
    play = loaded("f effects=1,1", "g effects=2")
    assert play.run("unplug f")[1:3] == ["effect/dispose f.1 1", "effect/dispose f.0 1"]
    assert play.run("unplug g")[1:5] == lines("""
        effect/dispose g.0 2
        effect/disposed g.0 2 ok
        effect/dispose g.0 1
        effect/disposed g.0 1 ok
    """)


def test_h2_the_members_of_one_effect_end_one_after_the_other() -> None:
    play = loaded("f effects=3")
    assert play.run("""
        hold disposer f.0
        unplug f
    """)[1:] == ["effect/dispose f.0 3"]
    assert play.run("release disposer f.0") == ["effect/disposed f.0 3 ok", "effect/dispose f.0 2"]
    assert play.run("release disposer f.0") == ["effect/disposed f.0 2 ok", "effect/dispose f.0 1"]


def test_h3_a_failing_member_skips_the_rest_of_its_effect_and_nothing_else() -> None:
    play = loaded("f effects=2,3")
    play.run("hold disposer f.0")
    assert play.run("""
        plan disposer f.1 ok fail
        unplug f
    """)[1:] == lines("""
        effect/dispose f.1 3
        effect/dispose f.0 2
        effect/disposed f.1 3 ok
        effect/dispose f.1 2
        effect/disposed f.1 2 fail
    """)
    assert play.run("open disposer f.0") == lines("""
        effect/disposed f.0 2 ok
        effect/dispose f.0 1
        effect/disposed f.0 1 ok
        fiber/state f disposed
        settled unplug returned
    """)


def test_h5_a_replaced_provider_reloads_its_consumer_exactly_once() -> None:
    play = loaded("p provides=s", "c inject=s effects=1")
    play.run("hold disposer c.0")
    assert play.run("unplug p") == ["fiber/state p unloading", "fiber/state c unloading", "effect/dispose c.0 1"]
    assert play.run("plug q provides=s")[-1] == "fiber/state q active"
    assert play.run("open disposer c.0") == lines("""
        effect/disposed c.0 1 ok
        fiber/state c loading
        fiber/state p disposed
        fiber/body c
        fiber/state c active
        settled unplug returned
    """)
    assert play.run("use c s") == ["settled use returned q"]


def test_h6_an_effect_from_a_cleanup_is_refused() -> None:
    play = loaded("f effects=1")
    play.run("react effect/dispose do effect e on=f")
    assert play.run("unplug f")[1:3] == ["effect/dispose f.0 1", "settled r1.0 raised inactive"]


def test_h7_a_setup_that_fails_is_undone_in_reverse() -> None:
    play = loaded("f")
    assert play.run("""
        plan effect e throw
        effect e on=f members=2 slow
    """) == lines("""
        effect/dispose e 2
        effect/disposed e 2 ok
        effect/dispose e 1
        effect/disposed e 1 ok
        settled e raised thrown:effect
    """)


def test_h9_an_unload_joins_the_end_that_somebody_else_began() -> None:
    play = loaded("f")
    play.run("effect e on=f")
    assert play.run("""
        hold disposer e
        end e -> first
    """) == ["effect/dispose e 1"]
    assert play.run("""
        end e -> second
        unplug f
    """) == ["fiber/state f unloading"]
    assert play.run("release disposer e") == lines("""
        effect/disposed e 1 ok
        fiber/state f disposed
        settled first returned
        settled second returned
        settled unplug returned
    """)


def test_h10_the_end_of_an_effect_waits_for_its_setup() -> None:
    play = loaded("f")
    play.run("""
        hold effect e
        effect e on=f slow
    """)
    assert play.run("unplug f") == ["fiber/state f unloading"]
    assert play.run("release effect e") == lines("""
        effect/dispose e 1
        settled e returned
        effect/disposed e 1 ok
        fiber/state f disposed
        settled unplug returned
    """)


def test_h11_a_body_that_fails_leaves_its_fiber_failed_and_siblings_alone() -> None:
    play = loaded("g")
    assert play.run("""
        plan body f throw
        plug f effects=1
    """) == lines("""
        fiber/state f loading
        settled f returned
        fiber/body f
        fiber/state f unloading
        effect/dispose f.0 1
        effect/disposed f.0 1 ok
        fiber/state f failed
    """)
    assert play.run("use g s name") == ["settled use returned"]
    assert play.run("restart f")[-2:] == ["fiber/state f active", "settled restart returned"]


def test_h13_an_observer_that_throws_changes_nothing() -> None:
    play = loaded("f effects=1")
    play.run("react fiber/state state=disposed do throw T")
    assert play.run("unplug f")[-2:] == ["fiber/state f disposed", "settled unplug returned"]


def test_h14_a_second_provider_fails_and_the_first_is_intact() -> None:
    play = loaded("p provides=s", "q provides=s")
    assert play.run("use q s name") == ["settled use returned p"]
    assert play.run("provide r p s") == ["settled r raised service-exists"]
    assert play.run("restart q")[-2:] == ["fiber/state q failed", "settled restart returned"]


def test_t27_a_provider_ends_after_its_dependents_and_comes_back_to_them() -> None:
    play = loaded("p provides=s", "c inject=s effects=1")
    assert play.run("restart p") == lines("""
        fiber/state p unloading
        fiber/state c unloading
        effect/dispose c.0 1
        effect/disposed c.0 1 ok
        fiber/state c pending
        fiber/state p loading
        fiber/body p
        fiber/state p active
        fiber/state c loading
        fiber/body c
        settled restart returned
        fiber/state c active
    """)


# Beside the cases.


def test_a_flap_while_the_dependent_loads_is_no_reload() -> None:
    play = loaded("p")
    play.run("""
        provide first p s
        hold body c
        plug c inject=s
    """)
    assert play.run("""
        end first
        provide second p s
    """) == ["settled second returned"]
    assert play.run("release body c") == ["fiber/state c active", "settled end returned"]


def test_what_is_disposed_before_its_body_never_enters_it() -> None:
    assert planted().run("""
        plug f
        unplug f
    """) == lines("""
        fiber/state f loading
        settled f returned
        fiber/state f unloading
        fiber/state f disposed
        settled unplug returned
    """)


def test_an_agent_ends_with_its_fiber_and_in_its_own_order() -> None:
    play = loaded("f effects=1")
    play.run("create c a by=f")
    play.run("""
        hold flush c
        send c hello
    """)
    assert play.run("unplug f")[:3] == lines("""
        fiber/state f unloading
        agent/status a#1 disposed
        effect/dispose f.0 1
    """)
    assert play.run("open flush c") == lines("""
        agent/disposed a#1
        session/disposed a#1
        fiber/state f disposed
        settled unplug returned
    """)
    assert play.run("create d a by=f") == ["settled d raised owner-inactive"]


def test_a_use_needs_a_declaration_and_a_lookup_does_not() -> None:
    play = loaded("p provides=s", "c inject=s", "x")
    play.run("plug d in=c")
    assert play.run("""
        use c s
        use d s
        use p s
        use x s
        use x s name
    """) == lines("""
        settled use returned p
        settled use2 returned p
        settled use3 returned p
        settled use4 raised not-injected
        settled use5 returned p
    """)
    play.run("unplug p")
    assert play.run("use c s") == ["settled use6 raised inactive"]


def test_nobody_waits_in_a_circle() -> None:
    play = planted()
    play.run("plug x inject=s")
    play.run("plug d in=x provides=t")
    assert play.run("plug y inject=t provides=s")[-1] == "fiber/state x active"
    shown = play.run("unplug y")
    assert {"fiber/state y disposed", "fiber/state d disposed", "settled unplug returned"} <= set(shown)
    assert shown[-1] == "fiber/state x pending"
