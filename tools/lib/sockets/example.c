// Echo between the sockets of two stacks, in virtual time.
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "tools/lib/sockets/pair.h"

int main(void) {
  struct lockstep_pair* pair = lockstep_pair_new();
  if (pair == NULL) {
    return 3;
  }
  struct lockstep_sockets* client = lockstep_pair_left(pair);
  struct lockstep_sockets* server = lockstep_pair_right(pair);

  struct sockaddr_in name;
  memset(&name, 0, sizeof name);
  name.sin_family = AF_INET;
  name.sin_port = htons(7);
  name.sin_addr.s_addr = htonl(0x0a000002); /* 10.0.0.2 */
  int listener = lockstep_socket(server, AF_INET, SOCK_STREAM, 0);
  lockstep_bind(server, listener, (const struct sockaddr*)&name, sizeof name);
  lockstep_listen(server, listener, 5);

  int caller = lockstep_socket(client, AF_INET, SOCK_STREAM, 0);
  if (lockstep_connect(client, caller, (const struct sockaddr*)&name, sizeof name) != -1 ||
      errno != EINPROGRESS) {
    return 1;
  }
  lockstep_pair_run(pair, 1000000); /* a millisecond */

  int callee = lockstep_accept(server, listener, NULL, NULL);
  char data[64];
  lockstep_send(client, caller, "hello", 5, 0);
  lockstep_pair_run(pair, 1000000);
  ssize_t received = lockstep_recv(server, callee, data, sizeof data, 0);
  lockstep_send(server, callee, data, (size_t)received, 0);
  lockstep_pair_run(pair, 1000000);
  received = lockstep_recv(client, caller, data, sizeof data, 0);
  printf("echo: %.*s\n", (int)received, data);

  lockstep_close(client, caller);
  lockstep_pair_run(pair, 1000000);
  struct pollfd ready = {0};
  ready.fd = callee;
  ready.events = POLLIN | POLLRDHUP;
  lockstep_poll(server, &ready, 1);
  received = lockstep_recv(server, callee, data, sizeof data, 0);
  printf("the peer has closed: %s, recv gives %d\n", ready.revents & POLLRDHUP ? "yes" : "no",
         (int)received);
  lockstep_pair_free(pair);
  return 0;
}
