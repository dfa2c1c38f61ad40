#!/usr/bin/env python3
"""Installs a build into a temporary prefix, and builds a consumer with CMake and with
pkg-config."""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import try_examples

CONSUMER = pathlib.Path(__file__).resolve().parent / "consumer"
SOCKETS_CONSUMER = CONSUMER.with_name("consumer_sockets")
EXAMPLE = CONSUMER.parents[2] / "lib/sockets/example.c"
EXAMPLE_SAYS = r"echo: hello\nthe peer has closed: yes, recv gives 0\n"
PARTS_CONSUMER = CONSUMER.with_name("consumer_parts")
PARTS_SAY = {
    "hw": r"'no/name' is not an interface name: .+\n(.*none0.*\n){2}",
    "sim": r"1000000 octets\n",
}
LAYERS = ("units", "memory", "wire", "link", "internet", "tcp", "stack")
UNIT = "lib/systemd/system/lockstep.service"
EXTRAS = "share/doc/lockstep/systemd"
HTTP_CONSUMER = CONSUMER.with_name("consumer_ns3_http")


def run(*command, **more):
    """Runs a command; if it fails, prints it and its output, and ends the test."""
    words = [str(word) for word in command]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, **more)
    if done.returncode != 0:
        print(f"failed ({done.returncode}): {' '.join(words)}\n{done.stdout}", file=sys.stderr)
        sys.exit(1)
    return done.stdout


def words_of(prefix, *modules):
    """What pkg-config prints for the modules, installed in the prefix."""
    paths = [str(path) for path in prefix.glob("lib*/**/pkgconfig")]
    environment = dict(os.environ, PKG_CONFIG_PATH=":".join(paths))
    return run("pkg-config", "--cflags", "--libs", *modules, env=environment).split()


def expect_connected(program, way):
    out = run(program)
    if out != "connected\n":
        print(f"{way}: the consumer printed {out!r}", file=sys.stderr)
        sys.exit(1)


def build_consumer(source, folder, prefix, compiler, flags):
    run("cmake", "-G", "Ninja", "-S", source, "-B", folder, f"-DCMAKE_PREFIX_PATH={prefix}",
        f"-DCMAKE_CXX_COMPILER={compiler}", f"-DCMAKE_CXX_FLAGS={flags}")
    run("cmake", "--build", folder)


def try_find_package(prefix, folder, compiler, flags):
    build_consumer(CONSUMER, folder, prefix, compiler, flags)
    expect_connected(folder / "consumer", "find_package")


def try_pkg_config(prefix, folder, compiler, flags):
    folder.mkdir()
    words = words_of(prefix, "lockstep")
    run(compiler, *flags.split(), CONSUMER / "main.cpp", *words, "-o", folder / "consumer")
    expect_connected(folder / "consumer", "pkg-config")


def try_sockets(prefix, folder, compiler, flags):
    """The example of the sockets, in C, by find_package and by pkg-config: it links the core
    alone."""
    build_consumer(SOCKETS_CONSUMER, folder / "cmake", prefix, compiler, flags)
    expect_printed("lockstep::sockets: its user in C", folder / "cmake" / "consumer", EXAMPLE_SAYS)
    words = words_of(prefix, "lockstep-sockets")
    run(try_examples.c_compiler_of(compiler), *flags.split(), "-std=c99", "-D_GNU_SOURCE", EXAMPLE,
        *words, "-o", folder / "consumer")
    expect_printed("lockstep-sockets: its user in C", folder / "consumer", EXAMPLE_SAYS)


def try_parts(prefix, folder, compiler, flags):
    """The drivers and the simulator, by find_package and by pkg-config."""
    build_consumer(PARTS_CONSUMER, folder / "cmake", prefix, compiler, flags)
    for part, says in PARTS_SAY.items():
        by_cmake = folder / "cmake" / f"consumer_{part}"
        expect_printed(f"lockstep::{part}: its user", by_cmake, says)
        program = folder / part
        words = words_of(prefix, f"lockstep-{part}")
        run(compiler, *flags.split(), PARTS_CONSUMER / f"{part}.cpp", *words, "-o", program)
        expect_printed(f"lockstep-{part}: its user", program, says)


