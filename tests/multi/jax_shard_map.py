# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""JAX's shard_map over two devices of one process under `lacuna run --jax`: right, and its times beside plain ones.

usage: jax_shard_map.py <lacuna>

Starts itself plain and under the command. Results are held against fp64 on the host. Exits with 77, and the reason, where JAX or two devices
are missing."""
import json
import os
import re
import statistics
import subprocess
import sys
import time

ROWS, INNER, OUTER = 16, 8192, 4096


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def worker():
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

    devices = jax.devices()
    if len(devices) < 2 or devices[0].platform != "gpu":
        skip(f"JAX has {len(devices)} devices of kind {devices[0].platform}, and two GPUs are needed")
    jax.config.update("jax_default_matmul_precision", "highest")
    mesh = Mesh(np.array(devices[:2]), ("x",))
    rng = np.random.default_rng(5)
    w = rng.standard_normal((INNER, OUTER), dtype=np.float32)
    shard_map = getattr(jax, "shard_map", None)
    if shard_map is None:
        from jax.experimental.shard_map import shard_map

    columns = jax.jit(shard_map(lambda s, w: s @ w, mesh=mesh, in_specs=(P(), P(None, "x")), out_specs=P(None, "x")))
    rows = jax.jit(shard_map(lambda s, w: jax.lax.psum(s @ w, "x"), mesh=mesh, in_specs=(P(None, "x"), P("x", None)), out_specs=P()))
    whole = jax.jit(lambda s, w: s @ w)
    by_column, by_row = (jax.device_put(w, NamedSharding(mesh, spec)) for spec in (P(None, "x"), P("x", None)))
    here = jax.device_put(w, devices[0])
    times = {}
    for density in (0.0, 0.01, 1.0):
        s = rng.standard_normal((ROWS, INNER), dtype=np.float32) * (rng.random((ROWS, INNER)) < density).astype(np.float32)
        want, scale = s.astype(np.float64) @ w, np.abs(s).astype(np.float64) @ np.abs(w) + 1e-30
        everywhere, split, one = (jax.device_put(s, where) for where in (NamedSharding(mesh, P()), NamedSharding(mesh, P(None, "x")), devices[0]))
        for name, run, arguments in (("by column", columns, (everywhere, by_column)), ("by row", rows, (split, by_row)), ("one device", whole, (one, here))):
            took = []
            for _ in range(30):
                before = time.perf_counter()
                out = run(*arguments).block_until_ready()
                took.append(1e6 * (time.perf_counter() - before))
            error = float((np.abs(np.asarray(out, np.float64) - want) / scale).max())
            assert error < 2.0 ** -20, (name, density, error)
            times[f"{name} {density:g}"] = statistics.median(took[10:])
        assert jnp.isfinite(out).all()
    print("TIMES", json.dumps(times), flush=True)


def start(front):
    environment = dict(os.environ, UNDER_LACUNA="1", NCCL_NVLS_ENABLE="0", LACUNA_STATS="1", XLA_PYTHON_CLIENT_PREALLOCATE="false")
    environment["XLA_FLAGS"] = environment.get("XLA_FLAGS", "") + " --xla_gpu_enable_triton_gemm=false"
    done = subprocess.run([*front, sys.executable, __file__, "worker"], env=environment, capture_output=True, text=True, check=False, timeout=250)
    if done.returncode:
        print(done.stdout[-4000:], done.stderr[-4000:], sep="")
        sys.exit(done.returncode)
    return json.loads(re.search(r"^TIMES (.*)$", done.stdout, re.M)[1]), done.stderr


def main(command):
    try:
        import jax  # noqa: F401
    except ImportError:
        skip("there is no JAX")
    plain, _ = start([])
    ours, err = start([command, "run", "--jax"])
    ran = re.search(r"lacuna: (\d+) calls by sparse routes", err)
    print("calls by sparse routes:", ran[1] if ran else "none were counted")
    print(*(line for line in err.splitlines() if "cublas" in line or "m x k x n" in line), sep="\n")
    print(f"{'us a call':18}{'plain':>10}{'lacuna run':>12}")
    for name in plain:
        print(f"{name:18}{plain[name]:10.1f}{ours[name]:12.1f}")
    if not (ran and int(ran[1]) > 20):
        print(err[-2000:])
        print("hardly a sparse route ran: nothing was tested")
        return 1
    return 0


if __name__ == "__main__":
    if "UNDER_LACUNA" in os.environ:
        worker()
    else:
        sys.exit(main(sys.argv[1]))
