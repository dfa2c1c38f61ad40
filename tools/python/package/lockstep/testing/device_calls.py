# The calls of a program as requests of device.h, for each target that is behind that interface.
from .device_wire import AGAIN, GONE, UNSUPPORTED, Call
from .errors import Misuse, Unsupported

#: The largest number of bytes in one request to send.
PIECE = 1 << 19
BACKLOG = 128


class Variables:
    """The variables of a connection, each asked for when it is read."""

    def __init__(self, target, connection):
        self._target, self._connection = target, connection

    def __getitem__(self, name):
        answer = self._target.ask(Call.GET, self._connection, octets=name.encode())
        if answer.result == UNSUPPORTED:
            raise Unsupported(f"target {self._target.name} does not show {name}")
        return answer.result


class DeviceCalls:
    """A part of a Target: the calls of its program. The target has `ask` and `name`."""

    _listener = None

    def ask(self, call, first=0, second=0, octets=b""):
        """Makes a call; returns its Answer."""
        raise NotImplementedError

    def _result(self, call, *arguments, octets=b""):
        """The result of a call; Unsupported if the device does not have it."""
        answer = self.ask(call, *arguments, octets=octets)
        if answer.result == UNSUPPORTED:
            what = call.name.lower() + (f" {octets.decode()}" if call == Call.SET else "")
            raise Unsupported(f"target {self.name} has no call {what}")
        if answer.result < 0 and answer.result not in (AGAIN, GONE):
            raise Misuse(f"target {self.name}: {call.name.lower()} was refused"
                         + f": {answer.text}" * bool(answer.text))
        return answer

    def listen(self, port):
        self._listener = self._result(Call.LISTEN, port, BACKLOG).result

    def unlisten(self):
        if self._listener is not None:
            self._result(Call.UNLISTEN, self._listener)
            self._listener = None

    def connect(self, local_port, remote_port):
        return self._result(Call.CONNECT, local_port, remote_port).result

    def accept(self):
        if self._listener is None:
            return None
        result = self._result(Call.ACCEPT, self._listener).result
        return result if result > 0 else None

    def write(self, connection, data):
        taken = 0
        while taken < len(data):
            result = self._result(Call.SEND, connection, octets=data[taken:taken + PIECE]).result
            if result <= 0:
                break
            taken += result
        return taken

    def read(self, connection, most):
        answer = self._result(Call.RECEIVE, connection, most)
        return answer.octets if answer.result > 0 else b""

    def finish(self, connection):
        self._result(Call.FINISH, connection)

    def close(self, connection):
        self._result(Call.CLOSE, connection)

    def abort(self, connection):
        self._result(Call.ABORT, connection)

    def urgent(self, connection):
        self._result(Call.URGENT, connection)

    def set(self, connection, name, value):
        self._result(Call.SET, connection, value, octets=name.encode())

    def inspect(self, connection):
        return Variables(self, connection)
