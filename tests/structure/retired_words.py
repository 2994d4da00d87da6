# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Words that were retired stay retired: in names, options, messages and documents (retired_words.txt)."""
import fnmatch
import os
import pathlib
import re
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LIST = "tests/structure/retired_words.txt"
TEXTS = {".c", ".h", ".cu", ".cuh", ".cpp", ".def", ".py", ".sh", ".cmake", ".md", ".txt", ".in", ".1", ".7", ".map"}
BARE = {"CMakeLists.txt", "run"}
SKIPPED = ("bench/results/", "tests/fuzz/corpus/attach/", LIST, "tests/structure/retired_words.py")
GAP = r"(?:[ \t]+|[ \t]*\n[ \t]*(?:\*(?!/)|//|#)?[ \t]*)"


class Word:
    """One line of the list: what is looked for, and what it says instead."""

    def __init__(self, kind, word, instead):
        self.kind, self.word, self.instead = kind, word, instead
        if kind == "name":
            body = r"\w*".join(map(re.escape, word.split("*")))
            self.pattern = re.compile(r"(?<![\w-])" + body + r"(?![\w-])")
        else:
            body = GAP.join(map(re.escape, word.split()))
            self.pattern = re.compile(r"(?<!\w)" + body + r"(?!\w)", re.I if word.islower() else 0)


def read_list(text):
    words, allowed = [], []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        kind, rest = line.split(" ", 1)
        if kind == "allow":
            allowed.append(tuple(rest.split(" ", 1)))
        elif kind in ("name", "word") and " -> " in rest:
            words.append(Word(kind, *rest.split(" -> ", 1)))
        else:
            raise ValueError(f"{LIST}:{number}: '{line}' is no entry")
    return words, allowed


def texts(root):
    for folder, inside, names in os.walk(root):
        inside[:] = sorted(part for part in inside
                           if part not in ("build", "__pycache__") and not part.startswith(("build-", ".")))
        for path in (pathlib.Path(folder) / name for name in sorted(names)):
            name = path.relative_to(root).as_posix()
            if not name.startswith(SKIPPED) and path.is_file() and (path.suffix in TEXTS or path.name in BARE):
                yield name, path.read_text(encoding="utf-8", errors="replace")


def found(root, words, allowed):
    """path:line: word -> what replaces it, for each that came back; file names count, too."""
    lines = []
    for name, text in texts(root):
        for word in words:
            if any(fnmatch.fnmatch(name, path) and what in ("*", word.word) for path, what in allowed):
                continue
            stem = pathlib.PurePosixPath(name).name
            if word.kind == "name" and word.pattern.search(stem):
                lines.append(f"{name}: its name is retired: {word.word} -> {word.instead}")
            for match in word.pattern.finditer(text):
                lines.append(f"{name}:{text.count(chr(10), 0, match.start()) + 1}: {word.word} -> {word.instead}")
    return lines


class ThisTree(unittest.TestCase):
    def test_uses_no_retired_word(self):
        words, allowed = read_list((ROOT / LIST).read_text(encoding="utf-8"))
        self.assertGreater(len(words), 30, "the list was not read")
        self.assertGreater(sum(1 for _ in texts(ROOT)), 300, "hardly any text was found: is the root right?")
        lines = found(ROOT, words, allowed)
        self.assertFalse(lines, "\n  ".join(["", *lines]))


class Rule(unittest.TestCase):
    CASES = (("backend/a.c", "void lac_site_story(void);\n", "lac_site_story"),  # a name
             ("backend/a.c", "/* What is\n * foreseen of it. */\n", "foreseen"),  # a comment
             ("tools/lacuna/a.c", 'const char *s = "machine: NOT\\n" "ALONE, NOT ALONE";\n', "NOT ALONE"),  # a message
             ("docs/cli.md", "`--patience SECONDS`\n", "--patience"),  # an option
             ("docs/man/lacuna.1", "the table without\na look\n", "without a look"),  # across lines
             ("README.md", "| told more |\n", "told more"),  # a document
             ("backend/hopeful.c", "", "hopeful"))  # a file's name

    def test_finds_what_was_put_in(self):
        words, _ = read_list((ROOT / LIST).read_text(encoding="utf-8"))
        for name, text, expected in self.CASES:
            with self.subTest(name=name, expected=expected), tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
                lines = found(pathlib.Path(folder), words, [])
                self.assertTrue(any(expected in line for line in lines), lines)
                self.assertEqual([], found(pathlib.Path(folder), words, [(name, "*")]), "allowed, and found")

    def test_leaves_other_words_alone(self):
        words, _ = read_list((ROOT / LIST).read_text(encoding="utf-8"))
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "a.c").write_text("int lac_count_nonzeros, lac_format_view; /* unforeseeable */\n", encoding="utf-8")
            self.assertEqual([], found(pathlib.Path(folder), words, []))

    def test_refuses_a_bad_list(self):
        for line in ("name", "word x", "other x -> y"):
            with self.assertRaises(ValueError):
                read_list(line)


if __name__ == "__main__":
    unittest.main()
