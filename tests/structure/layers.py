# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""The rules of the tree as functions of a tree: each takes a Tree and returns its violations as lines of text."""
import collections
import itertools
import os.path
import pathlib
import re

SOURCES = {".c", ".h", ".cu", ".cuh", ".def", ".py", ".sh", ".cmake"}
C_SOURCES = {".c", ".h", ".cu", ".cuh", ".def"}
# Where an include begins that names a file by its path.
INCLUDE_ROOTS = ("include", "backend", "kernels/host", "kernels/cuda", "reference", "tools/lacuna", "plugin")
LONG_FILE = 700

ROUTES = "backend/route/routes.def"
TEXTS = SOURCES | {".md", ".txt", ".1", ".7", ".cpp"}
# Results, the colours of routes that are drawn (others get a spare one), and what was written when there were no others.
HISTORY = ("bench/results/", "bench/plot_regret.py", "bench/render.py", "tests/structure/", "docs/dev/", "docs/user/accuracy.md", "docs/design/background.md", "CHANGELOG.md")

COMMENT_OR_TEXT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.S)
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)
ENVIRONMENT = re.compile(r"\b(?:secure_getenv|getenv|setenv|putenv|environ)\b")
OPENING = re.compile(r"\b(?:dlopen|dlmopen)\s*\(")
FUNCTION = re.compile(r"^(static inline )?[a-z_][\w *]*?[ *](\w+)\(", re.M)
ACCOUNT = re.compile(r"(?:->|\.)account\b")
ROUTE = re.compile(r"\blac_route_t\s+(\w+)(?:\[\d*\])?\s*=")
ROUTE_LINE = re.compile(r"(?m)^LAC_ROUTE\((\w+), (?!TRIVIAL|DENSE)")


class Folder:
    """One row of the layer table."""

    def __init__(self, layer, name, only):
        self.layer, self.name, self.only = layer, name, only

    def may_include(self, other, target):
        if other is self:
            return True
        if self.only:
            return other.name in self.only or target.as_posix() in self.only
        return self.layer is not None and other.layer is not None and other.layer < self.layer


class Tree:
    """The files of a checkout and the layer table that its docs/design/architecture.md declares."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.folders = self._layers()
        self.files = sorted(
            path.relative_to(self.root)
            for path in self.root.rglob("*")
            if path.is_file() and not any(self._skipped(part) for part in path.relative_to(self.root).parts[:-1])
        )
        self._known = set(self.files)

    @staticmethod
    def _skipped(part):
        return part == "build" or part.startswith(("build-", ".")) or part == "__pycache__"

    def _layers(self):
        text = (self.root / "docs/design/architecture.md").read_text(encoding="utf-8")
        table = text.split("<!-- layers:begin -->")[1].split("<!-- layers:end -->")[0]
        rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.strip().splitlines()[2:]]
        return [
            Folder(int(layer) if layer.isdigit() else None, name.strip("`"), re.findall(r"`([^`]+)`", only))
            for layer, name, _job, only in rows
        ]

    def c_sources(self):
        return [path for path in self.files if path.suffix in C_SOURCES]

    def folder_of(self, path):
        """The row that a file belongs to; None for the sides without a rule (tests, bench)."""
        inside = [folder for folder in self.folders if path.as_posix().startswith(folder.name + "/")]
        return max(inside, key=lambda folder: len(folder.name), default=None)

    def text(self, path):
        return (self.root / path).read_text(encoding="utf-8")

    def code(self, path):
        """The text without comments and string contents."""
        return COMMENT_OR_TEXT.sub(lambda match: '""' if match[0][0] == '"' else " ", self.text(path))

    def included(self, path):
        """(spelling, file of this tree or None) of every quoted include."""
        for spelling in INCLUDE.findall(self.text(path)):
            roots = (path.parent.as_posix(), *INCLUDE_ROOTS)
            places = (pathlib.Path(os.path.normpath(f"{root}/{spelling}")) for root in roots)
            named = (file for file in self.c_sources() if file.as_posix().endswith("/" + spelling))
            yield spelling, next((file for file in itertools.chain(places, named) if file in self._known), None)

    def generated(self, path, spelling):
        """True for a header that the build writes: the folder's CMakeLists.txt speaks of it."""
        recipe = path.parent / "CMakeLists.txt"
        return recipe in self.files and spelling in self.text(recipe)


