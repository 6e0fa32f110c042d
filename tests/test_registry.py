"""The registry as Python sees it."""

from __future__ import annotations

import html

import pytest

import phicoll
from phicoll.registry import AlgorithmList, algorithm_sets, short_spec

PAPERS_AND_OURS = [
    *("sense-reversing", "combining-tree", "static-tournament", "dynamic-tournament", "dissemination"),
    *("hybrid-dissemination", "counter-tree-notify", "centralized-bytes", "centralized-lines", "tree"),
    *(
        "k-nomial-tree",
        "tournament-tree",
        "binomial-tree",
        "one-to-all",
        "signal-register",
        "pairwise-exchange",
    ),
    *("all-to-all", "dissemination-acknowledged", "simd-flags", "libomp-hyper", "auto"),
]
REFERENCES = [
    "hand-one-line",
    "hand-two-lines",
    "std-barrier",
    "pthread-barrier",
    "libgomp",
    "libomp",
    "libiomp5",
]


def test_every_barrier_is_there_with_what_a_list_needs():
    found = phicoll.algorithms("barrier")
    assert set(PAPERS_AND_OURS + REFERENCES) <= set(found.names)
    for algorithm in found:
        assert algorithm.origin in ("paper", "phicoll", "reference")
        assert algorithm.source
        assert algorithm.summary
        for parameter in algorithm.parameters:
            assert parameter.name
            assert parameter.range
            assert parameter.default
            assert parameter.meaning
        if algorithm.name in PAPERS_AND_OURS + REFERENCES:
            assert (algorithm.origin == "reference") == (algorithm.name in REFERENCES)
        if algorithm.origin != "reference":
            assert algorithm.parameters[-1].name == "wait"
    assert "<table" in found._repr_html_()
    lines = repr(found).splitlines()
    assert [line.split()[0] for line in lines] == found.names
    assert max(map(len, lines)) < 140


@pytest.mark.parametrize("operation", ["barrier", "allreduce"])
def test_what_most_algorithms_take_is_said_once(operation):
    shown = phicoll.algorithms(operation)._repr_html_()
    wait = phicoll.algorithms(operation)[0].parameters[-1]
    assert shown.count(html.escape(wait.meaning)) == 1
    takers = sum(wait in algorithm.parameters for algorithm in phicoll.algorithms(operation))
    assert shown.count("<code>wait</code>") == takers + 1


def test_a_table_of_one_algorithm_keeps_its_parameters_in_its_row():
    table, _, below = AlgorithmList(phicoll.algorithms()[:1])._repr_html_().partition("</table>")
    assert "how a rank waits" in table
    assert below == ""


def test_sets_expand_to_members():
    assert {"all", "references", "paper-000", "paper-001", "paper-002", "paper-004"} <= set(algorithm_sets())
    everything = phicoll.expand("all")
    names = [a.name for a in phicoll.algorithms() if a.origin != "reference"]
    assert sorted(spec.split(":")[0] for spec in everything) == sorted(names)
    references = [a.name for a in phicoll.algorithms() if a.origin == "reference"]
    assert sorted(phicoll.expand("references")) == sorted(references)
    for name in ("paper-000", "paper-001", "paper-002", "paper-004"):
        assert phicoll.expand(name)
    arities = {spec for spec in phicoll.expand("paper-001") if spec.startswith("combining-tree")}
    assert len(arities) >= 6


def test_a_canonical_spec_is_its_own_canonical_form():
    for spec in phicoll.expand("all,references,paper-001"):
        assert phicoll.expand(spec) == [spec]


def test_specs_are_shown_without_their_defaults():
    (spec,) = phicoll.expand("dissemination:ways=3")
    assert short_spec("barrier", spec) == "dissemination:ways=3"
    assert short_spec("barrier", "hand-one-line") == "hand-one-line"
    assert short_spec("barrier", "unheard-of:a=1") == "unheard-of:a=1"


@pytest.mark.parametrize(
    ("algorithm", "argument", "words"),
    [
        ("disemination", "algorithm", "dissemination"),
        ("dissemination:ways=0", "dissemination:ways", "1 to 1024"),
        ("dissemination:ways=3.5", "dissemination:ways", "1 to 1024"),
        ("dissemination:arity=3", "dissemination", "ways"),
        ("sense-reversing:wait=spn", "wait", "spin"),
        ("paper-005", "algorithm", "paper-00"),
        ("", "algorithm", "at least one"),
        (["dissemination", "tre"], "algorithm", "tree"),
    ],
)
def test_what_is_unknown_or_out_of_range_is_refused_with_what_is_allowed(algorithm, argument, words):
    with pytest.raises(phicoll.ArgumentError) as caught:
        phicoll.expand(algorithm)
    assert argument in caught.value.argument
    assert words in caught.value.allowed


def test_an_unknown_operation_is_refused():
    for call in (phicoll.algorithms, lambda name: phicoll.expand("all", name), algorithm_sets):
        with pytest.raises(phicoll.ArgumentError, match=r"allowed: .*all: barrier"):
            call("sendrecv")
