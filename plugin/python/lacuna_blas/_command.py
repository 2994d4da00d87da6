# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""The console entry `lacuna`: becomes the command that came with the package."""
import os
import sys

from pathlib import Path


def main():
    command = Path(__file__).resolve().parent / "bin" / "lacuna"
    if not command.is_file():
        sys.exit(f"lacuna: {command} is not there: this package was not installed from a wheel")
    os.execv(command, ["lacuna", *sys.argv[1:]])


if __name__ == "__main__":
    main()
