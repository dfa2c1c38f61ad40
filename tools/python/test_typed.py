# The types that the module declares: mypy checks them as in a user's program.
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy", reason="mypy is missing: tools/setup")
lockstep = pytest.importorskip("lockstep")

HOME = Path(lockstep.__file__).resolve().parents[1]
MODULES = ["lockstep", *(f"lockstep.{path.stem}" for path in sorted(
    Path(lockstep.__file__).parent.glob("*.py")) if path.stem != "__init__")]

# numpy, pandas and scapy are skipped, because reading them would take most of the time; their types
# are Any.
CONFIGURATION = '''[mypy]
strict = True
follow_imports = silent
warn_unused_ignores = False
[mypy-numpy.*,pandas.*,scapy.*]
follow_imports = skip
ignore_missing_imports = True
[mypy-lockstep._core]
disallow_any_generics = False
[mypy-lockstep.fields]
warn_return_any = False
'''

GOOD = '''import lockstep
from lockstep.sockets import Sockets

stack = lockstep.Stack("rfc", addresses=["10.0.0.1"], seed=1)
connection: lockstep.Connection = stack.connect(("10.0.0.2", 80), local_port=4000)
taken: int = stack.write(connection, b"text")
state: str = stack.state(connection)
cwnd: int = stack.inspect(connection)["cwnd"]
host = lockstep.Sim(seed=7).host("a", "10.0.0.1/24")
octets: bytes = Sockets(host).socket().recv(100)
'''

BAD = '''import lockstep

stack = lockstep.Stack(5)
stack.write("nobody", b"text")
stack.inspect(stack.connect(("10.0.0.2", 80)))["no such variable"]
number: int = stack.state(stack.connect(("10.0.0.2", 80)))
'''


def mypy(tmp_path, *arguments):
    """(exit code, lines) of mypy, which finds the module where this process does."""
    (tmp_path / "mypy.ini").write_text(CONFIGURATION)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "--no-error-summary",
         *arguments], cwd=tmp_path, text=True, timeout=300, capture_output=True,
        env={**os.environ, "MYPYPATH": str(HOME)})
    return done.returncode, (done.stdout + done.stderr).splitlines()


def test_what_the_readme_does_is_well_typed_and_mistakes_are_found(tmp_path):
    (tmp_path / "good.py").write_text(GOOD)
    (tmp_path / "bad.py").write_text(BAD)
    code, lines = mypy(tmp_path, "good.py", "bad.py")
    assert code == 1
    assert [line.partition(": error:")[0] for line in lines] == [
        f"bad.py:{number}" for number in (3, 4, 5, 6)], lines


def test_the_module_itself_is_well_typed(tmp_path):
    code, lines = mypy(tmp_path, *(f"-m={name}" for name in MODULES))
    assert code == 0, "\n".join(lines)
