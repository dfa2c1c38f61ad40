// Sends a file over a lossy link in the simulator, with epoll, as a program on a real wire would.
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "tools/lib/sim_sockets/world.h"

enum { whole = 1000000 };

struct server {
  int listener, epoll, connection;
  uint64_t received, ended_at;
};

/* Called in each turn of the server's host. */
static void serve(struct lockstep_sockets* s, void* user) {
  struct server* self = user;
  struct epoll_event ready[4];
  int count = lockstep_epoll_wait(s, self->epoll, ready, 4);
  for (int i = 0; i < count; ++i) {
    if (ready[i].data.fd == self->listener) {
      struct epoll_event wanted = {.events = EPOLLIN};
      wanted.data.fd = self->connection = lockstep_accept(s, self->listener, NULL, NULL);
      lockstep_epoll_ctl(s, self->epoll, EPOLL_CTL_ADD, self->connection, &wanted);
      continue;
    }
    char data[65536];
    ssize_t got = lockstep_recv(s, self->connection, data, sizeof data, 0);
    self->received += got > 0 ? (uint64_t)got : 0;
    if (got == 0) {
      self->ended_at = lockstep_now(s);
      lockstep_close(s, self->connection);
    }
  }
}

static void begin(struct lockstep_sockets* s, struct server* self) {
  struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons(7)};
  self->listener = lockstep_socket(s, AF_INET, SOCK_STREAM, 0);
  lockstep_bind(s, self->listener, (const struct sockaddr*)&name, sizeof name);
  lockstep_listen(s, self->listener, 5);
  self->epoll = lockstep_epoll_create1(s, 0);
  struct epoll_event wanted = {.events = EPOLLIN};
  wanted.data.fd = self->listener;
  lockstep_epoll_ctl(s, self->epoll, EPOLL_CTL_ADD, self->listener, &wanted);
  lockstep_on_turn(s, serve, self);
}

int main(int count, char** words) {
  char why[256];
  const char* path = count > 1 ? words[1] : "tools/lib/sim_sockets/example.toml";
  struct lockstep_world* world = lockstep_world_open(path, 7, why, sizeof why);
  if (world == NULL) {
    fprintf(stderr, "%s\n", why);
    return 2;
  }
  struct server self = {0};
  begin(lockstep_world_host(world, "server"), &self);

  struct lockstep_sockets* client = lockstep_world_host(world, "client");
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(7)};
  to.sin_addr.s_addr = htonl(0x0a000002); /* 10.0.0.2 */
  int fd = lockstep_socket(client, AF_INET, SOCK_STREAM, 0);
  lockstep_connect(client, fd, (const struct sockaddr*)&to, sizeof to);

  static char data[whole];
  size_t sent = 0;
  while (self.ended_at == 0 && lockstep_world_now(world) < UINT64_C(60000000000)) {
    ssize_t took = lockstep_send(client, fd, data + sent, whole - sent, 0);
    sent += took > 0 ? (size_t)took : 0;
    if (sent == whole) {
      lockstep_shutdown(client, fd, SHUT_WR);
    }
    lockstep_world_run(world, 1000000); /* a millisecond */
  }
  printf("%" PRIu64 " octets in %" PRIu64 " ms, fingerprint %" PRIx64 "\n", self.received,
         self.ended_at / 1000000, lockstep_world_fingerprint(world));
  lockstep_world_free(world);
  return self.received == whole ? 0 : 1;
}
