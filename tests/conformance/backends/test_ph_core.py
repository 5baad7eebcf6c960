"""ph-core as it is published: driven to the end of each trace, and what it shows is put down to clauses."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from probate_conformance.backends.ph_core import RUNTIME, PhCoreBackend, ph_core_backend
from probate_conformance.backends.pip_runtime import PipRuntime
from probate_conformance.checking import check
from probate_conformance.errors import BackendAbsent
from probate_conformance.lockstep import examine
from probate_conformance.plan import Plan
from probate_conformance.trace import Trace
from probate_conformance.view import view_of
from probate_model.alphabet.items import Settle
from probate_model.alphabet.names import BAD_TEXT, AgentId, Label, OwnerName
from probate_model.alphabet.ops import ByOwner, Create, Send
from probate_model.clauses import CLAUSES


@pytest.fixture(scope="module")
def ph_core() -> Iterator[PhCoreBackend | None]:
    """Give the real ph-core, which is installed if it is not; none where no Python is that it runs on."""
    try:
        RUNTIME.install()
    except BackendAbsent as absent:
        assert "ph-core needs Python 3.13 or 3.12" in absent.what  # noqa: PT017
        yield None
        return
    with ph_core_backend() as backend:
        yield backend


@pytest.mark.no_cover  # what explains its failures is covered by the tests of drift
@pytest.mark.parametrize("edition", ["2026-06", "2026-08"])
def test_each_trace_is_judged(ph_core: PhCoreBackend | None, edition: str) -> None:
    if ph_core is None:
        with pytest.raises(BackendAbsent):
            ph_core_backend()
        return
    checked = ph_core.converse(check(ph_core.manifest, Plan(seed=0, cases=6, edition=edition), name="ph-core"))
    assert (checked.traces, checked.troubles, checked.ended) == (6, [], None)
    assert not checked.unknown
    assert checked.failed.keys() <= CLAUSES.keys()
    for clause in ("CALL-01", "CREATE-01", "PUBLISH-01", "PUBLISH-02", "PUBLISH-03", "REGISTRY-02"):
        assert checked.demanded[clause]
        assert not checked.failed[clause]


def test_a_text_with_half_a_letter_in_it_is_taken(ph_core: PhCoreBackend | None) -> None:
    if ph_core is not None:
        creation = Create(Label("c1"), AgentId("a"), ByOwner(OwnerName("host")))
        trace = Trace(items=(creation, Settle(), Send(Label("s2"), Label("c1"), BAD_TEXT)))
        examined = ph_core.converse(examine(trace, view_of(ph_core.manifest)))
        assert examined.divergence is not None
        assert examined.divergence.clause == "INBOX-03"


def test_it_says_why_it_does_not_claim_what_it_does_not(ph_core: PhCoreBackend | None) -> None:
    if ph_core is not None:
        assert ph_core.manifest.edition == "2026-08"
        assert {"unload_owner", "unload_provider"} <= set(ph_core.manifest.unclaimed.ops)
        assert len(ph_core.manifest.notes) > 5


def test_its_lock_is_whole() -> None:
    lines = RUNTIME.lock.read_text().splitlines()
    pinned = [line for line in lines if "==" in line]
    assert any(line.startswith("ph-core==") for line in pinned)
    assert all(line.endswith("\\") for line in pinned)  # its digests follow
    assert isinstance(RUNTIME, PipRuntime)
