// The calls of device.h on sockets that never block. Linux shows states and variables, too.
#include "conformance/devices/remote/sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

enum {
  handles_max = 4096, /* sockets of one test, listeners and connections */
  writers_max = 64,   /* processes that wait for a connection to write */
  values_max = 64,    /* settings that are restored */
  value_room = 128,
  name_room = 160,
};

/* A setting of the system as it was. */
struct setting {
  char path[name_room], value[value_room];
};

/* The sockets of one test. Handle N is fds[N - 1]; -1: it is closed. */
struct lockstep_device {
  int family;
  struct sockaddr_storage local, remote;
  socklen_t length;
  int fds[handles_max];
  int count;
  pid_t writers[writers_max];
  int writer_count;
  /* For each socket; -1: as the system has it. */
  int keepalive, keepalive_idle, keepalive_interval, keepalive_probes, path_mtu_discovery;
};

static struct lockstep_device one;
static int is_made;
static int may_set;
static struct setting changed[values_max];
static int changed_count;

void sockets_may_set(int yes) { may_set = yes; }

/* --- settings of the system --- */

/* Reads a file of one line into `value`; false if there is none. */
static int read_line(const char* path, char* value, size_t room) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t got = fd < 0 ? -1 : read(fd, value, room - 1);
  if (fd >= 0) {
    close(fd);
  }
  if (got < 0) {
    return 0;
  }
  value[got] = '\0';
  value[strcspn(value, "\n")] = '\0';
  return 1;
}

static int write_line(const char* path, const char* value) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  const size_t length = strlen(value);
  const int done = fd >= 0 && write(fd, value, length) == (ssize_t)length;
  if (fd >= 0) {
    close(fd);
  }
  return done;
}

/* Only settings of TCP, and the hop limit of IPv4. */
static int is_harmless(const char* name) {
  return strlen(name) <= 100 && strstr(name, "..") == NULL &&
         (strncmp(name, "ipv4/tcp_", 9) == 0 || strcmp(name, "ipv4/ip_default_ttl") == 0);
}

/* Sets one, and remembers what it was. One that this system does not have is left alone. */
static int set_system(const char* name, const char* value) {
  if (!is_harmless(name) || changed_count == values_max) {
    return 0;
  }
  struct setting* const it = &changed[changed_count];
  snprintf(it->path, sizeof it->path, "/proc/sys/net/%.100s", name);
  if (!read_line(it->path, it->value, sizeof it->value)) {
    return 1;
  }
  ++changed_count;
  return write_line(it->path, value);
}

/* An earlier test may have told the system a path MTU, which it remembers for minutes. */
static void forget_paths(void) {
  write_line("/proc/sys/net/ipv4/route/flush", "1");
  write_line("/proc/sys/net/ipv6/route/flush", "1");
}

static void restore_system(void) {
  while (changed_count > 0) {
    --changed_count;
    if (!write_line(changed[changed_count].path, changed[changed_count].value)) {
      fprintf(stderr, "lockstep_agent: %s is not restored: it was %s\n",
              changed[changed_count].path, changed[changed_count].value);
    }
  }
}

/* --- the device --- */

/* Takes one line NAME=VALUE of the test; false and `why` if it cannot be had. */
static int take_option(struct lockstep_device* d, const char* name, const char* value, char* why,
                       size_t room) {
  const struct {
    const char* name;
    int* to;
  } own[] = {{"keepalive", &d->keepalive},
             {"keepalive_idle", &d->keepalive_idle},
             {"keepalive_interval", &d->keepalive_interval},
             {"keepalive_probes", &d->keepalive_probes},
             {"path_mtu_discovery", &d->path_mtu_discovery}};
  if (strcmp(name, "profile") == 0) {
    return 1;
  }
  for (size_t i = 0; i < sizeof own / sizeof own[0]; ++i) {
    if (strcmp(name, own[i].name) == 0) {
      *own[i].to = atoi(value);
      return 1;
    }
  }
  if (strncmp(name, "system.", 7) != 0) {
    snprintf(why, room, "unsupported: no way to set %.100s", name);
    return 0;
  }
  if (!may_set) {
    snprintf(why, room, "unsupported: no way to set %.100s: start it with --settings", name + 7);
    return 0;
  }
  if (!set_system(name + 7, value)) {
    snprintf(why, room, "%.100s cannot be set: run it as root", name + 7);
    return 0;
  }
  return 1;
}

