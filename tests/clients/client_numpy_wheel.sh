#!/bin/sh
# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
# NumPy as PyPI has it, which brings an OpenBLAS of its own, whose names have a prefix and 64-bit integers.
# LACUNA_FETCH=1 lets it fetch NumPy and pytest into a folder of its own; VERSION: another NumPy than the newest.
. "$(dirname "$0")/client_common.sh"
[ -n "${LACUNA_FETCH:-}" ] || skip "would fetch NumPy from PyPI: set LACUNA_FETCH=1"
python3 -m venv venv 2>/dev/null || skip "needs python3-venv"
venv/bin/python -m pip --quiet --disable-pip-version-check --retries 1 --timeout 20 \
    install "numpy${VERSION:+==$VERSION}" pytest hypothesis >pip.log 2>&1 ||
    skip "pip could not fetch NumPy: $(tail -n 1 pip.log)"
venv/bin/python -c 'import numpy; print("NumPy " + numpy.__version__)'
sh "$here/../plugin/numpy_suite.sh" preload "$library" "$work/venv/bin/python"
