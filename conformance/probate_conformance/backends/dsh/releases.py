"""The releases of the packaged runtime: which wheel each is, to the byte.

They are run as they were fetched, so what is fetched is locked by its digest. Only the wheels for the platform on which
the adapter is tried are known.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from probate_conformance.backends.install import WheelRuntime

_DIGESTS: Final = {
    "0.1.0rc6": "d7261d3bdadfa8d10ab03fd06c6bbc66a182ae27d39892a0eb7c2ce9d63a5448",
    "0.1.0rc7": "bf26f76a8cab7bedcce3a060b81d19ec1cabd8bd261c40b47381d630742797a7",
    "0.1.1rc1": "8eb31e3ab2bc3ff45474fe419eb389e32553391f1a40789ea2cc3dc8d6de137b",
    "0.1.2rc1": "670d8af06845cc2fc16738f1b030375321f3f8268837152aa3100e14a7b9887d",
    "0.1.5rc1": "ad877237382baff4628969a9ebdbfe38486d971b7987c032d0e29775759b5229",
    "0.2.1rc2": "0a0a4eb85a22cd9339972e6a5ced77a27ec791353a5b220e3e10b8cdbbdeca39",
}

RELEASES: Final[Mapping[str, WheelRuntime]] = MappingProxyType(
    {
        version: WheelRuntime(f"dsh@{version}", "deepseek-harness-runtime-bin", version, digest, "linux-x86_64")
        for version, digest in _DIGESTS.items()
    }
)
"""By version, oldest first."""
