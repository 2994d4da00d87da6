# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""What the raw reports in bench/results/ say: problems in words, a machine on one line, the floor of a problem."""
import json
import pathlib
import re

BENCH, REGRET, KERNELS, OPERATORS = "lacuna-bench-1", "lacuna-regret-1", "kernels", "lacuna-operators-1"
ACCURACY = "lacuna-accuracy-1"
SPIKE_LINEAR = "lacuna-torch-spike-linear-1"  # what bench/torch_spike_linear.py writes
TORCH_LIF = "lacuna-torch-lif-1"  # what bench/torch_lif.py writes
FIRST_CALLS = "lacuna-first-calls-1"  # what bench/first_calls.py writes
BEFORE_AFTER = "lacuna-before-after-1"  # what bench/before_after.py writes
GIVEN_CSR = "lacuna-given-csr-1"  # what bench/given_csr.py writes
# Routes that are drawn: those of backend/route/routes.def, one that has no colour of its own in one of these.
SPARE_COLOURS = ("#e7298a", "#66a61e", "#e6ab02", "#7570b3", "#1b9e77")
METADATA = {"csr": "CSR given", "csc": "CSC given", "bits": "bitmask given", "active": "active list given",
        "density": "density given"}


def route_names(*roles):
    """The routes with these roles, in the order of the library's table."""
    table = pathlib.Path(__file__).resolve().parents[1] / "backend/route/routes.def"
    rows = re.findall(r"(?m)^LAC_ROUTE\((\w+), (\w+),", table.read_text(encoding="utf-8"))
    return [name for name, role in rows if role in roles]


def with_spare_colours(colours, *roles):
    """The colours, with one for each route of these roles that has none."""
    others = [name for name in route_names(*roles) if name not in colours]
    return {**colours, **{name: SPARE_COLOURS[i % len(SPARE_COLOURS)] for i, name in enumerate(others)}}


def reports(root):
    """{device: [(path, report)]}, sorted by name, machines with a device first."""
    found = {}
    for path in sorted((root / "bench/results").glob("*/*.json")):
        report = json.loads(path.read_text(encoding="utf-8"))
        if "schema" not in report and "results" in report:
            report["schema"] = KERNELS  # what bench/gpu/*.cu writes
        if report.get("schema") in (BENCH, REGRET, KERNELS, OPERATORS, ACCURACY, FIRST_CALLS, SPIKE_LINEAR, TORCH_LIF, BEFORE_AFTER, GIVEN_CSR):
            found.setdefault(path.parent.name, []).append((path, report))
    return dict(sorted(found.items(), key=lambda item: not any(on_device(report) for _, report in item[1])))


def on_device(report):
    return "device" in report or "device" in report.get("machine", {})


def fields_of(problem):
    return dict(field.split("=", 1) for field in problem.split(":")[3:] if "=" in field)


def extents_of(problem):
    """(m, k, n) of a problem string."""
    return tuple(int(extent) for extent in problem.split(":")[2].split("x"))


def split_pattern(pattern):
    """'bern0.01' is ('bern', '0.01'), 'block4x8-0.1' ('4x8 blocks', '0.1')."""
    digits = next((i for i, c in enumerate(pattern) if c.isdigit()), len(pattern))
    structure, density = pattern[:digits], pattern[digits:]
    if structure == "block":
        size, density = density.split("-", 1)
        structure = f"{size} blocks"
    return structure, density


def density_of(problem, letter):
    """The density that a problem string gives operand A or B; 1 where it is dense."""
    density = split_pattern(fields_of(problem).get(letter, "dense").split("/")[0])[1]
    return float(density) if density else 1.0


def density_words(pattern):
    """'bern0.01' is '1 %', 'block4x8-0.1' '10 % (4x8 blocks)', 'dense' ''."""
    if pattern == "dense":
        return ""
    structure, density = split_pattern(pattern)
    share = f"{100 * float(density):g} %" if density else pattern
    return share if structure == "bern" else f"{share} ({structure})"


def metadata_words(problem):
    """The metadata that is given beyond the dense buffers: 'A frozen', 'B CSC given'; '' where nothing is."""
    fields = fields_of(problem)
    words = [f"{letter} {word}" for letter in "AB"
             for word in (METADATA.get(fields.get(f"meta{letter}")), "frozen" if f"frozen{letter}" in fields else None) if word]
    return ", ".join(words)


def without_metadata(problem):
    """The problem string without its metadata."""
    return ":".join(field for field in problem.split(":") if not field.startswith(("meta", "frozen", "only")))


def operand_words(letter, fields):
    """What a problem string says of one operand; '' where it is plain and dense."""
    words = [density_words(fields.get(letter, "dense").split("/")[0]), fields.get(f"dt{letter}", ""),
             METADATA.get(fields.get(f"meta{letter}"), ""), "frozen" if f"frozen{letter}" in fields else ""]
    words = [word for word in words if word]
    return f"{letter} {', '.join(words)}" if words else ""


