# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Holds the checkout to the rules of the tree, and holds each rule to failing on a small tree that breaks it."""
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import layers  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPDX = "/* SPDX-FileCopyrightText: 2026 the Lacuna authors\n * SPDX-License-Identifier: BSD-3-Clause\n * A file. */\n"

# A tree that keeps every rule. Each case below changes one file of it.
GOOD = {
    "include/lacuna/types.h": "",
    "kernels/host/host_kernels.h": '#include "lacuna/types.h"\n',
    "backend/base/environment.c": 'const char *lac_env(const char *n) { return getenv(n); }\nvoid f(void) { dlopen("a", 1); }\n',
    "plugin/blas/symbols.def": "",
    "backend/base/vendor.c": '#include "../../plugin/blas/symbols.def"\n',
    "backend/route/route.h": '#include "lacuna/types.h"\n',
    "backend/host/route_event.c": '#include "route.h"\n#include "host_kernels.h"\n'
                                  "const lac_route_t lac_route_event = {0};\n",
    "backend/cuda/route_tiles.c": '#include "route.h"\n/* unlike getenv() or "route_event.c" */\n',
    "backend/route/routes.def": "".join(f'LAC_ROUTE({name}, SPARSE, SIDES, SIDES, "")\n' for name in ("event", "csr", "tiles", "native")),
    "backend/planner/backends.c": '#include "route.h"\n',
    "backend/planner/select.h": '#include "route.h"\n',
    "reference/ref_gemm.h": '#include "lacuna/types.h"\n',
    "backend/api/entry.h": '#include "select.h"\n',
    "backend/api/interpose.h": '#include "lacuna/types.h"\n',
    "plugin/blas/resolve.c": '#include "lacuna/types.h"\n#include "api/interpose.h"\nstatic void g(void) { dlopen("b", 1); }\n',
    "tools/lacuna/main.c": '#include "ref_gemm.h"\n#include "lacuna/types.h"\n#include "clock.h"\n'
                           "int main(void) { return read_clock(); }\n",
    "tools/lacuna/clock.c": '#include "clock.h"\nint read_clock(void) { return 0; }\n',
    "tools/lacuna/clock.h": "int read_clock(void);\n",
    "demo/coba.c": "const char *h = \"getenv\";\n",
    "demo/coba_synapses.h": "",
    "demo/device/on_device.c": '#include "../coba_synapses.h"\n#include "lacuna/types.h"\n',
}

