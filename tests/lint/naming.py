"""Names that somebody from the field recognises: `python tests/lint/naming.py` (part of `make lint`).

Modules are nouns, functions start with a verb, a public class name stands for one thing within a distribution,
and a module stays short enough to be read in one sitting. Words of a former private dialect do not come back.
"""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DISTRIBUTIONS = {
    "nav-eval": "services",
    "nav-eval-sdk": "sdk/nav_eval_sdk",
    "nav-eval-habitat": "sdk/habitat/nav_eval_habitat",
}
GIVEN_NAMES = ("sdk/habitat/habitat_sim", "sdk/habitat/magnum")
"""Packages whose names are another project's: only how long their modules are is ours to choose."""
VERBS = set((Path(__file__).parent / "verbs.txt").read_text().split())
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
LEADS = {"is", "has", "can", "from", "to", "as", "on", "main"}
"""What a function may begin with besides a verb: predicates, factories, conversions, handlers of an event."""
NOUNS_IN_ING = {"lighting", "rendering", "scoring", "ranking", "culling", "mapping", "pricing", "string", "seating"}
DIALECT = {
    "acquaintance",
    "acquaintances",
    "attendance",
    "bell",
    "briefing",
    "broom",
    "companion",
    "doing",
    "easel",
    "farewell",
    "habit",
    "habits",
    "hand",
    "hands",
    "hold",
    "leash",
    "shelf",
    "shop",
    "sight",
    "sitting",
    "sketching",
    "stars",
    "turnstile",
    "untold",
    "workshop",
}
UNMISTAKABLE = {"acquaintance", "acquaintances", "easel", "leash", "turnstile", "workshop"}
"""Of these, words that have no other meaning here: docstrings do without them, too."""
LONGEST_MODULE = 400


def find_modules(folder: str) -> list[Path]:
    """The source files of a distribution, without generated code and migrations."""
    found = sorted((ROOT / folder).rglob("*.py"))
    return [path for path in found if not {"_generated", "versions"} & set(path.parts)]


def split_words(name: str) -> list[str]:
    """The words of a name, in lower case."""
    return re.findall(r"[a-z0-9]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower())


def check_module_name(path: Path) -> Iterator[str]:
    words = split_words(path.parent.name if path.stem == "__init__" else path.stem)
    if words and words[-1].endswith("ing") and words[-1] not in NOUNS_IN_ING:
        yield "is named after an activity; name the thing that it holds"
    yield from check_dialect(path.stem)


def check_length(path: Path) -> Iterator[str]:
    lines = len(path.read_text().splitlines())
    if lines > LONGEST_MODULE:
        yield f"has {lines} lines; more than {LONGEST_MODULE} are two modules"


def check_dialect(name: str) -> Iterator[str]:
    if found := DIALECT & set(split_words(name)):
        yield f"{name}: use the field's word for {', '.join(sorted(found))} (docs/concepts.md)"


def check_docstring(node: ast.AST) -> Iterator[str]:
    text = ast.get_docstring(node) if isinstance(node, DOCUMENTED) else None
    if text and (found := UNMISTAKABLE & set(re.findall(r"[a-z]+", text.lower()))):
        yield f"a docstring speaks of {', '.join(sorted(found))}; use the field's word (docs/concepts.md)"


def is_participle(word: str) -> bool:
    return word not in VERBS and word.endswith(("ed", "ing"))


def check_function(node: ast.FunctionDef | ast.AsyncFunctionDef, *, at_top: bool) -> Iterator[str]:
    decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
    if node.name.startswith("__") or any(re.search(r"property|setter|command|callback", text) for text in decorators):
        return
    first = split_words(node.name)[:1]
    if first and (is_participle(first[0]) or (at_top and first[0] not in VERBS | LEADS)):
        yield f"line {node.lineno}: {node.name}() does not start with a verb"


def check_source(path: Path) -> Iterator[str]:
    """What is wrong with the names inside one module."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        yield from check_docstring(node)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from check_function(node, at_top=node in tree.body)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from check_dialect(node.name)


def find_public_classes(path: Path) -> list[str]:
    tree = ast.parse(path.read_text())
    return [node.name for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]


def check_distribution(folder: str) -> Iterator[str]:
    """Every finding of one distribution, with its file."""
    homes: dict[str, list[str]] = defaultdict(list)
    for path in find_modules(folder):
        shown = path.relative_to(ROOT)
        for check in (check_module_name, check_length, check_source):
            yield from (f"{shown}: {finding}" for finding in check(path))
        for name in find_public_classes(path):
            homes[name].append(str(shown))
    for name, places in sorted(homes.items()):
        if len(places) > 1:
            yield f"class {name} stands for several things: {', '.join(places)}"


def main(only: list[str]) -> int:
    """Print the findings; arguments keep those that mention one of them."""
    findings = [finding for folder in DISTRIBUTIONS.values() for finding in check_distribution(folder)]
    for path in (path for folder in GIVEN_NAMES for path in find_modules(folder)):
        findings += [f"{path.relative_to(ROOT)}: {finding}" for finding in check_length(path)]
    shown = [finding for finding in findings if not only or any(part in finding for part in only)]
    print("\n".join(shown) or "Names are in order.")
    return int(bool(shown))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