def try_embedded(prefix, folder, compiler, flags):
    """The programs of sim/examples/embed; returns what could not be tried."""
    folder.mkdir()

    def words(*modules):
        return words_of(prefix, *modules)
    try:
        return try_examples.try_all(folder, prefix, words, build_consumer, compiler, flags)
    except try_examples.Wrong as wrong:
        print(f"sim/examples/embed: {wrong}", file=sys.stderr)
        sys.exit(1)


def expect_printed(what, program, pattern):
    out = run(program)
    if not re.fullmatch(pattern, out):
        print(f"{what} printed {out!r}", file=sys.stderr)
        sys.exit(1)


def expect(holds, says):
    if not holds:
        print(says, file=sys.stderr)
        sys.exit(1)


def try_unit(prefix):
    """The unit for systemd names the program that was installed with it; beside README's place of
    them are the files that a server of another kind needs."""
    unit = (prefix / UNIT).read_text(encoding="utf-8")
    expect(f"ExecStart={prefix}/bin/lockstep serve http " in unit,
           f"lockstep.service does not run {prefix}/bin/lockstep")
    sources = CONSUMER.parents[3] / "tools/verbs/serve/systemd"
    for source in sources.glob("*.conf"):
        installed = prefix / EXTRAS / source.name
        expect(installed.is_file() and installed.read_bytes() == source.read_bytes(),
               f"{installed} is missing, or differs from {source}")
    readme = (sources.parent / "README.md").read_text(encoding="utf-8")
    for place in (UNIT, EXTRAS):
        expect(f"`PREFIX/{place}" in readme, f"{sources.parent}/README.md does not name {place}")


def try_destdir(build, folder):
    """A package is made in a folder that is not the prefix; the unit is not written elsewhere."""
    def units():
        return {path: path.stat().st_mtime_ns for path in build.rglob("*.service")}
    before = units()
    run("cmake", "--install", build, "--prefix", "/opt/lockstep",
        env=dict(os.environ, DESTDIR=str(folder)))
    unit = (folder / "opt/lockstep" / UNIT).read_text(encoding="utf-8")
    expect("ExecStart=/opt/lockstep/bin/lockstep serve http " in unit,
           "with DESTDIR lockstep.service does not run /opt/lockstep/bin/lockstep")
    expect(units() == before, "installing writes the unit into the build")
    listed = (build / "install_manifest.txt").read_text(encoding="utf-8").split("\n")
    expect(f"/opt/lockstep/{UNIT}" in listed, f"install_manifest.txt lacks {UNIT}")


def try_ns3(prefix, folder, compiler, flags):
    """The example of sim/ns3/README.md and the dumbbell with the component ns3, if it was built."""
    if not list(prefix.glob("lib*/**/lockstepNs3Targets.cmake")):
        return "built without ns-3"
    text = (CONSUMER.parents[3] / "sim/ns3/README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```(cpp|cmake)\n(.*?)```", text, re.S)
    source = folder / "source"
    source.mkdir(parents=True)
    for kind, block in blocks[:2]:
        name = "main.cpp" if kind == "cpp" else "CMakeLists.txt"
        (source / name).write_text(block, encoding="utf-8")
    build_consumer(source, folder / "build", prefix, compiler, flags)
    expect_printed("sim/ns3/README.md: its example", folder / "build" / "example",
                   "1000000 octets\n")
    # Neither flow gets less than its share of a bottleneck of 10 Mbit/s.
    build_consumer(CONSUMER.parents[3] / "sim/examples/ns3", folder / "dumbbell", prefix, compiler,
                   flags)
    expect_printed("sim/examples/ns3", folder / "dumbbell" / "dumbbell",
                   r"lockstep [3-6]\.\d+ Mbit/s\nns-3 [3-6]\.\d+ Mbit/s\n")
    build_consumer(HTTP_CONSUMER, folder / "http", prefix, compiler, flags)
    expect_printed("lockstep::ns3_http: its user", folder / "http" / "consumer",
                   "20 pages, 200000 octets\n")
    return "in ns-3, and its web server"