static int take_options(struct lockstep_device* d, const char* lines, char* why, size_t room) {
  while (*lines != '\0') {
    char line[name_room + value_room];
    const size_t length = strcspn(lines, "\n");
    snprintf(line, sizeof line, "%.*s", (int)length, lines);
    lines += length + (lines[length] == '\n');
    char* const sign = strchr(line, '=');
    if (sign == NULL) {
      continue;
    }
    *sign = '\0';
    if (!take_option(d, line, sign + 1, why, room)) {
      return 0;
    }
  }
  return 1;
}

/* The address in `text`, with a port. */
static int address_of(const char* text, struct sockaddr_storage* to, socklen_t* length) {
  memset(to, 0, sizeof *to);
  struct sockaddr_in* const four = (struct sockaddr_in*)to;
  struct sockaddr_in6* const six = (struct sockaddr_in6*)to;
  if (inet_pton(AF_INET, text, &four->sin_addr) == 1) {
    four->sin_family = AF_INET;
    *length = sizeof *four;
    return AF_INET;
  }
  if (inet_pton(AF_INET6, text, &six->sin6_addr) == 1) {
    six->sin6_family = AF_INET6;
    *length = sizeof *six;
    return AF_INET6;
  }
  return 0;
}

static struct lockstep_device* create(const struct lockstep_device_setup* setup, char* why,
                                      size_t room) {
  sockets_clean();
  memset(&one, 0, sizeof one);
  one.keepalive = one.keepalive_idle = one.keepalive_interval = one.keepalive_probes = -1;
  one.path_mtu_discovery = -1;
  one.family = address_of(setup->local, &one.local, &one.length);
  if (one.family == 0 || address_of(setup->remote, &one.remote, &one.length) != one.family) {
    snprintf(why, room, "local= and remote= are no two addresses of one family");
    return NULL;
  }
  is_made = 1;
  if (may_set) {
    forget_paths();
  }
  if (!take_options(&one, setup->options, why, room)) {
    sockets_clean();
    return NULL;
  }
  return &one;
}

/* Ends a socket with a reset, if it has a connection. */
static void reset(int fd) {
  const struct linger at_once = {1, 0};
  setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close(fd);
}

void sockets_clean(void) {
  if (is_made) {
    for (int i = 0; i < one.writer_count; ++i) {
      kill(one.writers[i], SIGKILL);
    }
    for (int i = 0; i < one.count; ++i) {
      if (one.fds[i] >= 0) {
        reset(one.fds[i]);
      }
    }
  }
  is_made = 0;
  restore_system();
}

static void destroy(struct lockstep_device* d) {
  (void)d;
  sockets_clean();
}

static void advance(struct lockstep_device* d, uint64_t now) {
  (void)d;
  (void)now;
}

static uint64_t deadline(struct lockstep_device* d) {
  (void)d;
  return LOCKSTEP_DEVICE_NEVER;
}

static void packet_in(struct lockstep_device* d, const void* packet, size_t length) {
  (void)d;
  (void)packet;
  (void)length;
}

static size_t packet_out(struct lockstep_device* d, void* packet, size_t room) {
  (void)d;
  (void)packet;
  (void)room;
  return 0;
}

/* --- calls --- */

static int64_t keep(struct lockstep_device* d, int fd) {
  if (d->count == handles_max) {
    close(fd);
    return LOCKSTEP_DEVICE_REFUSED;
  }
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  d->fds[d->count++] = fd;
  return d->count;
}

static int fd_of(const struct lockstep_device* d, int64_t handle) {
  return handle >= 1 && handle <= d->count ? d->fds[handle - 1] : -1;
}

static void set_number(int fd, int level, int name, int value) {
  if (value >= 0) {
    setsockopt(fd, level, name, &value, sizeof value);
  }
}

