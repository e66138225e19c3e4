"""A ROS domain of one's own: two runs that share one by chance hear, and command, each other's robots."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import socket
from collections.abc import Iterator

from impact_aware.errors import ImpactAwareError, InvalidInputError

LARGEST = 101
"""Largest ROS domain in use here: the ports of larger ones are in Linux's ephemeral range."""

COUNT = 100
"""Domains 1 to this one are looked at: the last ports of the largest are such ports already."""

_FIRST_PORT, _PORTS = 7400, 250
"""UDP ports of domain 0, and how many belong to each (DDSI-RTPS 2.5, section 9.6.2.4)."""

_LOOPBACK = "127.0.0.1"


class NoFreeDomainError(ImpactAwareError):
    """Every ROS domain of this machine is in use."""


def add_domain(parser: argparse.ArgumentParser) -> None:
    """Declare `--domain`, which lets the user choose."""
    parser.add_argument("--domain", type=_number, help="ROS_DOMAIN_ID (default: a free one)")


def _number(text: str) -> int:
    # Not `isdecimal`, which takes digits of any script.
    if not (re.fullmatch("[0-9]{1,3}", text) and int(text) <= LARGEST):
        raise argparse.ArgumentTypeError(f"got {text[:80]}, expected a ROS domain from 0 to {LARGEST}")
    return int(text)


@contextlib.contextmanager
def own_domain(wanted: int | None = None, *, alone: bool = False) -> Iterator[int]:
    """Reserve a free domain as long as the context lasts, or the one that is `wanted`.

    Others may listen in a domain that is wanted, as RViz does; `alone`, no second run may have it that is to be alone.

    The claim is the last UDP port of the domain, which only the 120th participant would need: the system gives it to
    one process, and takes it back however that ends.

    Raises:
        NoFreeDomainError: All of them are in use.
        InvalidInputError: Another run has the domain that is wanted.
    """
    if wanted is not None:
        # The last port of a larger one may be anybody's.
        claim = _bound(_ports(wanted)[-1], _LOOPBACK) if alone and wanted <= COUNT else None
        if alone and wanted <= COUNT and claim is None:
            raise InvalidInputError("--domain", wanted, "a ROS domain in which no other run of impact-aware is")
        with claim or contextlib.nullcontext():
            yield wanted
        return
    claim, domain = _claim()
    with claim:
        yield domain


def _claim() -> tuple[socket.socket, int]:
    for offset in range(COUNT):
        domain = 1 + (os.getpid() + offset) % COUNT
        ports = _ports(domain)
        claim = _bound(ports[-1], _LOOPBACK)
        if claim is None:
            continue
        # Participants that claimed nothing listen somewhere here, which ports depends on their settings.
        if all(_is_free(port) for port in ports[:-1]):
            return claim, domain
        claim.close()
    raise NoFreeDomainError(f"all ROS domains from 1 to {COUNT} are in use on this machine: choose one by --domain")


def _ports(domain: int) -> range:
    return range(_FIRST_PORT + _PORTS * domain, _FIRST_PORT + _PORTS * (domain + 1))


def _is_free(port: int) -> bool:
    found = _bound(port)
    if found is not None:
        found.close()
    return found is not None


def _bound(port: int, address: str = "") -> socket.socket | None:
    """Return a UDP socket bound to this port of an address, or of all; None when the port is in use."""
    found = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        found.bind((address, port))
    except OSError:
        found.close()
        return None
    return found