def try_core_alone(folder, compiler, flags):
    """The core and nothing else is built and installed, and its consumer links it."""
    build, prefix = folder / "build", folder / "prefix"
    run("cmake", "-G", "Ninja", "-S", CONSUMER.parents[3], "-B", build,
        f"-DCMAKE_CXX_COMPILER={compiler}", f"-DCMAKE_CXX_FLAGS={flags}",
        "-DCMAKE_CXX_FLAGS_RELEASE=-O2 -g1", "-DLOCKSTEP_JOINED=ON", "-DLOCKSTEP_CORE_ALONE=ON")
    run("cmake", "--build", build)
    run("cmake", "--install", build, "--prefix", prefix)
    found = sorted(path.name for path in prefix.glob("lib*/**/*.a"))
    if found != [f"liblockstep_{layer}.a" for layer in sorted(LAYERS)]:
        print(f"LOCKSTEP_CORE_ALONE installs {found}", file=sys.stderr)
        sys.exit(1)
    try_find_package(prefix, folder / "by_cmake", compiler, flags)
    try_pkg_config(prefix, folder / "by_pkg_config", compiler, flags)


def try_parts_fit(folder, compiler):
    """A part without what it stands on is refused, with the mend."""
    done = subprocess.run(["cmake", "-G", "Ninja", "-S", CONSUMER.parents[3], "-B", folder,
                           f"-DCMAKE_CXX_COMPILER={compiler}", "-DLOCKSTEP_HW=OFF"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode == 0 or "pass -DLOCKSTEP_HW=ON" not in " ".join(done.stdout.split()):
        print(f"LOCKSTEP_TOOLS without LOCKSTEP_HW: {done.stdout!r}", file=sys.stderr)
        sys.exit(1)


def try_unbuilt(folder, compiler):
    """Nothing is installed of a build that is not complete, and the message says what to do."""
    run("cmake", "-G", "Ninja", "-S", CONSUMER.parents[3], "-B", folder / "build",
        f"-DCMAKE_CXX_COMPILER={compiler}", "-DLOCKSTEP_TESTS=OFF")
    done = subprocess.run(["cmake", "--install", folder / "build", "--prefix", folder / "prefix"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    said = " ".join(done.stdout.split())
    mend = f"is not built: run 'cmake --build {folder / 'build'} --target installed', then install"
    if done.returncode == 0 or mend not in said or (folder / "prefix").exists():
        print(f"installing what is not built: {done.stdout!r}", file=sys.stderr)
        sys.exit(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     epilog="example: try_install.py build/release --compiler g++")
    parser.add_argument("build", type=pathlib.Path, help="a complete build folder")
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--flags", default="", help="further compiler flags, such as sanitizers")
    options = parser.parse_args()
    if shutil.which("pkg-config") is None:
        print("pkg-config is missing: run tools/setup", file=sys.stderr)
        return 3
    with tempfile.TemporaryDirectory() as folder:
        top = pathlib.Path(folder)
        run("cmake", "--install", options.build, "--prefix", top / "prefix")
        if not list((top / "prefix").glob("lib*/**/liblockstep_packetdrill.so")):
            print("liblockstep_packetdrill.so is not installed", file=sys.stderr)
            sys.exit(1)
        try_unit(top / "prefix")
        try_destdir(options.build, top / "package")
        try_find_package(top / "prefix", top / "by_cmake", options.compiler, options.flags)
        try_pkg_config(top / "prefix", top / "by_pkg_config", options.compiler, options.flags)
        try_sockets(top / "prefix", top / "sockets", options.compiler, options.flags)
        try_parts(top / "prefix", top / "parts", options.compiler, options.flags)
        skipped = try_embedded(top / "prefix", top / "embedded", options.compiler, options.flags)
        try_core_alone(top / "core", options.compiler, options.flags)
        try_parts_fit(top / "parts_fit", options.compiler)
        try_unbuilt(top / "unbuilt", options.compiler)
        ns3 = try_ns3(top / "prefix", top / "ns3", options.compiler, options.flags)
    for each in skipped:
        print(each, file=sys.stderr)
    print(f"the consumers connect, in C++ and in C, by find_package and pkg-config; {ns3}; "
          f"{len(skipped)} skipped")
    return 0


if __name__ == "__main__":
    sys.exit(main())
