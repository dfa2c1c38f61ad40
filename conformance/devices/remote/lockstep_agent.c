// Makes the calls of the tests on a device: requests and answers of program.h, over TCP.
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "conformance/devices/program.h"
#include "conformance/devices/remote/sockets.h"

enum { fine = 0, usage = 2, environment = 3, allowed_max = 16, text_room = 64 };

static const char help[] =
    "usage: lockstep_agent [--listen ADDRESS:PORT] [--allow ADDRESS]... [--settings]\n"
    "\n"
    "Runs on a device, and makes the calls of tests there: listen, accept, connect, send, "
    "receive,\n"
    "shutdown, close, abort, options. One tester at a time; it serves until SIGINT or SIGTERM.\n"
    "\n"
    "  --listen ADDRESS:PORT  where the tester connects (default: [::]:7007)\n"
    "  --allow ADDRESS        who may connect; repeat it for more (default: only this device)\n"
    "  --settings             tests may change net.ipv4.tcp_* and ip_default_ttl (as root); what\n"
    "                         was changed is restored after each test\n"
    "\n"
    "example: lockstep_agent --allow 10.0.0.1 --settings\n"
    "         pytest conformance/scapy --target eth0:10.0.0.5 --agent 10.0.0.5:7007\n"
    "exit: 0 ended by a signal, 2 wrong usage, 3 it cannot listen\n";

struct options {
  struct sockaddr_storage at;
  socklen_t at_length;
  struct in6_addr allowed[allowed_max];
  int allowed_count;
};

static volatile sig_atomic_t is_over;
static volatile sig_atomic_t door = -1;
static volatile sig_atomic_t client = -1;

/* Ends what is waited for: accept() and read() return. */
static void end(int signal_number) {
  (void)signal_number;
  is_over = 1;
  shutdown(door, SHUT_RDWR);
  shutdown(client, SHUT_RDWR);
}

/* An address of either family as one of IPv6. */
static int read_address(const char* text, struct in6_addr* to) {
  char mapped[text_room];
  struct in_addr four;
  if (inet_pton(AF_INET, text, &four) == 1) {
    snprintf(mapped, sizeof mapped, "::ffff:%.40s", text);
    text = mapped;
  }
  return inet_pton(AF_INET6, text, to) == 1;
}

/* ADDRESS:PORT, with brackets around an address of IPv6. */
static int read_place(const char* text, struct sockaddr_storage* to, socklen_t* length) {
  char address[text_room];
  const char* const colon = strrchr(text, ':');
  if (colon == NULL || (size_t)(colon - text) >= sizeof address) {
    return 0;
  }
  char* rest;
  const unsigned long port = strtoul(colon + 1, &rest, 10);
  if (*rest != '\0' || colon[1] < '0' || colon[1] > '9' || port == 0 || port > 65535) {
    return 0;
  }
  const int brackets = text[0] == '[' && colon > text + 1 && colon[-1] == ']';
  snprintf(address, sizeof address, "%.*s", (int)(colon - text) - 2 * brackets, text + brackets);
  memset(to, 0, sizeof *to);
  struct sockaddr_in* const four = (struct sockaddr_in*)to;
  struct sockaddr_in6* const six = (struct sockaddr_in6*)to;
  if (!brackets && inet_pton(AF_INET, address, &four->sin_addr) == 1) {
    four->sin_family = AF_INET;
    four->sin_port = htons((uint16_t)port);
    *length = sizeof *four;
    return 1;
  }
  six->sin6_family = AF_INET6;
  six->sin6_port = htons((uint16_t)port);
  *length = sizeof *six;
  return brackets && inet_pton(AF_INET6, address, &six->sin6_addr) == 1;
}

static int wrong(const char* option, const char* words) {
  fprintf(stderr, "lockstep_agent: %s: %s; see --help\n", option, words);
  return usage;
}

/* Takes the command line; an exit code, or -1: go on. */
static int read_options(int count, char** words, struct options* o) {
  memset(o, 0, sizeof *o);
  read_place("[::]:7007", &o->at, &o->at_length);
  for (int i = 1; i < count; ++i) {
    if (strcmp(words[i], "--help") == 0) {
      fputs(help, stdout);
      return fine;
    }
    if (strcmp(words[i], "--settings") == 0) {
      sockets_may_set(1);
      continue;
    }
    const int is_listen = strcmp(words[i], "--listen") == 0;
    if (!is_listen && strcmp(words[i], "--allow") != 0) {
      return wrong(words[i], "there is no such option");
    }
    if (i + 1 == count) {
      return wrong(words[i], "its value is missing");
    }
    ++i;
    if (is_listen && !read_place(words[i], &o->at, &o->at_length)) {
      return wrong(words[i], "expected ADDRESS:PORT, as 10.0.0.5:7007 or [::]:7007");
    }
    if (!is_listen && (o->allowed_count == allowed_max ||
                       !read_address(words[i], &o->allowed[o->allowed_count++]))) {
      return wrong(words[i], "expected an address, and 16 at most");
    }
  }
  return -1;
}

