#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Writes kernels that record their arguments, from the headers that declare them.

make_kernel_stubs.py <out.c> <rename.h> --headers <header>... --emulated <source.cu>...

out.c defines each function that a header declares: a launcher notes its arguments, members of structures by their
path; a function of sizes is left out where an emulated source defines it. rename.h gives the launchers of emulated
sources other names, so that the two can be linked together.
"""
import argparse
import re
import sys

PREFIX = "lac_cuda_"
INTEGERS = {"int", "bool", "int64_t", "int32_t", "uint32_t", "uint64_t", "size_t", "unsigned long long", "lac_dt_t"}
REALS = {"float", "double"}


def code_of(path):
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", " ", file.read(), flags=re.S)
    text = re.sub(r"\bunion \{(.*?)\}\s*;", r"\1", text, flags=re.S)  # its members are those of what is around it
    return re.sub(r"^\s*#.*$", "", text, flags=re.M)


def split_declaration(text):
    """(type, [declarator...]) of a member or a parameter."""
    text = " ".join(text.split())
    kind, rest = re.fullmatch(r"(?:const )?(unsigned long long|\w+)(?: const)?\b\s*(.*)", text).groups()
    return kind, [d.strip() for d in rest.split(",")]


def structures(text):
    found = {}
    for body, name in re.findall(r"typedef struct \w+ \{(.*?)\}\s*(\w+);", text, re.S):
        members = []
        for line in filter(str.strip, body.split(";")):
            kind, declarators = split_declaration(line)
            members += [(kind, "*" in d, re.sub(r"[*\s]|\bconst\b", "", d)) for d in declarators]
        found[name] = members
    return found


def enumerations(text):
    return set(re.findall(r"typedef enum \w+ \{.*?\}\s*(\w+);", text, re.S))


def functions(text):
    for kind, name, args in re.findall(rf"^(\w+) ({PREFIX}\w+)\(([^;{{]*?)\);", text, re.M | re.S):
        if kind != "typedef":
            yield kind, name, [] if args.strip() == "void" else [" ".join(a.split()) for a in args.split(",")]


class Writer:
    def __init__(self, structs, enums):
        self.structs, self.integers = structs, INTEGERS | enums

    def note(self, key, value, kind, pointer):
        array = re.fullmatch(r"(.*)\[\w+\]", key)
        if array:  # the first elements speak for all
            base = value[:value.rindex("[")]
            return [line for i in range(2) for line in self.note(f"{array[1]}.{i}", f"{base}[{i}]", kind, pointer)]
        if pointer or kind == "lac_cuda_stream_t":
            lines = [f'    standin_note_pointer("{key}", {value});']
            if kind in self.structs:
                lines += [f"    if ({value}) {{", *self.note(key, f"(*{value})", kind, False), "    }"]
            return lines
        if kind in REALS:
            return [f'    standin_note_real("{key}", (double){value});']
        if kind in self.integers:
            return [f'    standin_note_integer("{key}", (int64_t){value});']
        if kind in self.structs:
            return [line for member in self.structs[kind]
                    for line in self.note(f"{key}.{member[2]}", f"{value}.{member[2]}", member[0], member[1])]
        sys.exit(f"{key}: {kind} is a type that is not known")

    def launcher(self, kind, name, args):
        lines, stream = [], "NULL"
        for arg in args:
            of, (declarator,) = split_declaration(arg)
            variable, stars = re.sub(r"[*\s]|\bconst\b", "", declarator), declarator.count("*")
            if of == "lac_cuda_stream_t":
                stream = variable
                continue
            lines += self.note(variable, variable, of, stars > 0)
        return [f"{kind} {name}({', '.join(args)})", "{", f'    standin_begin("{name}", {stream});', *lines,
                "    return (lac_status_t)standin_end();", "}", ""]

    @staticmethod
    def size(kind, name, args):
        names = [split_declaration(a)[1][0].strip("* ") for a in args]
        if kind != "int64_t" or any("*" in a for a in args):
            sys.exit(f"{name}: neither a launcher nor a size, and no emulated source defines it")
        return [f"{kind} {name}({', '.join(args)})", "{",
                f"    const int64_t args[] = {{{', '.join(names)}}};",
                f'    return standin_size("{name}", {len(names)}, args);', "}", ""]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out")
    parser.add_argument("rename")
    parser.add_argument("--headers", nargs="+", required=True)
    parser.add_argument("--emulated", nargs="*", default=[])
    options = parser.parse_args()
    text = "\n".join(map(code_of, options.headers))
    writer = Writer(structures(text), enumerations(text))
    defined = set()
    for source in options.emulated:
        defined |= set(re.findall(rf'extern "C" \w+\s+({PREFIX}\w+)\(', code_of(source)))
    out = ["/* Written by make_kernel_stubs.py: do not edit. */", '#include "standin.h"', '#include "cuda_support.h"', ""]
    rename, count = ["/* Written by make_kernel_stubs.py: do not edit. */"], 0
    for kind, name, args in functions(text):
        count += 1
        if kind == "lac_status_t":
            out += writer.launcher(kind, name, args)
            if name in defined:
                rename.append(f"#define {name} not_{name}")
        elif name not in defined:
            out += writer.size(kind, name, args)
    if count < 50:
        sys.exit(f"only {count} kernels were found in {', '.join(options.headers)}")
    for path, lines in ((options.out, out), (options.rename, rename)):
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")


main()