/* A socket with the options of the test, bound to a port of the device's address. */
static int bound(struct lockstep_device* d, uint16_t port) {
  const int fd = socket(d->family, SOCK_STREAM, 0);
  if (fd < 0) {
    return -1;
  }
  set_number(fd, SOL_SOCKET, SO_REUSEADDR, 1);
  /* RFC 9293 3.8.5: urgent data is a part of the stream, which the program reads in order. */
  set_number(fd, SOL_SOCKET, SO_OOBINLINE, 1);
  set_number(fd, SOL_SOCKET, SO_KEEPALIVE, d->keepalive);
#ifdef TCP_KEEPIDLE
  set_number(fd, IPPROTO_TCP, TCP_KEEPIDLE, d->keepalive_idle);
  set_number(fd, IPPROTO_TCP, TCP_KEEPINTVL, d->keepalive_interval);
  set_number(fd, IPPROTO_TCP, TCP_KEEPCNT, d->keepalive_probes);
#endif
#ifdef IP_MTU_DISCOVER
  set_number(fd, d->family == AF_INET ? IPPROTO_IP : IPPROTO_IPV6,
             d->family == AF_INET ? IP_MTU_DISCOVER : IPV6_MTU_DISCOVER, d->path_mtu_discovery);
#endif
  struct sockaddr_storage at = d->local;
  if (d->family == AF_INET) {
    ((struct sockaddr_in*)&at)->sin_port = htons(port);
  } else {
    ((struct sockaddr_in6*)&at)->sin6_port = htons(port);
  }
  if (bind(fd, (const struct sockaddr*)&at, d->length) != 0) {
    close(fd);
    return -1;
  }
  return fd;
}

static int64_t call_listen(struct lockstep_device* d, uint16_t port, uint32_t backlog) {
  const int fd = bound(d, port);
  if (fd < 0) {
    return LOCKSTEP_DEVICE_REFUSED;
  }
  const int64_t handle = keep(d, fd);
  return handle < 0 || listen(fd, (int)backlog) == 0 ? handle : LOCKSTEP_DEVICE_REFUSED;
}

static int64_t call_close(struct lockstep_device* d, int64_t handle) {
  const int fd = fd_of(d, handle);
  if (fd < 0) {
    return LOCKSTEP_DEVICE_GONE;
  }
  d->fds[handle - 1] = -1;
  close(fd);
  return 0;
}

static int64_t call_accept(struct lockstep_device* d, int64_t listener) {
  const int fd = fd_of(d, listener);
  if (fd < 0) {
    return LOCKSTEP_DEVICE_GONE;
  }
  const int got = accept(fd, NULL, NULL);
  return got < 0 ? LOCKSTEP_DEVICE_AGAIN : keep(d, got);
}

static int64_t call_connect(struct lockstep_device* d, uint16_t local_port, uint16_t remote_port) {
  const int fd = bound(d, local_port);
  if (fd < 0) {
    return LOCKSTEP_DEVICE_REFUSED;
  }
  struct sockaddr_storage to = d->remote;
  if (d->family == AF_INET) {
    ((struct sockaddr_in*)&to)->sin_port = htons(remote_port);
  } else {
    ((struct sockaddr_in6*)&to)->sin6_port = htons(remote_port);
  }
  const int64_t handle = keep(d, fd);
  if (handle > 0 && connect(fd, (const struct sockaddr*)&to, d->length) != 0 &&
      errno != EINPROGRESS) {
    call_close(d, handle);
    return LOCKSTEP_DEVICE_REFUSED;
  }
  return handle;
}

