"""The random numbers are those that SplitMix64's author published, and a seed means the same everywhere."""

from __future__ import annotations

from collections import Counter

import pytest

from probate_conformance.randomness import SplitMix64, stream_of

# From the reference implementation (seed 0) and from the published list of its first numbers (seed 1234567).
PUBLISHED = {
    0: [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F, 0xF88BB8A8724C81EC, 0x1B39896A51A8749B],
    1234567: [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ],
}


@pytest.mark.parametrize("seed", PUBLISHED)
def test_the_first_numbers_are_the_published_ones(seed: int) -> None:
    source = SplitMix64(seed)
    assert [source.draw() for _ in range(5)] == PUBLISHED[seed]


def test_a_seed_is_taken_modulo_two_to_the_64() -> None:
    assert SplitMix64((1 << 64) + 5).draw() == SplitMix64(5).draw()
    assert SplitMix64(-1).draw() == SplitMix64((1 << 64) - 1).draw()


def test_a_number_below_a_bound_is_the_high_half_of_the_product() -> None:
    source = SplitMix64(0)
    assert [source.below(100) for _ in range(5)] == [draw * 100 >> 64 for draw in PUBLISHED[0]]
    assert [SplitMix64(0).below(1)] == [0]


def test_numbers_below_a_bound_are_spread_evenly() -> None:
    source = SplitMix64(7)
    counts = Counter(source.below(7) for _ in range(7000))
    assert sorted(counts) == list(range(7))
    assert all(850 < count < 1150 for count in counts.values())


def test_options_are_drawn_by_their_weight() -> None:
    source = SplitMix64(8)
    counts = Counter(source.weighted([(1, "a"), (0, "b"), (3, "c")]) for _ in range(4000))
    assert counts["b"] == 0
    assert 900 < counts["a"] < 1100
    assert counts["a"] + counts["c"] == 4000


def test_choices_and_chances_each_take_one_number() -> None:
    source, plain = SplitMix64(9), SplitMix64(9)
    assert source.choose("abcd") == "abcd"[plain.below(4)]
    assert source.chance(2, 7) == (plain.below(7) < 2)
    assert source.draw() == plain.draw()


def test_each_trace_of_a_run_has_a_stream_of_its_own() -> None:
    firsts = [stream_of(seed, number).draw() for seed in range(20) for number in range(20)]
    assert len(set(firsts)) == 400
    assert stream_of(1, 2).draw() == SplitMix64(SplitMix64(1).draw() + 2).draw()
