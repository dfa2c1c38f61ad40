// An echo server on port 7 with a stack of its own. Its words are the host's options:
//   echo tap=lock0 host=10.9.0.1/24 address=10.9.0.2/24
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>

#include "tools/lib/host/host.h"

enum { at_once = 1024 };

struct server {
  int epoll, listener;
  unsigned long long connections, octets;
};

static void watch(struct lockstep_sockets* s, struct server* self, int fd) {
  struct epoll_event wanted = {.events = EPOLLIN};
  wanted.data.fd = fd;
  if (lockstep_epoll_ctl(s, self->epoll, EPOLL_CTL_ADD, fd, &wanted) != 0) {
    lockstep_close(s, fd);
  }
}

static void greet(struct lockstep_sockets* s, struct server* self) {
  int fd = lockstep_accept(s, self->listener, NULL, NULL);
  if (fd >= 0) {
    ++self->connections;
    watch(s, self, fd);
  }
}

/* Sends back what there is room for, and leaves the rest in the stack until the peer has taken it.
 */
static void answer(struct lockstep_sockets* s, struct server* self, int fd) {
  static char data[65536];
  ssize_t got = lockstep_recv(s, fd, data, sizeof data, MSG_PEEK);
  if (got > 0) {
    ssize_t sent = lockstep_send(s, fd, data, (size_t)got, 0);
    if (sent > 0) {
      lockstep_recv(s, fd, NULL, (size_t)sent, MSG_TRUNC);
      self->octets += (unsigned long long)sent;
      return;
    }
  }
  if (got == 0 || errno != EAGAIN) {
    lockstep_close(s, fd); /* the peer has closed, or the connection has failed */
  }
}

/* Called in each turn of the host. */
static void serve(struct lockstep_sockets* s, void* user) {
  static struct epoll_event ready[at_once];
  struct server* self = user;
  int count = lockstep_epoll_wait(s, self->epoll, ready, at_once);
  for (int i = 0; i < count; ++i) {
    if (ready[i].data.fd == self->listener) {
      greet(s, self);
    } else {
      answer(s, self, ready[i].data.fd);
    }
  }
}

static int begin(struct lockstep_sockets* s, struct server* self) {
  struct sockaddr_in6 name = {.sin6_family = AF_INET6, .sin6_port = htons(7)};
  self->epoll = lockstep_epoll_create1(s, 0);
  self->listener = lockstep_socket(s, AF_INET6, SOCK_STREAM, 0); /* IPv4 as well */
  if (lockstep_bind(s, self->listener, (const struct sockaddr*)&name, sizeof name) != 0 ||
      lockstep_listen(s, self->listener, 128) != 0) {
    return -1;
  }
  watch(s, self, self->listener);
  lockstep_on_turn(s, serve, self);
  return 0;
}

int main(int count, char** words) {
  (void)count;
  struct lockstep_host* host = lockstep_host_open((const char* const*)(words + 1));
  if (host == NULL) {
    fprintf(stderr, "echo: %s\n", lockstep_host_error(NULL));
    return 2;
  }
  struct server self = {0};
  if (begin(lockstep_host_sockets(host), &self) != 0) {
    perror("echo: port 7");
    lockstep_host_close(host);
    return 3;
  }
  if (lockstep_host_stop_on_signals(host) != 0) {
    fprintf(stderr, "echo: %s\n", lockstep_host_error(host));
    lockstep_host_close(host);
    return 3;
  }
  printf("echo on port 7 of %s\n", lockstep_host_description(host));
  fflush(stdout);
  int ending = lockstep_host_run(host);
  if (ending < 0) {
    fprintf(stderr, "echo: %s\n", lockstep_host_error(host));
  }
  printf("%llu connections, %llu octets\n", self.connections, self.octets);
  lockstep_host_close(host);
  return ending < 0 ? 3 : 0;
}