/* A process that writes once the connection is there, as a program would that waits in send(). */
static int64_t write_later(struct lockstep_device* d, int fd, const char* data, size_t length) {
  if (d->writer_count == writers_max) {
    return LOCKSTEP_DEVICE_AGAIN;
  }
  const pid_t writer = fork();
  if (writer < 0) {
    return LOCKSTEP_DEVICE_AGAIN;
  }
  if (writer > 0) {
    d->writers[d->writer_count++] = writer;
    return (int64_t)length;
  }
  for (int other = 3; other < handles_max + 64; ++other) {
    if (other != fd) {
      close(other);
    }
  }
  while (length != 0) {
    struct pollfd ready = {fd, POLLOUT, 0};
    const ssize_t done =
        poll(&ready, 1, -1) < 0 ? -1 : send(fd, data, length, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (done <= 0) {
      break;
    }
    data += done;
    length -= (size_t)done;
  }
  _exit(0);
}

/* The octets of TCP_INFO; false if the system does not show them. */
static int info_of(int fd, uint8_t* info, size_t room) {
#ifdef __linux__
  socklen_t length = (socklen_t)room;
  memset(info, 0, room);
  return getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &length) == 0;
#else
  (void)fd;
  memset(info, 0, room);
  return 0;
#endif
}

static int is_opening(int fd) {
  uint8_t info[256];
  return info_of(fd, info, sizeof info) && info[0] == 2; /* SYN-SENT */
}

static int64_t call_send(struct lockstep_device* d, int64_t handle, const void* data,
                         size_t length) {
  const int fd = fd_of(d, handle);
  if (fd < 0) {
    return LOCKSTEP_DEVICE_GONE;
  }
  const ssize_t done = send(fd, data, length, MSG_NOSIGNAL);
  if (done >= 0) {
    return done;
  }
  if (errno != EAGAIN && errno != ENOTCONN) {
    return LOCKSTEP_DEVICE_GONE;
  }
  return is_opening(fd) ? write_later(d, fd, data, length) : LOCKSTEP_DEVICE_AGAIN;
}

static int64_t call_receive(struct lockstep_device* d, int64_t handle, void* data, size_t room) {
  const int fd = fd_of(d, handle);
  if (fd < 0) {
    return LOCKSTEP_DEVICE_GONE;
  }
  size_t done = 0;
  ssize_t got = 1;
  while (done < room && got > 0) {
    got = recv(fd, (char*)data + done, room - done, 0);
    done += got > 0 ? (size_t)got : 0;
  }
  if (done != 0 || got == 0) {
    return (int64_t)done;
  }
  return errno == EAGAIN ? LOCKSTEP_DEVICE_AGAIN : LOCKSTEP_DEVICE_GONE;
}

static int64_t call_finish(struct lockstep_device* d, int64_t handle) {
  const int fd = fd_of(d, handle);
  if (fd < 0) {
    return LOCKSTEP_DEVICE_GONE;
  }
  return shutdown(fd, SHUT_WR) == 0 ? 0 : LOCKSTEP_DEVICE_REFUSED;
}

static int64_t call_abort(struct lockstep_device* d, int64_t handle) {
  const int fd = fd_of(d, handle);
  if (fd < 0) {
    return LOCKSTEP_DEVICE_GONE;
  }
  d->fds[handle - 1] = -1;
  reset(fd);
  return 0;
}

static int64_t call_set(struct lockstep_device* d, int64_t handle, const char* name,
                        int64_t value) {
  const int fd = fd_of(d, handle);
  if (fd < 0) {
    return LOCKSTEP_DEVICE_GONE;
  }
  if (strcmp(name, "nagle") == 0) {
    set_number(fd, IPPROTO_TCP, TCP_NODELAY, value == 0);
#ifdef TCP_USER_TIMEOUT
  } else if (strcmp(name, "user_timeout_ms") == 0) {
    set_number(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, (int)value);
#endif
  } else if (strcmp(name, "keepalive") == 0) {
    set_number(fd, SOL_SOCKET, SO_KEEPALIVE, value != 0);
  } else {
    return LOCKSTEP_DEVICE_UNSUPPORTED;
  }
  return 0;
}

/* --- what Linux shows --- */

/* Places in TCP_INFO of linux/tcp.h: eight octets, then words. */
enum { at_state = 0, at_recovery = 1, at_words = 8, ca_recovery = 3 };
enum { at_rto = 0, at_mss = 2, at_sacked = 5, at_rtt = 15, at_ssthresh = 17, at_cwnd = 18 };
enum { at_snd_wnd = (228 - at_words) / 4 };