# rule, file, what it is made to hold, and a piece of the violation that must be reported
BAD = (
    (layers.upward_includes, "backend/route/route.h", '#include "select.h"\n', "may not include backend/planner/select.h"),
    (layers.upward_includes, "kernels/host/host_kernels.h", '#include "../../backend/route/route.h"\n', "may not include"),
    (layers.upward_includes, "backend/cuda/route_tiles.c", '#include "beside.h"\n', "may not include backend/host/beside.h"),
    (layers.upward_includes, "reference/ref_gemm.h", '#include "route.h"\n', "reference may not include"),
    (layers.upward_includes, "plugin/blas/resolve.c", '#include "route.h"\n', "plugin/blas may not include"),
    (layers.upward_includes, "plugin/blas/resolve.c", '#include "api/entry.h"\n', "may not include backend/api/entry.h"),
    (layers.upward_includes, "plugin/blas/resolve.c", '#include "ref_gemm.h"\n', "plugin/blas may not include"),
    (layers.upward_includes, "backend/base/vendor.c", '#include "../../plugin/blas/resolve.c"\n', "backend/base may not include"),
    (layers.upward_includes, "tools/lacuna/main.c", '#  include "route.h"\n', "tools/lacuna may not include"),
    (layers.upward_includes, "demo/coba.c", '#include "lacuna/types.h"\n', "demo may not include"),
    (layers.upward_includes, "demo/device/on_device.c", '#include "route.h"\n', "demo/device may not include"),
    (layers.upward_includes, "backend/host/route_event.c", '#include "cblas.h"\n', "no file of this tree"),
    (layers.unplaced_folders, "backend/attic/old.c", "", "not in the layer table"),
    (layers.environment_readers, "backend/planner/backends.c", 'char *x = secure_getenv("X");\n', "reads the environment"),
    (layers.library_openers, "backend/host/route_event.c", 'void *x = dlopen("X", 1);\n', "opens a shared library"),
    (layers.library_openers, "plugin/blas/calls.c", 'void *x = dlopen("X", 1);\n', "opens a shared library"),
    (layers.dead_links, "docs/user/tuning.md", "[gone](gone.md#there)\n", "links to gone.md"),
    (layers.dead_links, "docs/user/tuning.md", "# Here it is\n[here](#here-it-is) [gone](tuning.md#gone)\n", "links to tuning.md#gone, a heading"),
    (layers.route_names_elsewhere, "backend/planner/select.c", "extern int lac_route_event;\n", "names lac_route_event"),
    (layers.route_names_elsewhere, "backend/host/route_dense.c", "const lac_route_t lac_route_dense = {0};\n"
     "const void *p = &lac_route_event;\n", "route_dense.c: names lac_route_event"),
    (layers.route_lists, "docs/user/tuning.md", "one of `event`, `csr`,\n`tiles` or `native`\n", "tuning.md:4: lists routes (csr, event,"),
    (layers.account_readers, "backend/host/route_event.c", "double f(const lac_problem_t *p) { return p->account.extra_us; }\n",
     "reads the planner's account"),
    (layers.unused_by_the_command, "tools/lacuna/clock.h", "int read_clock(void);\nint set_clock(int to);\n", "calls set_clock"),
    (layers.unused_by_the_command, "tools/lacuna/half.h", "static inline int half(int x)\n{\n    return x / 2;\n}\n", "half"),
    (layers.functions_of_one_file, "tools/lacuna/clock.c", '#include "clock.h"\nint read_clock(void) { return half(); }\n'
     "int half(void)\n{\n    return 0;\n}\n", "only this file calls half"),
    (layers.shared_spellings, "kernels/cuda/host_kernels.h", "", "kernels/cuda/host_kernels.h"),
    (layers.odd_names, "backend/operand/Meta-Data.c", "", "snake_case"),
)


def build(folder, files):
    """Writes the files under the folder, with the real layer table, and reads them as a tree."""
    root = pathlib.Path(folder)
    (root / "docs/design").mkdir(parents=True)
    page = (ROOT / "docs/design/architecture.md").read_text(encoding="utf-8")
    without_links = "".join(line for line in page.splitlines(True) if "](" not in line)
    (root / "docs/design/architecture.md").write_text(without_links, encoding="utf-8")
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(SPDX + text, encoding="utf-8")
    return layers.Tree(root)


class ThisTree(unittest.TestCase):
    def test_keeps_every_rule(self):
        tree = layers.Tree(ROOT)
        self.assertGreater(len(tree.c_sources()), 10, "hardly any source was found: is the root right?")
        self.assertGreaterEqual(len(tree.folders), 10, "the layer table was not read")
        for line in layers.long_files(tree):
            print("long:", line)
        for rule in layers.RULES:
            with self.subTest(rule=rule.__name__):
                found = rule(tree)
                self.assertFalse(found, "\n  ".join(["", *found]))


class Rules(unittest.TestCase):
    def test_pass_a_good_tree(self):
        with tempfile.TemporaryDirectory() as folder:
            tree = build(folder, GOOD)
            for rule in layers.RULES:
                with self.subTest(rule=rule.__name__):
                    self.assertEqual([], rule(tree))

    def test_fail_on_each_breach(self):
        for rule, name, text, expected in BAD:
            with self.subTest(rule=rule.__name__, file=name, text=text), tempfile.TemporaryDirectory() as folder:
                found = rule(build(folder, {**GOOD, "backend/host/beside.h": "", name: text}))
                self.assertTrue(any(expected in line for line in found), found)

    def test_fail_on_a_missing_licence(self):
        with tempfile.TemporaryDirectory() as folder:
            tree = build(folder, GOOD)
            (tree.root / "demo/coba.c").write_text("int main(void) { return 0; }\n", encoding="utf-8")
            self.assertEqual(["demo/coba.c: does not open with the two SPDX lines"], layers.unlicensed_files(tree))


if __name__ == "__main__":
    unittest.main()
