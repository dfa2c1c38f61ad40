// A driver of one's own: two hosts joined by a wire in memory that loses each seventh frame, in
// virtual time. It needs no root and no clock, and prints the same each time.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "tools/lib/host/host.h"

enum { frame_max = 1518, frames_max = 64, message_bytes = 100000 };

static uint64_t clock_ns = 1000000000; /* a driver's clock begins at a second or later */

/* One direction of the wire: a frame can be received `arrives` nanoseconds after the start. */
struct lane {
  unsigned first, count, sent;
  struct {
    uint64_t arrives;
    size_t length;
    unsigned char octets[frame_max];
  } frames[frames_max];
};

struct wire {
  struct lane *in, *out;
};

static uint64_t now(void* user) {
  (void)user;
  return clock_ns;
}

static size_t poll_frame(void* user, void* frame, size_t room) {
  struct lane* in = ((struct wire*)user)->in;
  while (in->count != 0 && in->frames[in->first % frames_max].arrives <= clock_ns) {
    unsigned at = in->first++ % frames_max;
    --in->count;
    if (in->frames[at].length <= room) { /* a longer one is discarded */
      memcpy(frame, in->frames[at].octets, in->frames[at].length);
      return in->frames[at].length;
    }
  }
  return 0;
}

static int send_frame(void* user, const void* frame, size_t length) {
  struct lane* out = ((struct wire*)user)->out;
  if (out->count == frames_max) {
    return 0; /* no room: offered again later */
  }
  if (++out->sent % 7 == 0 || length > frame_max) {
    return 1; /* lost, as is one that is too long for the wire */
  }
  unsigned at = (out->first + out->count++) % frames_max;
  out->frames[at].arrives = clock_ns + 1000000; /* a millisecond */
  out->frames[at].length = length;
  memcpy(out->frames[at].octets, frame, length);
  return 1;
}

static struct lockstep_host* open_host(struct wire* wire, const char* address) {
  /* The seed makes each run the same; without it the keys come from the system's entropy. */
  const char* options[] = {address, "connections=8", "seed=1", NULL};
  struct lockstep_driver driver = {
      .size = sizeof driver, .user = wire, .now = now, .poll = poll_frame, .send = send_frame};
  struct lockstep_host* host = lockstep_host_on_driver(&driver, options);
  if (host == NULL) {
    fprintf(stderr, "driver: %s\n", lockstep_host_error(NULL));
  }
  return host;
}

static uint64_t earlier(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* Runs all turns of this moment, then jumps to the next frame or deadline. */
static void advance(struct lockstep_host* hosts[2], struct lane lanes[2]) {
  while (lockstep_host_turn(hosts[0], 0) == 1 || lockstep_host_turn(hosts[1], 0) == 1) {
  }
  uint64_t next = UINT64_MAX;
  for (int i = 0; i < 2; ++i) {
    next = earlier(next, lockstep_host_deadline(hosts[i]));
    if (lanes[i].count != 0) {
      next = earlier(next, lanes[i].frames[lanes[i].first % frames_max].arrives);
    }
  }
  clock_ns = next > clock_ns ? next : clock_ns;
}

int main(void) {
  static struct lane lanes[2];
  struct wire ends[2] = {{&lanes[0], &lanes[1]}, {&lanes[1], &lanes[0]}};
  struct lockstep_host* hosts[2] = {open_host(&ends[0], "address=10.0.0.1/24"),
                                    open_host(&ends[1], "address=10.0.0.2/24")};
  if (hosts[0] == NULL || hosts[1] == NULL) {
    lockstep_host_close(hosts[0]);
    lockstep_host_close(hosts[1]);
    return 2;
  }
  struct lockstep_sockets *client = lockstep_host_sockets(hosts[0]),
                          *server = lockstep_host_sockets(hosts[1]);

  struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons(5000)};
  int listener = lockstep_socket(server, AF_INET, SOCK_STREAM, 0);
  lockstep_bind(server, listener, (const struct sockaddr*)&name, sizeof name);
  lockstep_listen(server, listener, 5);
  inet_pton(AF_INET, "10.0.0.2", &name.sin_addr);
  int caller = lockstep_socket(client, AF_INET, SOCK_STREAM, 0);
  lockstep_connect(client, caller, (const struct sockaddr*)&name, sizeof name);

  static char message[message_bytes], arrived[message_bytes + 1];
  for (int i = 0; i < message_bytes; ++i) {
    message[i] = (char)('a' + i % 26);
  }
  size_t sent = 0, got = 0;
  int callee = -1, over = 0;
  uint64_t const begun = clock_ns;
  while (!over && clock_ns < begun + UINT64_C(60000000000)) {
    advance(hosts, lanes);
    ssize_t took = lockstep_send(client, caller, message + sent, message_bytes - sent, 0);
    sent += took > 0 ? (size_t)took : 0;
    if (sent == message_bytes) {
      lockstep_shutdown(client, caller, SHUT_WR);
    }
    callee = callee < 0 ? lockstep_accept(server, listener, NULL, NULL) : callee;
    ssize_t more =
        callee < 0 ? -1 : lockstep_recv(server, callee, arrived + got, sizeof arrived - got, 0);
    got += more > 0 ? (size_t)more : 0;
    over = more == 0;
  }
  int const same = got == message_bytes && memcmp(message, arrived, message_bytes) == 0;
  struct lockstep_tcp_info info;
  socklen_t length = sizeof info;
  lockstep_getsockopt(client, caller, IPPROTO_TCP, 11 /* TCP_INFO */, &info, &length);
  printf("%zu octets arrived %s in %llu ms of virtual time, %u segments were retransmitted\n", got,
         same ? "as sent" : "damaged", (unsigned long long)(clock_ns - begun) / 1000000,
         (unsigned)info.tcpi_total_retrans);
  lockstep_host_close(hosts[0]);
  lockstep_host_close(hosts[1]);
  return over && same ? 0 : 1;
}
