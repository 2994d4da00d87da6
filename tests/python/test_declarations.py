# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""The package's copy of the declarations against the headers: functions, structs as the compiler lays them out, constants."""
import ctypes
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from lacuna_blas import _library

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = sorted((ROOT / "include/lacuna").glob("*.h"))
SCALARS = {"int": ctypes.c_int, "unsigned": ctypes.c_uint, "size_t": ctypes.c_size_t, "double": ctypes.c_double,
           "uint64_t": ctypes.c_uint64, "lac_dim_t": ctypes.c_int64, "lac_inc_t": ctypes.c_int64, "lac_index_t": ctypes.c_int,
           "lac_space_t": ctypes.c_int, "lac_dt_t": ctypes.c_int, "lac_info_fn": _library.InfoFn, "lac_status_t": _library.Status, "void": None}
OPAQUE = {"lac_ctx_t", "lac_meta_t", "void", "float", "int32_t", "uint64_t"}
PLAIN = re.sub(r"/\*.*?\*/", " ", "\n".join(path.read_text(encoding="utf-8") for path in HEADERS), flags=re.S)


def ctypes_of(declared):
    """The types of ctypes that stand for a C type; a pointer may be declared as a bare address."""
    stars, name = declared.count("*"), declared.replace("const", "").replace("*", "").strip()
    if stars == 0:
        return {SCALARS[name]}
    if stars == 2:
        return {ctypes.POINTER(ctypes.c_void_p)}
    if name == "char":
        return {ctypes.c_char_p}
    kinds = {ctypes.c_void_p} if name in OPAQUE else set()
    if name == "float":
        kinds.add(ctypes.POINTER(ctypes.c_float))
    if name == "void":
        kinds.add(ctypes.POINTER(ctypes.c_void_p))
    if name in _library.STRUCTS:
        kinds.add(ctypes.POINTER(_library.STRUCTS[name]))
    return kinds


def prototypes():
    """name: (result, [argument...]) of every public function, as texts."""
    found = {}
    for result, name, arguments in re.findall(r"LAC_API\s+([\w ]+?[ *]+)(lac_\w+)\(([^)]*)\)\s*;", PLAIN):
        types = [] if arguments.strip() == "void" else [re.sub(r"\w+$", "", " ".join(each.split())).strip() for each in arguments.split(",")]
        found[name] = (result.strip(), types)
    return found


class Declarations(unittest.TestCase):
    def test_functions(self):
        declared = prototypes()
        self.assertGreater(len(declared), 40, "the headers were not read")
        for name, (result, *arguments) in _library.FUNCTIONS.items():
            with self.subTest(function=name):
                self.assertIn(name, declared)
                self.assertIn(result, ctypes_of(declared[name][0]))
                self.assertEqual(len(declared[name][1]), len(arguments))
                for expected, found in zip(declared[name][1], arguments):
                    self.assertIn(found, ctypes_of(expected), expected)

    def test_a_wrong_declaration_would_be_seen(self):
        self.assertNotIn(ctypes.c_int, ctypes_of("lac_dim_t"))
        self.assertNotIn(ctypes.POINTER(_library.CallOpts), ctypes_of("const lac_obj_t *"))

    def test_structs(self):
        """Sizes and offsets as the compiler has them."""
        lines = []
        for name, struct in _library.STRUCTS.items():
            lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
            lines += [f'printf("{name}.{field} %zu\\n", offsetof({name}, {field}));' for field, *_ in struct._fields_]
        lines += [f'printf("{name} %d\\n", (int){name});' for name in constants()]
        found = compiled("\n".join(lines))
        for name, struct in _library.STRUCTS.items():
            self.assertEqual(found[name], ctypes.sizeof(struct), name)
            for field, *_ in struct._fields_:
                self.assertEqual(found[f"{name}.{field}"], getattr(struct, field).offset, f"{name}.{field}")
        for name, value in constants().items():
            self.assertEqual(found[name], value, name)

    def test_every_status_has_its_exception(self):
        self.assertEqual(set(re.findall(r"\bLAC_ERR_\w+(?= *=)", PLAIN)), set(_library.STATUSES))


def constants():
    """LAC_ names and the package's values for them."""
    values = {name: code for name, (code, _) in _library.STATUSES.items()}
    values.update({f"LAC_META_{name.upper()}": bits for name, bits in _library.FORMATS.items()})
    values.update({f"LAC_ACT_{(name or 'none').upper()}": code for name, code in _library.ACTIVATIONS.items()})
    values.update({f"LAC_{name}": getattr(_library, name)
                   for name in ("HOST", "DEVICE", "NO_TRANS", "TRANS", "F32", "U8", "F64", "F16", "BF16", "I32", "I64", "OK", "CANDIDATES_MAX", "LIF_INPUTS_MAX")})
    return values


def compiled(body):
    """What a program of these lines prints, as numbers by name."""
    with tempfile.TemporaryDirectory() as folder:
        source, program = pathlib.Path(folder, "layout.c"), pathlib.Path(folder, "layout")
        source.write_text(f"#include <lacuna/lacuna.h>\n#include <stdio.h>\nint main(void)\n{{\n{body}\nreturn 0;\n}}\n", encoding="utf-8")
        subprocess.run([os.environ.get("LACUNA_CC", "cc"), "-std=c11", f"-I{ROOT / 'include'}", "-o", program, source], check=True)
        out = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    return {name: int(value) for name, value in (line.split() for line in out.splitlines())}


if __name__ == "__main__":
    sys.exit(unittest.main())
