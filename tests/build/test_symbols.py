"""One vocabulary: the build knows every symbol of every formula."""

import re

import pytest

from autograder import build, symbols

KNOWN = {"W_Q": "", "W": "", "t": "", "x": "", r"\alpha": "", r"\barv": "", "s": ""}


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        (r"x W_Q", {"x", "W_Q"}),
        (r"W_{Q}", {"W_Q"}),
        (r"W_t x_{t-1}", {"W", "t", "x"}),
        (r"\alpha_{ts}", {r"\alpha", "t", "s"}),
        (r"\bar v = \frac{\sum_s x_s}{t}", {r"\barv", "s", "x", "t"}),
        (r"\mathrm{softmax}(x) \text{ and so on}", {"x"}),
        (r"\sqrt{t} \cdot \exp(x) \begin{pmatrix} s \end{pmatrix}", {"t", "x", "s"}),
    ],
)
def test_a_formula_is_taken_apart_into_its_symbols(formula, expected):
    assert symbols.used(formula, KNOWN) == expected


def test_code_and_prices_are_no_formulas():
    assert symbols.formulas("`a $x$ b` and $y$, then $$z$$ for 5 $ or 6 $") == ["y", "z"]


@pytest.fixture
def declaring(monkeypatch):
    def declare(**tables):
        monkeypatch.setattr(symbols, "declared", lambda: tables)

    return declare


def test_an_undeclared_symbol_is_refused_with_its_formula(declaring):
    declaring(everywhere={"q": "a query"})
    with pytest.raises(symbols.SymbolError, match=r"\$q \+ y\$ uses y, which symbols.toml"):
        symbols.check("00_start_here", ["Look: $q + y$."])


def test_a_symbol_declared_for_one_notebook_and_for_all_is_refused(declaring):
    declaring(everywhere={"q": "a query"}, **{"00_start_here": {"q": "a question"}})
    with pytest.raises(symbols.SymbolError, match="declares q for 00_start_here and for every"):
        symbols.check("00_start_here", ["$q$"])


def test_a_symbol_declared_twice_in_one_table_is_refused(tmp_path, monkeypatch):
    twice = tmp_path / "symbols.toml"
    twice.write_text("[everywhere]\n'q' = 'a'\n'q' = 'b'\n", encoding="utf-8")
    monkeypatch.setattr(symbols, "FILE", twice)
    symbols.declared.cache_clear()
    with pytest.raises(symbols.SymbolError, match="declared twice"):
        symbols.declared()
    symbols.declared.cache_clear()


def test_no_symbol_is_declared_for_a_notebook_that_does_not_use_it():
    for name in build.names():
        cells = build.read_source(build.SOURCES / f"{name}.py").cells
        prose = [cell.source for cell in cells if cell.cell_type == "markdown"]
        unused = symbols.declared().get(name, {}).keys() - set(symbols.check(name, prose))
        assert unused == set(), name


def test_a_notebook_closes_with_a_table_of_the_symbols_that_it_uses():
    cells = build.read_source(build.SOURCES / "05_self_attention.py").cells
    tables = [c.source for c in cells if c.source.startswith("## Symbols")]
    assert len(tables) == 1
    assert "| $W_Q$ | " in tables[0] and r"| $\alpha$ |" not in tables[0]


def test_the_build_names_the_file_of_an_undeclared_symbol(tmp_path, monkeypatch):
    good = (build.SOURCES / "00_start_here.py").read_text(encoding="utf-8")
    monkeypatch.setattr(build, "SOURCES", tmp_path)
    source = tmp_path / "00_start_here.py"
    source.write_text(good + "\n\n# %% [markdown]\n# And $\\omega$.\n", encoding="utf-8")
    with pytest.raises(build.BuildError, match=r"00_start_here.py: .*\\omega"):
        build.read_source(source)


@pytest.mark.parametrize("notebook", build.names())
def test_the_table_writes_only_commands_that_latex_knows(notebook):
    table = symbols.table(notebook, list(symbols.of(notebook)))
    commands = set(re.findall(r"\\([A-Za-z]+)", table))
    assert commands <= {*symbols.GREEK, *symbols.ACCENTS}
