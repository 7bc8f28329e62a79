"""The pages: every Python and console block runs, every link, anchor and picture exists, every page can be found."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import matplotlib
import pytest

import bcfw

ROOT = Path(__file__).resolve().parent.parent
DOCS = sorted((ROOT / "docs").rglob("*.md"))
PAGES = [ROOT / "README.md", *DOCS]
LINKING = [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
FENCED = re.compile(r"^```.*?^```", flags=re.DOTALL | re.MULTILINE)


RUNNING = re.compile(r"^```(python|console)\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", flags=re.MULTILINE)


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def prose(page: Path) -> str:
    """The page without code: neither blocks nor spans in backticks hold links or headings."""
    return re.sub(r"`[^`\n]*`", "", FENCED.sub("", page.read_text(encoding="utf-8")))


def links(page: Path) -> list[tuple[str, str]]:
    """Target and anchor of every link and picture that stays in the repository; either may be empty."""
    targets = re.findall(r"\]\(([^)\s]+)\)", prose(page))
    return [(path, anchor) for path, _, anchor in (target.partition("#") for target in targets) if ":" not in path]


def anchors(page: Path) -> set[str]:
    """What GitHub lets one link to: headings in lower case without punctuation, blanks as hyphens, repeats numbered."""
    found: set[str] = set()
    for heading in re.findall(r"^#+ +(.+?) *$", FENCED.sub("", page.read_text(encoding="utf-8")), flags=re.MULTILINE):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        repeats = (f"{slug}-{number}" for number in range(1, 100))
        found.add(slug if slug not in found else next(one for one in repeats if one not in found))
    return found


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_code_on_the_page_runs(page, tmp_path, monkeypatch):
    """In order, Python blocks in one namespace; commands of console blocks print what stands below them."""
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    namespace: dict[str, object] = {"__name__": "page"}
    for number, (language, block) in enumerate(RUNNING.findall(page.read_text(encoding="utf-8"))):
        if language == "python":
            exec(compile(block, f"{page.name}, block {number}", "exec"), namespace)
        else:
            for command, expected in COMMAND.findall(block):
                check_command(command, expected)


def check_command(command: str, expected: str) -> None:
    """Run a command of a shell; "..." in what it should print to standard output stands for anything."""
    done = subprocess.run(["sh", "-c", command], capture_output=True, encoding="utf-8", check=False)
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    same = doctest.OutputChecker().check_output(expected, done.stdout, options)
    assert same, f"$ {command}\nexpected:\n{expected}\nprinted:\n{done.stdout}\n{done.stderr}"


def test_commands_are_checked_against_what_the_page_says():
    commands = COMMAND.findall("$ echo one\none\n$ echo two\n$ echo three; exit 3\nth...\n")
    assert commands == [("echo one", "one\n"), ("echo two", ""), ("echo three; exit 3", "th...\n")]
    for command, expected in (commands[0], commands[2]):
        check_command(command, expected)
    with pytest.raises(AssertionError, match=r"expected:\s+printed:\s+two"):
        check_command(*commands[1])


@pytest.mark.parametrize("page", LINKING, ids=name_of)
def test_links_and_pictures_exist(page):
    for path, anchor in links(page):
        target = (page.parent / path).resolve() if path else page
        assert target.is_relative_to(ROOT), f"{page.name} links to {path}, which is outside the repository"
        assert target.exists(), f"{page.name} links to {path}"
        if anchor:
            assert target.suffix == ".md", f"{page.name} links to {path}#{anchor}, which is no page"
            assert anchor in anchors(target), f"{page.name} links to {path}#{anchor}; {sorted(anchors(target))}"


def test_anchors_are_those_of_github(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# A `b_c`: d, e\n## Same\n```sh\n# no heading\n```\n## Same\n## [Linked](there.md) - x\n")
    assert anchors(page) == {"a-b_c-d-e", "same", "same-1", "linked---x"}


def test_links_in_code_do_not_count(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("[a](b.md#c) `[no](no.md)` ![p](p.png) [web](https://x.y/z) [here](#d)\n```sh\n[no](no.md)\n```\n")
    assert links(page) == [("b.md", "c"), ("p.png", ""), ("", "d")]


def test_every_page_can_be_reached_from_the_index():
    index = ROOT / "docs" / "index.md"
    assert index in {(ROOT / path).resolve() for path, _ in links(ROOT / "README.md")}
    reached, waiting = {index}, [index]
    while waiting:
        page = waiting.pop()
        targets = {(page.parent / path).resolve() for path, _ in links(page) if path}
        new = [target for target in targets if target in DOCS and target not in reached]
        reached.update(new)
        waiting.extend(new)
    assert reached == set(DOCS)


def test_every_picture_is_shown():
    shown = {(page.parent / path).resolve() for page in LINKING for path, _ in links(page)}
    pictures = [path for path in (ROOT / "docs" / "images").iterdir() if path.suffix in (".png", ".svg")]
    assert pictures
    assert shown.issuperset(pictures)


def test_pages_named_in_the_source_exist():
    for folder in ("src", "examples", "benchmarks", "tests"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            for page in re.findall(r"\bdocs/[\w/]+\.md", file.read_text(encoding="utf-8")):
                assert (ROOT / page).exists(), f"{name_of(file)} names {page}"


def test_every_model_estimator_and_solver_has_a_place():
    """A class that is born without documentation is noticed here."""
    models, solvers = ((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("models.md", "solvers.md"))
    for model in bcfw.models.MODELS.values():
        assert f"\n## {model.__name__}\n" in models
    for name in bcfw.estimators.__all__:
        assert f"`{name}`" in models or f"`bcfw.estimators.{name}`" in models, f"models.md does not mention {name}"
    for name, solver in bcfw.solvers.SOLVERS.items():
        assert f'| `"{name}"` | `{solver.__name__}()` |' in solvers


def test_every_domain_rule_step_and_objective_has_a_place():
    page = (ROOT / "docs" / "minimize.md").read_text(encoding="utf-8")
    names = [*bcfw.domains.__all__, *bcfw.steps.__all__, *bcfw.objectives.__all__]
    rules = [name for name, one in vars(bcfw.selection).items() if isinstance(one, type) and "window" in vars(one)]
    for name in {*names, *rules} - {"Domain", "Rule"}:
        assert f"`{name}(" in page or f"`bcfw.objectives.{name}(" in page, f"minimize.md does not mention {name}"


def read_citation() -> dict[str, str]:
    """The top-level entries of CITATION.cff: parsed, if a YAML parser is installed, else by their lines."""
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    try:
        import yaml
    except ImportError:
        return {key: value.strip(' "') for key, value in re.findall(r"^([\w-]+):(.*)$", text, flags=re.MULTILINE)}
    return {key: str(value) for key, value in yaml.safe_load(text).items()}


def test_citation_has_what_the_format_requires_and_our_version():
    citation = read_citation()
    assert {"cff-version", "message", "title", "authors", "references"} <= set(citation)
    assert citation["cff-version"] == "1.2.0"
    assert citation["version"] == bcfw.__version__
    assert citation["license"] == "MIT"


def test_citation_has_the_papers_of_the_design_page():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    design = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `[\w-]+-(20\d\d)` \| [^|:]*: ([^.|]+)\.", design, flags=re.MULTILINE)
    assert len(rows) == text.count("\n  - type: ") == 4
    for year, title in rows:
        assert re.search(rf'title: "{re.escape(title)}"(?:(?!  - type:).)*\n    year: {year}\n', text, re.DOTALL), title
