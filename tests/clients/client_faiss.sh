#!/bin/sh
# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
# Faiss, whose searches and clusterings multiply in f32 (Debian: python3-faiss): vectors of small integers with zeros, whose
# inner products and squared distances are exact.
. "$(dirname "$0")/client_common.sh"
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import faiss' 2>/dev/null || skip "needs python3-faiss"

cat >suite.py <<'SUITE'
import faiss
import numpy as np

random = np.random.RandomState(1)
for width in (32, 100, 256):
    for density in (0.01, 0.1, 1.0):
        def vectors(count):
            return (random.randint(-4, 5, (count, width)) * (random.rand(count, width) < density)).astype(np.float32)
        base, asked = vectors(3000), vectors(200)
        lists = faiss.IndexIVFFlat(faiss.IndexFlatL2(width), width, 8)
        lists.quantizer.add(vectors(8))
        lists.is_trained = True
        lists.nprobe = 8
        for name, index in (("inner products", faiss.IndexFlatIP(width)), ("distances", faiss.IndexFlatL2(width)), ("lists", lists)):
            index.add(base)
            near, which = index.search(asked, 10)
            print(width, density, name, repr(near.astype(np.float64).sum()), repr(near[:, 0].tolist()), flush=True)
        turned = faiss.LinearTransform(width, 16, False)
        faiss.copy_array_to_vector(vectors(16).ravel(), turned.A)
        turned.is_trained = True
        print(width, density, "transform", repr(turned.apply_py(asked).astype(np.float64).sum()))
SUITE
plain_and_under faiss "$python" suite.py
same faiss 36 20 "searches and transforms, exact"