def upward_includes(tree):
    found = []
    for path in tree.c_sources():
        folder = tree.folder_of(path)
        if folder is None:
            continue
        for spelling, target in tree.included(path):
            if target is None and not tree.generated(path, spelling):
                found.append(f'{path}: "{spelling}" is no file of this tree: use <> for those of others')
                continue
            if target and target.name in ("symbols.def", "options.def"):
                continue  # a table of names is data
            other = tree.folder_of(target) if target else folder
            if target and (other is None or not folder.may_include(other, target)):
                found.append(f"{path}: {folder.name} may not include {target}")
    return found


def unplaced_folders(tree):
    """A new folder of code must take its place in the table before it can be checked."""
    roofs = ("backend/", "kernels/", "plugin/", "tools/", "include/", "reference/", "demo/")
    return [
        f"{path}: its folder is not in the layer table of docs/design/architecture.md"
        for path in tree.c_sources()
        if path.as_posix().startswith(roofs) and tree.folder_of(path) is None
    ]


def environment_readers(tree):
    return [
        f"{path}: reads the environment; only backend/base may"
        for path in tree.c_sources()
        if (folder := tree.folder_of(path)) and folder.name not in ("backend/base", "demo")
        and path.as_posix() != "tools/lacuna/run.c"
        and ENVIRONMENT.search(tree.code(path))
    ]


def library_openers(tree):
    """A drop-in library looks for what stands behind it in one file; elsewhere only backend/base opens anything."""
    openers = {}
    for path in tree.c_sources():
        folder = tree.folder_of(path)
        if folder and folder.name != "backend/base" and OPENING.search(tree.code(path)):
            openers.setdefault(folder.name, []).append(path)
    return [
        f"{path}: opens a shared library; only backend/base and one file of each drop-in library may"
        for folder, paths in openers.items() for path in paths[folder.startswith("plugin/"):]
    ]


def route_names_elsewhere(tree):
    """Files that name a route which another file defines: the tables do it by routes.def."""
    home = {}
    for path in tree.c_sources():
        if tree.folder_of(path):
            home.update((route, path) for route in ROUTE.findall(tree.code(path)))
    found = []
    for path in tree.c_sources():
        folder = tree.folder_of(path)
        if folder is None or path.suffix in (".h", ".def"):
            continue
        words = set(re.findall(r"\w+", tree.code(path)))
        found += [f"{path}: names {route} of {file}" for route, file in home.items() if route in words and file != path]
    return found


def route_lists(tree):
    """A list of routes of its own would be an edit for each new route: lists come from the table, or from the library."""
    names = set(ROUTE_LINE.findall(tree.text(pathlib.Path(ROUTES)))) if (tree.root / ROUTES).exists() else set()
    listed = re.compile(r"(?<![\w/.-])(?:" + "|".join(sorted(names) or ["(?!)"]) + r")(?![\w/.-])")
    found = []
    for path in tree.files:
        if path.suffix not in TEXTS or path.as_posix() == ROUTES or path.as_posix().startswith(HISTORY):
            continue
        lines = tree.text(path).splitlines()
        for i, _ in enumerate(lines):
            named = set(listed.findall(" ".join(lines[i:i + 2])))
            if len(named) > 3:
                found.append(f"{path}:{i + 1}: lists routes ({', '.join(sorted(named))}); only {ROUTES} may")
    return found


def account_readers(tree):
    """A route depends on the call, its settings and its terms; the planner's account of the call is none of these."""
    return [
        f"{path}: reads the planner's account of a call"
        for path in tree.c_sources()
        if (folder := tree.folder_of(path)) and folder.name in ("backend/host", "backend/cuda")
        and ACCOUNT.search(tree.code(path))
    ]


