"""Domains that two runs never share by chance."""

import os
import socket
import subprocess
import sys

import pytest

from impact_aware.bringup import domain as domains
from impact_aware.bringup.domain import NoFreeDomainError, own_domain
from impact_aware.cli.main import main
from impact_aware.errors import InvalidInputError


@pytest.fixture
def own_ports(monkeypatch):
    """Ports below all those of DDS, others in each process: what is done here to single domains is nobody else's."""
    monkeypatch.setattr(domains, "_FIRST_PORT", 2400 + os.getpid() % 250)


def test_two_runs_at_once_get_different_domains_and_give_them_back():
    with own_domain() as first, own_domain() as second:
        assert first != second
        assert {first, second} <= set(range(1, domains.COUNT + 1))
    with own_domain() as again:
        assert again == first


def test_another_process_leaves_a_claimed_domain_alone():
    with own_domain() as own:
        script = (
            f"import os; os.getpid = lambda: {own - 1}\n"
            "from impact_aware.bringup.domain import own_domain\n"
            "with own_domain() as domain: print(domain)"
        )
        other = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert int(other.stdout) != own


def test_a_domain_in_which_somebody_takes_part_is_passed_over():
    with own_domain() as own:
        pass
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as participant:
        # As DDS listens: together with whoever else does.
        participant.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        participant.bind(("", 7400 + 250 * own))
        with own_domain() as other:
            assert other != own


def test_a_domain_that_was_asked_for_is_taken_as_it_is():
    with own_domain(7) as first, own_domain(7) as second:
        assert (first, second) == (7, 7)


def test_a_domain_that_was_asked_for_alone_is_nobody_elses(own_ports):
    with own_domain(7, alone=True) as first, own_domain(8, alone=True), own_domain(7):
        assert first == 7
        with pytest.raises(InvalidInputError, match="--domain: got 7, expected a ROS domain in which no other run"):
            with own_domain(7, alone=True):
                pass
    with own_domain(7, alone=True):
        pass


@pytest.mark.parametrize("words", [["demo", "hit-and-push"], ["faults", "--dds", "detector_killed"]])
@pytest.mark.parametrize("number", ["102", "-1", "x", "\N{ARABIC-INDIC DIGIT THREE}", "9" * 5000])
def test_a_number_that_is_no_domain_is_refused_in_one_line(words, number, capsys):
    assert main([*words, "--domain", number]) == 2
    refusal = f"impact-aware: error: --domain: got {number[:80]}, expected a ROS domain from 0 to 101\n"
    assert capsys.readouterr().err == refusal


def test_without_a_free_domain_one_line_says_so(own_ports, monkeypatch):
    monkeypatch.setattr(domains, "COUNT", 1)
    with own_domain(), pytest.raises(NoFreeDomainError, match="choose one by --domain"), own_domain():
        pass


@pytest.mark.dds
def test_a_node_of_ros_occupies_its_domain(node, ros_domain):
    with pytest.MonkeyPatch.context() as patch:
        # Only this run's own domain is left, with a last port that nobody has claimed.
        patch.setattr(domains, "COUNT", 1)
        patch.setattr(domains, "_PORTS", 249)
        patch.setattr(domains, "_FIRST_PORT", 7400 + 250 * ros_domain - 249)
        with pytest.raises(NoFreeDomainError), own_domain():
            pass
