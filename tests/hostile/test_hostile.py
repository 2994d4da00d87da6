# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""hostile: that it fails where results are wrong, and says how to repeat it.

usage: test_hostile.py <hostile>"""
import re
import subprocess
import sys
import unittest


def hostile(*arguments):
    """Runs the program; (exit code, standard output, standard error)."""
    done = subprocess.run([sys.argv[1], *arguments], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


class Options(unittest.TestCase):
    def test_help(self):
        code, out, _ = hostile("--help")
        self.assertEqual(code, 0)
        for option in ("--seed", "--seconds", "--threads", "--round", "--no-forks", "--corrupt"):
            self.assertIn(option, out)

    def test_usage(self):
        for arguments in (("--seed", "x"), ("--threads", "0"), ("--round", "-1"), ("--corrupt", "all"), ("more",), ("--nothing",)):
            self.assertEqual(2, hostile(*arguments)[0], arguments)

    def test_one_round_passes(self):
        code, out, _ = hostile("--seed", "7", "--round", "4", "--threads", "3")
        self.assertEqual(code, 0, out)
        self.assertRegex(out, r"^hostile --seed 7 --threads 3\n1 rounds, [1-9]\d+ products, \d+ forks: all right\n$")

    def test_corrupted_results_fail(self):
        for how, why in (("element", r"at \(\d+, \d+\): \S+, in double"), ("outside", "wrote outside C"), ("crash", "ended by signal 11")):
            code, out, _ = hostile("--seed", "7", "--threads", "2", "--corrupt", how)
            self.assertEqual(code, 1, out)
            self.assertRegex(out, rf"(?m)^FAILED round 0: .*\n +.*{why}")
            self.assertIn("repeat: hostile --seed 7 --threads 2 --round 0", out)
            self.assertIn("1 round failed", out)

    def test_no_forks(self):
        code, out, _ = hostile("--no-forks", "--threads", "2", "--seconds", "0")
        self.assertEqual(code, 0, out)
        self.assertRegex(out, r"(?m)^3 rounds, [1-9]\d+ products, 0 forks: all right$")

    def test_a_round_is_repeated_alone(self):
        """One thread and no fork: the same failure each time, whatever ran before."""
        alone = [re.sub(r"(?m)^\d+ rounds.*", "", hostile("--round", "2", "--threads", "1", "--corrupt", "element")[1]) for _ in range(2)]
        self.assertIn("FAILED round 2", alone[0])
        self.assertEqual(alone[0].split("\n")[1], alone[1].split("\n")[1])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