/* Who is at the other end: its address for comparing, and as text. */
static void peer_of(int fd, struct in6_addr* address, char* text) {
  struct sockaddr_storage from;
  socklen_t length = sizeof from;
  memset(&from, 0, sizeof from);
  memset(address, 0, sizeof *address);
  snprintf(text, text_room, "?");
  if (getpeername(fd, (struct sockaddr*)&from, &length) != 0) {
    return;
  }
  if (from.ss_family == AF_INET) {
    inet_ntop(AF_INET, &((struct sockaddr_in*)&from)->sin_addr, text, text_room);
    read_address(text, address);
    return;
  }
  *address = ((struct sockaddr_in6*)&from)->sin6_addr;
  inet_ntop(AF_INET6, address, text, text_room);
}

static int is_allowed(const struct options* o, const struct in6_addr* peer) {
  for (int i = 0; i < o->allowed_count; ++i) {
    if (memcmp(&o->allowed[i], peer, sizeof *peer) == 0) {
      return 1;
    }
  }
  const int is_mapped = IN6_IS_ADDR_V4MAPPED(peer) && peer->s6_addr[12] == 127;
  return o->allowed_count == 0 && (is_mapped || IN6_IS_ADDR_LOOPBACK(peer));
}

/* A tester that has vanished is noticed within half a minute. */
static void watch(int fd) {
  const struct {
    int level, name, value;
  } all[] = {{IPPROTO_TCP, TCP_NODELAY, 1},
             {SOL_SOCKET, SO_KEEPALIVE, 1},
#ifdef TCP_KEEPIDLE
             {IPPROTO_TCP, TCP_KEEPIDLE, 10},
             {IPPROTO_TCP, TCP_KEEPINTVL, 5},
             {IPPROTO_TCP, TCP_KEEPCNT, 4}
#endif
  };
  for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) {
    setsockopt(fd, all[i].level, all[i].name, &all[i].value, sizeof all[i].value);
  }
}

/* Serves one tester until it ends. */
static void serve(const struct options* o, int fd) {
  char text[text_room];
  struct in6_addr peer;
  peer_of(fd, &peer, text);
  if (!is_allowed(o, &peer)) {
    fprintf(stderr, "lockstep_agent: %s is refused: --allow it\n", text);
    close(fd);
    return;
  }
  watch(fd);
  client = fd;
  const char* const why = is_over ? NULL : lockstep_device_serve(sockets_calls(), fd, fd);
  client = -1;
  if (why != NULL && !is_over) {
    fprintf(stderr, "lockstep_agent: %s: %s\n", text, why);
  }
  sockets_clean();
  close(fd);
}

static int open_door(const struct options* o) {
  const int on = 1, off = 0;
  const int fd = socket(o->at.ss_family, SOCK_STREAM, 0);
  if (fd < 0) {
    return -1;
  }
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (o->at.ss_family == AF_INET6) {
    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  }
  if (bind(fd, (const struct sockaddr*)&o->at, o->at_length) != 0 || listen(fd, 4) != 0) {
    close(fd);
    return -1;
  }
  return fd;
}

int main(int count, char** words) {
  struct options o;
  const int code = read_options(count, words, &o);
  if (code >= 0) {
    return code;
  }
  door = open_door(&o);
  if (door < 0) {
    fprintf(stderr, "lockstep_agent: it cannot listen: %s: choose another --listen\n",
            strerror(errno));
    return environment;
  }
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = end;
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGCHLD, SIG_IGN);
  fputs("lockstep_agent: it listens\n", stderr);
  while (!is_over) {
    const int fd = accept(door, NULL, NULL);
    if (fd >= 0) {
      serve(&o, fd);
    } else if (errno != EINTR && errno != ECONNABORTED && !is_over) {
      fprintf(stderr, "lockstep_agent: accept: %s\n", strerror(errno));
      return environment;
    }
  }
  close(door);
  return fine;
}
