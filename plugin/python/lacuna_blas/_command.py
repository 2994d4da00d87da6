# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""The console entry `lacuna`: becomes the command that came with the package."""
import os
import sys

from ._library import packaged


def main():
    command = packaged("bin/lacuna")
    if not command:
        sys.exit("lacuna: the command is not in this package: it was not installed by pip")
    os.execv(command, ["lacuna", *sys.argv[1:]])


if __name__ == "__main__":
    main()
