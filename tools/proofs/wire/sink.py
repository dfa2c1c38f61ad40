# The kernel's side of uploads and downloads: hashes bodies, and serves the pattern in any size.
"""GET /bytes/N, and PUT to any path, of which length and SHA-256 are kept."""
import contextlib
import hashlib
import http.server
import socket
import threading

from dev import namespace as ns

PIECE = 1 << 20


class Handler(http.server.BaseHTTPRequestHandler):
    """Logs nothing, and keeps connections open."""
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):  # pylint: disable=invalid-name
        """Sends the pattern, repeated as needed."""
        size = int(self.path.rsplit("/", maxsplit=1)[1])
        self.send_response(200)
        self.send_header("Content-Length", str(size))
        self.end_headers()
        for begin in range(0, size, ns.PATTERN_OCTETS):
            self.wfile.write(ns.PATTERN[:min(ns.PATTERN_OCTETS, size - begin)])

    def do_PUT(self):  # pylint: disable=invalid-name
        """Answers as our own sink does."""
        size = left = int(self.headers["Content-Length"])
        digest = hashlib.sha256()
        while left:
            piece = self.rfile.read1(min(PIECE, left))
            if not piece:
                self.close_connection = True
                return
            digest.update(piece)
            left -= len(piece)
        self.server.taken.append((size, digest.hexdigest()))
        answer = f"{size} {digest.hexdigest()}\n".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)


class Server(http.server.ThreadingHTTPServer):
    """A thread per connection."""
    request_queue_size = 4096
    address_family = socket.AF_INET6  # also accepts IPv4
    daemon_threads = True

    def handle_error(self, request, client_address):
        """A peer that closes early is not an error."""


@contextlib.contextmanager
def listening(port):
    """Runs a server in the present namespace; `taken` lists the uploads in order."""
    with Server(("::", port), Handler) as server:
        server.taken = []
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