static int64_t word(const uint8_t* info, int at) {
  uint32_t value;
  memcpy(&value, info + at_words + 4 * at, sizeof value);
  return value;
}

static int64_t call_get(struct lockstep_device* d, int64_t handle, const char* name) {
  const int fd = fd_of(d, handle);
  uint8_t info[256];
  if (fd < 0 || !info_of(fd, info, sizeof info)) {
    return fd < 0 ? LOCKSTEP_DEVICE_GONE : LOCKSTEP_DEVICE_UNSUPPORTED;
  }
  const int64_t mss = word(info, at_mss);
  const int64_t most = UINT32_MAX;
  const int64_t ssthresh = word(info, at_ssthresh) * mss;
  const struct {
    const char* name;
    int64_t value;
  } shown[] = {
      {"cwnd", word(info, at_cwnd) * mss},     {"ssthresh", ssthresh < most ? ssthresh : most},
      {"sacked", word(info, at_sacked) * mss}, {"fast_recovery", info[at_recovery] == ca_recovery},
      {"srtt_ns", word(info, at_rtt) * 1000},  {"rto_ns", word(info, at_rto) * 1000},
      {"snd_wnd", word(info, at_snd_wnd)}};
  for (size_t i = 0; i < sizeof shown / sizeof shown[0]; ++i) {
    if (strcmp(name, shown[i].name) == 0) {
      return shown[i].value;
    }
  }
  return LOCKSTEP_DEVICE_UNSUPPORTED;
}

/* The states by their numbers in /proc/net/tcp. */
static const char* state_name(unsigned number) {
  static const char* const names[] = {
      NULL,     "ESTABLISHED", "SYN-SENT", "SYN-RECEIVED", "FIN-WAIT-1", "FIN-WAIT-2",  "TIME-WAIT",
      "CLOSED", "CLOSE-WAIT",  "LAST-ACK", "LISTEN",       "CLOSING",    "SYN-RECEIVED"};
  return number < sizeof names / sizeof names[0] ? names[number] : NULL;
}

static const char* call_state(struct lockstep_device* d, uint16_t local_port,
                              uint16_t remote_port) {
  FILE* const table =
      fopen(d->family == AF_INET ? "/proc/self/net/tcp" : "/proc/self/net/tcp6", "re");
  if (table == NULL) {
    return NULL;
  }
  const char* found = "CLOSED";
  char line[512];
  while (fgets(line, sizeof line, table) != NULL) {
    unsigned ours, theirs, state;
    if (sscanf(line, " %*[0-9]: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%x %x", &ours, &theirs, &state) !=
        3) {
      continue;
    }
    if (ours == local_port && theirs == remote_port) {
      found = state_name(state);
      break;
    }
    if (ours == local_port && state == 10) {
      found = "LISTEN";
    }
  }
  fclose(table);
  return found;
}

const struct lockstep_device_calls* sockets_calls(void) {
  static struct utsname system;
  static char stack[160], abilities[64];
  static struct lockstep_device_calls calls;
  uname(&system);
  snprintf(stack, sizeof stack, "%s %s", system.sysname, system.release);
  snprintf(abilities, sizeof abilities, "ipv4 ipv6 udp renewable%s", may_set ? " settings" : "");
  calls = (struct lockstep_device_calls){
      .version = LOCKSTEP_DEVICE_VERSION,
      .name = "sockets",
      .stack = stack,
      .abilities = abilities,
      .timer_grain = 1,
      .create = create,
      .destroy = destroy,
      .advance = advance,
      .deadline = deadline,
      .packet_in = packet_in,
      .packet_out = packet_out,
      .listen = call_listen,
      .unlisten = call_close,
      .accept = call_accept,
      .connect = call_connect,
      .send = call_send,
      .receive = call_receive,
      .finish = call_finish,
      .close = call_close,
      .abort = call_abort,
      .set = call_set,
      .get = call_get,
      .state = call_state,
  };
  return &calls;
}