def in_words(problem):
    """(extents, what is known of the operands) of a problem string."""
    operation, _trans, extents = problem.split(":")[:3]
    fields = fields_of(problem)
    known = "; ".join(filter(None, (operand_words("A", fields), operand_words("B", fields)))) or "dense"
    extra = ", ".join(f"{key} {fields[key]}" for key in ("alpha", "beta") if key in fields)
    extents = extents.replace("x", " x ")
    return extents + (" (gemv)" if operation == "sgemv" else ""), known + (f"; {extra}" if extra else "")


def timed(problem, cache):
    return [row for row in problem["rows"] if row["cache"] == cache and "median_us" in row]


def lanes_of(problem, cache="warm"):
    """{route: row}, and the row of the baseline (None where it was not timed)."""
    lanes = {row["route"]: row for row in timed(problem, cache)}
    return lanes, next((row for row in lanes.values() if row["baseline"]), None)


def constant(report, name):
    """A machine constant of the report's machine: '4566 GB/s: ...' is 4566; None where it has none."""
    text = report["machine"].get(f"constant {name}")
    return float(text.split()[0]) if text else None


def roofs(report):
    """(GB/s of memory, GFLOP/s of the dense product) of the machine; None where the report has no constants."""
    if on_device(report):
        memory, arithmetic = constant(report, "cuda_dram_gbps"), constant(report, "cuda_dense_tflops")
        return (memory, 1000 * arithmetic) if memory and arithmetic else None
    memory, arithmetic = constant(report, "dense_vector_gbps"), constant(report, "dense_gflops")
    return (memory, arithmetic) if memory and arithmetic else None


def floor_us(report, problem):
    """Microseconds for what no route can leave out: the sparse operand as it is given, the active slices of the
    other and C at memory's rate, or the pairs of nonzeros at the dense product's, the longer. None: not known. Where
    the bench has counted the bytes more closely (slices that lie across memory's lines), its own figure counts."""
    machine = roofs(report)
    if not machine:
        return None
    memory, arithmetic = machine
    moved = problem.get("floor_us", problem["sparse_bytes"] / memory * 1e-3)
    return max(moved, problem["useful_flops"] / arithmetic * 1e-3)


SIX_PRODUCTS_TFLOPS = 790 / 6  # bf16 products at the rate that an H200 keeps up; six of them are one of fp32's accuracy


def roof_us(report, problem):
    """Microseconds of a perfect kernel of a device that knows the zeros: a launch, and the longer of what must move at memory's
    rate (the sparse operand, the active slices of the other, C) and the pairs of nonzeros by six bf16 products."""
    moved = problem.get("floor_us", problem["sparse_bytes"] / constant(report, "cuda_dram_gbps") * 1e-3)
    return constant(report, "cuda_launch_us") + max(moved, problem["useful_flops"] / SIX_PRODUCTS_TFLOPS * 1e-6)


def caption(report):
    """Machine, BLAS, date and commit on one line."""
    if "processor" in report:
        threads = f"{report['threads']} thread{'s' if report['threads'] > 1 else ''}"
        return f"{report['processor']}, {threads}; {report['date']}, commit `{report['commit']}`"
    if report["schema"] in (SPIKE_LINEAR, TORCH_LIF):
        return f"{report['device']}, PyTorch {report['torch']}, Lacuna {report['lacuna']['version']}; {report['date'][:10]}"
    if report["schema"] in (KERNELS, OPERATORS):
        cublas = report.get("cublas", 0)
        driver, date = report["driver"] or "not recorded", report["date"] or "date not recorded"
        commit = f"commit `{report['commit']}`" if report["commit"] else "**commit not recorded**"
        blas = f", cuBLAS {cublas // 10000}.{cublas % 10000 // 100}.{cublas % 100}" if cublas else ""
        return f"{report['device']}{blas}, driver {driver}; {date}, {commit}"
    machine = report["machine"]
    if on_device(report):
        facts = [machine["device"], *(f"{name} {machine[key]}" for name, key in (
            ("cuBLAS", "cublas"), ("cuSPARSE", "cusparse"), ("CUDA", "cuda")) if machine.get(key, "none") != "none")]
    else:
        words = machine.get("blas version", "").split()
        blas = " ".join(word for word in words if not word.isupper() and not set("_=") & set(word))
        facts = [machine.get("processor", "unknown machine"), machine.get("instruction set"),
                 f"{machine['processors']} processors" if "processors" in machine else "", blas or machine.get("blas")]
    text = f"{', '.join(filter(None, facts))}; {report['date'][:10]}, commit `{report['commit']}`"
    disturbed = [problem["others_share"] for problem in report.get("problems", ())
                 if problem.get("others_share", 0) > 0.05]
    if disturbed and not on_device(report):
        text += (f"; **not alone**: during {len(disturbed)} of {len(report['problems'])} problems other programs used "
                 f"up to {100 * max(disturbed):.0f} % of the processors")
    return text


def microseconds(us):
    """Three digits that count, in us or ms."""
    value, unit = (us / 1000, "ms") if us >= 1000 else (us, "µs")
    return f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f} {unit}"


def ratio(value):
    return f"{value:.{2 if value < 10 else 0}f}x"
