"""The public names: each has a docstring and types; README's examples run."""

import inspect
import pathlib
import re
import typing

import pytest

pytest.importorskip("nanobind")
import lockstep  # noqa: E402
from lockstep import fields, scapy, sockets  # noqa: E402

ROOM = pathlib.Path(__file__).parent
PUBLIC = [(module, name) for module in (lockstep, fields, scapy, sockets)
          for name in module.__all__]
CLASSES = [getattr(*each) for each in PUBLIC if inspect.isclass(getattr(*each))]


def members(of):
    for name, value in vars(of).items():
        if not name.startswith("_") and (callable(value) or isinstance(value, property)):
            yield f"{of.__name__}.{name}", value


def functions():
    for module, name in PUBLIC:
        if inspect.isfunction(getattr(module, name)):
            yield name, getattr(module, name)
    for each in CLASSES:
        if not issubclass(each, tuple):
            yield from members(each)


@pytest.mark.parametrize("module,name", PUBLIC, ids=[f"{m.__name__}.{n}" for m, n in PUBLIC])
def test_a_public_name_is_there_and_says_what_it_is(module, name):
    value = getattr(module, name)
    if inspect.isclass(value) or inspect.isfunction(value):
        assert value.__doc__ and not value.__doc__.startswith(f"{name}(")


@pytest.mark.parametrize("name,value", functions(), ids=[name for name, _ in functions()])
def test_a_call_has_a_docstring_and_types(name, value):
    assert value.__doc__, name
    call = value.fget if isinstance(value, property) else value
    known = typing.get_type_hints(call)
    asked = [each for each in inspect.signature(call).parameters if each != "self"]
    assert "return" in known and all(each in known for each in asked), name


def test_an_inspection_has_the_keys_that_are_declared():
    stack = lockstep.Stack()
    connection = stack.connect(("10.0.0.2", 80))
    seen = stack.inspect(connection)
    assert set(seen) == set(lockstep.Inspection.__annotations__)


def test_the_package_says_that_it_is_typed():
    package = pathlib.Path(lockstep.__file__).parent
    assert (package / "py.typed").exists()
    stub = (package / "_core.pyi").read_text(encoding="utf-8")
    core = lockstep._core
    for name in (each for each in vars(core) if not each.startswith("__")):
        assert re.search(rf"^(def |class )?{name}\b", stub, re.M), name


def examples():
    text = (ROOM / "README.md").read_text(encoding="utf-8")
    found = re.findall(r"```python\n(.*?)```\n+(?:It prints:\n+```text\n(.*?)```)?", text, re.S)
    assert found
    return found


@pytest.mark.parametrize("code, expected", examples())
def test_an_example_of_the_readme_runs(code, expected, capsys):
    if "series=True" in code:
        pytest.importorskip("pandas")
    exec(compile(code, "README.md", "exec"), {})  # pylint: disable=exec-used
    printed = capsys.readouterr().out
    assert not expected or printed == expected
