"""Everything that states a version states that of tools/base/process/version.hpp."""

import pathlib
import re
import subprocess
import tomllib

import lockstep

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = ROOT / "build/release"
(VERSION,) = re.findall(r'version = "([0-9.]+)"',
                        (ROOT / "tools/base/process/version.hpp").read_text(encoding="utf-8"))


def test_cmake_has_it():
    cache = (BUILD / "CMakeCache.txt").read_text(encoding="utf-8")
    assert f"CMAKE_PROJECT_VERSION:STATIC={VERSION}\n" in cache
    found = (BUILD / "package/lockstepConfigVersion.cmake").read_text(encoding="utf-8")
    assert f'set(PACKAGE_VERSION "{VERSION}")' in found


def test_pkg_config_has_it():
    names = sorted(path.name for path in (BUILD / "package").glob("*.pc.in"))
    assert "lockstep.pc.in" in names
    for name in names:
        assert f"Version: {VERSION}\n" in (BUILD / "package" / name).read_text(encoding="utf-8")


def test_the_program_prints_it():
    ran = subprocess.run([BUILD / "lockstep", "--version"], capture_output=True, text=True,
                         check=True)
    assert ran.stdout == f"lockstep {VERSION}\n"


def test_the_python_module_has_it():
    assert lockstep.__version__ == VERSION


def test_the_wheel_has_it():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert settings["project"]["dynamic"] == ["version"] and "version" not in settings["project"]
    (rule,) = settings["tool"]["dynamic-metadata"]
    text = (ROOT / rule["input"]).read_text(encoding="utf-8")
    assert re.search(rule["regex"], text)["value"] == VERSION


def test_the_front_page_and_the_changelog_name_it():
    assert f"Version {VERSION}:" in (ROOT / "README.md").read_text(encoding="utf-8")
    changes = (ROOT / "tools/dev/CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"(?m)^## (\S+)", changes)[0] == VERSION
