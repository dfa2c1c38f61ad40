// The echo server of sim/examples/embed in a loop of the program's own, as the page of
// tools/lib/host shows it.
#include <poll.h>

#include "tools/lib/host/host.h"

static int run_by_poll(struct lockstep_host* host) {
  for (;;) {
    int did = lockstep_host_turn(host, 0);
    if (did < 0) {
      return 0; /* SIGINT */
    }
    if (did == 0) {
      struct pollfd entries[2] = {{.fd = -1}, {.fd = -1, .events = POLLIN}};
      int timeout = lockstep_host_prepare(host, &entries[0]);
      poll(entries, 2, timeout);
    }
  }
}

#define lockstep_host_run run_by_poll
#include "sim/examples/embed/echo.c"
