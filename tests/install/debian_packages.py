# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Builds the Debian packages, reads what they hold, unpacks them, runs what is inside and their maintainer scripts.

usage: debian_packages.py cmake source-folder build-folder version
Nothing of the system is touched: the packages are installed and removed below a folder of the test, and their scripts
run once more before an update-alternatives that only writes down its arguments."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

PACKAGES = {
    "liblacuna0": {"/liblacuna.so.0", "/man7/lacuna-environment.7"},
    "liblacuna-dev": {"/include/lacuna/lacuna.h", "/liblacuna.so", "/liblacuna.a", "/pkgconfig/lacuna.pc",
                      "/cmake/lacuna/lacunaConfig.cmake", "/examples/01_drop_in.c"},
    "lacuna": {"/bin/lacuna", "/man1/lacuna.1"},
    "liblacuna-blas": {"/liblacuna_blas.so", "/lacuna/libblas.so.3"},
}


def out(*command, **more):
    return subprocess.run(command, check=True, text=True, capture_output=True, **more).stdout


def expect(good, what):
    if not good:
        sys.exit(f"wrong: {what}")


def build(cmake, source, folder):
    """The packages as cpack leaves them, {name: path}."""
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    flags = ["-DCMAKE_BUILD_TYPE=Release", "-DLACUNA_TESTS=OFF", "-DCMAKE_INSTALL_PREFIX=/usr"]
    openblas = "libopenblas.so.0" in out("sh", "-c", "PATH=$PATH:/sbin ldconfig -p")
    flags += [f"-DLACUNA_WHOLE_BLAS={'libopenblas.so.0' if openblas else ''}"]
    subprocess.run([cmake, "-S", source, "-B", folder, *generator, *flags], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([cmake, "--build", folder, "-j2"], check=True, stdout=subprocess.DEVNULL)
    for old in folder.glob("*.deb"):
        old.unlink()
    subprocess.run([pathlib.Path(cmake).with_name("cpack")], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return {out("dpkg-deb", "-f", path, "Package").strip(): path for path in folder.glob("*.deb")}, openblas


def check_fields(name, package, version):
    fields = dict(line.split(": ", 1) for line in out("dpkg-deb", "-f", package).splitlines() if ": " in line)
    expect(fields["Version"] == f"{version}-1", f"{name}: version {fields['Version']}")
    expect(fields["Architecture"] == out("dpkg", "--print-architecture").strip(), f"{name}: architecture")
    if name != "liblacuna0":
        expect(f"liblacuna0 (= {version}-1)" in fields["Depends"], f"{name}: does not need its own library: {fields['Depends']}")
    if name != "liblacuna-dev":
        expect("libc6" in fields["Depends"], f"{name}: needs {fields['Depends']}")


def check_files(name, package, wanted):
    """The files, each root's, none writable by others, all of them below /usr."""
    files = set()
    for line in out("dpkg-deb", "-c", package).splitlines():
        mode, owner, _size, _date, _time, path = line.split(" -> ")[0].split(None, 5)
        expect(owner == "root/root", f"{name}: {path} is {owner}'s")
        expect("w" not in mode[4:] or mode[0] == "l", f"{name}: {path} has mode {mode}")
        expect("s" not in mode, f"{name}: {path} is set-uid")
        expect(path.startswith("./usr/"), f"{name}: {path} is not below /usr")
        if mode[0] != "d":
            files.add(path)
    for ending in wanted | {f"/doc/{name}/copyright"}:
        expect(any(path.endswith(ending) for path in files), f"{name}: has no {ending}")
    return files


def check_scripts(package, root, folder):
    """Registered once by configure, kept by an upgrade, removed by a removal: of a file that the package has."""
    control = folder / "control"
    out("dpkg-deb", "-e", package, control)
    expect((control / "triggers").read_text().strip() == "activate-noawait ldconfig", "no trigger for ldconfig")
    said = folder / "said"
    shim = folder / "bin/update-alternatives"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\necho "$*" >> {said}\n')
    shim.chmod(0o755)
    environment = {**os.environ, "PATH": f"{shim.parent}:{os.environ['PATH']}"}

    def told(script, *arguments):
        said.write_text("")
        out(control / script, *arguments, env=environment)
        return said.read_text().split()

    multiarch = out("dpkg-architecture", "-qDEB_HOST_MULTIARCH").strip()
    alternative = f"libblas.so.3-{multiarch}"
    command = told("postinst", "configure", "")
    expect(command[:3] == ["--install", f"/usr/lib/{multiarch}/libblas.so.3", alternative], f"postinst says {command}")
    expect((root / command[3].lstrip("/")).is_file(), f"{command[3]} is in no package")
    expect(int(command[4]) < 10, f"priority {command[4]}: would be taken before a real BLAS")
    expect(told("prerm", "upgrade", "9.9") == [], "an upgrade forgets what was chosen")
    expect(told("prerm", "remove") == ["--remove", alternative, command[3]], "a removal does not take it back")
    expect(told("postinst", "abort-upgrade") == [], "an upgrade that failed registers again")


def check_installing(packages, whole, root):
    """dpkg itself puts the packages into a system that has nothing else, and takes them out again: nothing stays."""
    for folder in ("var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers", "var/log", "etc/alternatives"):
        (root / folder).mkdir(parents=True)
    for name in ("status", "available"):
        (root / "var/lib/dpkg" / name).touch()
    dpkg = ("dpkg", f"--root={root}", "--force-depends", "--force-script-chrootless")
    environment = {**os.environ, "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"}
    multiarch = out("dpkg-architecture", "-qDEB_HOST_MULTIARCH").strip()
    link, chosen = root / f"usr/lib/{multiarch}/libblas.so.3", root / f"etc/alternatives/libblas.so.3-{multiarch}"
    for attempt in ("first", "second"): # as an upgrade to the same version
        out(*dpkg, "-i", *packages.values(), env=environment)
        expect((root / "usr/bin/lacuna").is_file(), f"{attempt}: the tool is not there")
        if whole: # the only BLAS of that system, so the one that is chosen
            expect(link.is_symlink() and str(link.readlink()) == f"/etc/alternatives/{chosen.name}", f"{attempt}: {link}")
            expect((root / str(chosen.readlink()).lstrip("/")).is_file(), f"{attempt}: {chosen} leads to nothing")
    out(*dpkg, "-P", *packages, env=environment)
    left = [path for path in root.rglob("*") if not path.is_dir() and root / "var" not in path.parents]
    expect(not left, f"left behind: {left}")


def check_running(root, folder, whole):
    libdir = next(root.glob("usr/lib/**/liblacuna_blas.so")).parent
    text = out(root / "usr/bin/lacuna", "check", "--quiet", "sgemm:NN:8x200x64:A=bern0.05")
    expect(" 0 failed" in text, text)
    if not whole:
        return
    needs = out("ldd", libdir / "lacuna/libblas.so.3")
    expect("not found" not in needs and str(libdir.resolve()) in needs.replace("/lacuna/..", ""), needs)
    source, program, log = folder / "dense.c", folder / "plain", folder / "log"
    source.write_text("""#include <stdio.h>
        void sgemm_(const char *, const char *, const int *, const int *, const int *, const float *, const float *,
                    const int *, const float *, const int *, const float *, float *, const int *, long, long);
        float sdot_(const int *, const float *, const int *, const float *, const int *);
        static float a[64 * 64], b[64 * 64], c[64 * 64];
        int main(void) { int n = 64, one = 1; float f = 1, z = 0;
            a[3] = 2; for (int i = 0; i < n * n; i++) b[i] = (float)(i % 5);
            sgemm_("N", "N", &n, &n, &n, &f, a, &n, b, &n, &z, c, &n, 1, 1);
            printf("%g %g\\n", c[3 + 64 * 2], sdot_(&n, b, &one, b, &one)); return 0; }""")
    out("cc", "-o", program, source, "-Wl,--no-as-needed", "-l:libblas.so.3", "-Wl,--as-needed")
    environment = {**os.environ, "LACUNA_VERBOSE": "exec", "LACUNA_LOG": str(log)}
    plain = out(program)
    under = out(program, env={**environment, "LD_LIBRARY_PATH": str(libdir / "lacuna")})
    expect(plain == under and plain.split()[0] == "6", f"plain {plain}, as libblas.so.3 {under}")
    expect(log.exists() and ",sgemm_," in log.read_text(), "the packaged libblas.so.3 was not asked")


def main(cmake, source, folder, version):
    if not all(shutil.which(tool) for tool in ("dpkg-deb", "dpkg-architecture")):
        print("skipped: no dpkg-deb or dpkg-architecture (Debian: dpkg-dev)")
        return 77
    packages, whole = build(cmake, source, pathlib.Path(folder))
    expect(set(packages) == set(PACKAGES), f"packages {sorted(packages)}")
    if not whole:
        print("no libopenblas.so.0: without a libblas.so.3 of its own")
        PACKAGES["liblacuna-blas"].discard("/lacuna/libblas.so.3")
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        root, seen = work / "root", {}
        for name, package in packages.items():
            check_fields(name, package, version)
            for path in check_files(name, package, PACKAGES[name]):
                expect(path not in seen, f"{path} is in {name} and in {seen.get(path)}")
                seen[path] = name
            out("dpkg-deb", "-x", package, root)
        if os.geteuid() == 0:
            check_installing(packages, whole, work / "system")
        else:
            print("not root: dpkg itself was not asked to install them")
        if whole:
            check_scripts(packages["liblacuna-blas"], root, work)
        check_running(root, work, whole)
        print(f"{len(packages)} packages, {len(seen)} files")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
