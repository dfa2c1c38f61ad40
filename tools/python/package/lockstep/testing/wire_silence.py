# Keeps the kernel from answering packets that are the tester's, by a table of nftables.
"""The table belongs to the process `nft`, which reads its commands from us: when we end, however
that happens, that process ends, and the kernel removes the table.
"""
import os
import select
import shutil
import subprocess

from .errors import Environment

READY = "lockstep-ready"
READY_SECONDS = 10


class Silence:
    """As long as it is open, the kernel drops the TCP segments from a device to an address."""

    def __init__(self, device, source, ports, why):
        """`ports`: the ports of the tester, (first, last); `why` the kernel would answer."""
        if shutil.which("nft") is None:
            raise Environment(f"{why}, and nft, which silences it, is missing: apt install"
                              " nftables")
        self.table = f"lockstep_{os.getpid()}"
        family = "ip" if device.version == 4 else "ip6"
        hook = "type filter hook prerouting priority raw; policy accept;"
        commands = (
            f"add table inet {self.table} {{ flags owner; }}\n"
            f"add chain inet {self.table} arriving {{ {hook} }}\n"
            f"add rule inet {self.table} arriving {family} saddr {device} {family} daddr {source}"
            f" tcp dport {ports[0]}-{ports[1]} drop\n"
            f"list tables\n")
        # A session of its own: Ctrl-C ends pytest first, then this.
        self._nft = subprocess.Popen(["nft", "-i"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     stderr=subprocess.STDOUT, start_new_session=True)
        try:
            self._nft.stdin.write(commands.encode())
            self._nft.stdin.flush()
            self._await()
        except BaseException:
            self.close()
            raise

    def _await(self):
        """Waits until the table is listed."""
        said = b""
        pipe = self._nft.stdout.fileno()
        while f"table inet {self.table}\n".encode() not in said:
            piece = b""
            if select.select([pipe], [], [], READY_SECONDS)[0]:
                piece = os.read(pipe, 1 << 16)
            said += piece
            if not piece or b"Error" in said:
                lines = [line for line in said.decode("utf-8", "replace").splitlines() if line]
                words = lines[0][:200] if lines else "it does not answer"
                raise Environment(f"nft cannot make the table that silences the kernel: {words}")

    def close(self):
        """Removes the table."""
        self._nft.stdin.close()
        try:
            self._nft.wait(READY_SECONDS)
        except subprocess.TimeoutExpired:
            self._nft.kill()
            self._nft.wait()
        self._nft.stdout.close()