def unused_by_the_command(tree):
    """Functions of tools/ that nothing there calls: what only tests call is theirs, not the user's command's."""
    found = []
    for folder in [folder for folder in tree.folders if folder.name.startswith("tools/")]:
        code = {path: tree.code(path) for path in tree.c_sources() if tree.folder_of(path) is folder}
        words = collections.Counter(word for text in code.values() for word in re.findall(r"\w+", text))
        for path in code:
            if path.suffix == ".h":
                for inline, name in FUNCTION.findall(code[path]):
                    known = 1 if inline else 2  # declared and defined
                    found += [f"{path}: nothing in {folder.name} calls {name}"] if words[name] <= known else []
    return found


def functions_of_one_file(tree):
    """Functions of tools/, plugin/ and of the tests' program that only their own file calls: they are static."""
    code = {path: tree.code(path) for path in tree.c_sources()}
    uses = collections.Counter()
    for path, text in code.items():
        counted = collections.Counter(re.findall(r"\w+", text))
        declared = collections.Counter(name for _, name in FUNCTION.findall(text)) if path.suffix == ".h" else {}
        uses.update(word for word, count in counted.items() if count > declared.get(word, 0))
    found = []
    for path, text in code.items():
        if path.suffix == ".c" and path.as_posix().startswith(("tools/", "plugin/", "tests/apitest/")):
            names = {name for inline, name in FUNCTION.findall(text) if not inline} - {"main"}
            found += [f"{path}: only this file calls {name}: make it static" for name in sorted(names) if uses[name] == 1
                      and not re.search(rf"(?m)^(?:static|typedef)\b[^;(]*\b{name}\(", text)]
    return found


def unlicensed_files(tree):
    found = []
    for path in tree.files:
        if path.suffix not in SOURCES and path.name not in ("CMakeLists.txt", "run"):
            continue
        head = tree.text(path).splitlines()[:4]
        if not any("SPDX-FileCopyrightText:" in line for line in head) or not any(
            "SPDX-License-Identifier: BSD-3-Clause" in line for line in head
        ):
            found.append(f"{path}: does not open with the two SPDX lines")
    return found


def shared_spellings(tree):
    """Headers that two folders of includes both answer for: which one is meant would hang on their order."""
    homes = {}
    for path in tree.c_sources():
        roots = [root for root in INCLUDE_ROOTS if path.as_posix().startswith(root + "/")]
        if roots and path.suffix != ".c" and path.suffix != ".cu":
            homes.setdefault(path.relative_to(max(roots, key=len)).as_posix(), []).append(path)
    return [f"{name}: {', '.join(map(str, paths))}" for name, paths in sorted(homes.items()) if len(paths) > 1]


def anchors(text):
    """What a page's headings can be linked by."""
    plain = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in re.findall(r"(?m)^#+ +(.*?) *$", text))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in plain}


def dead_links(tree):
    """Links of the documents to files, or to headings of pages, that are not there."""
    found = []
    for path in tree.files:
        if path.suffix != ".md":
            continue
        for target, anchor in re.findall(r"\]\(([^)#\s]*)#?([^)\s]*)[^)]*\)", tree.text(path)):
            if "://" in target:
                continue
            page = tree.root / path.parent / target if target else tree.root / path
            if not page.exists():
                found.append(f"{path}: links to {target}, which is not there")
            elif anchor and page.suffix == ".md" and anchor not in anchors(page.read_text(encoding="utf-8")):
                found.append(f"{path}: links to {target}#{anchor}, a heading that is not there")
    return found


def odd_names(tree):
    return [f"{path}: file names are snake_case" for path in tree.c_sources() if not re.fullmatch(r"[a-z0-9_]+", path.stem)]


def long_files(tree):
    """A smell, not an error: printed, never counted."""
    lengths = ((path, tree.text(path).count("\n")) for path in tree.files if path.suffix in SOURCES)
    return [f"{path}: {length} lines" for path, length in lengths if length > LONG_FILE]


RULES = (
    upward_includes,
    unplaced_folders,
    environment_readers,
    library_openers,
    route_names_elsewhere,
    route_lists,
    account_readers,
    unused_by_the_command,
    functions_of_one_file,
    unlicensed_files,
    shared_spellings,
    odd_names,
    dead_links,
)
