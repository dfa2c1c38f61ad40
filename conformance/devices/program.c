// Reads requests, calls the device, writes answers.
#include "conformance/devices/program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
  request_head = 20,     /* call, first, second */
  request_max = 1 << 20, /* octets of one request, and of the data that receive() returns */
  packets_max = 100000,  /* sent at one instant ... */
  octets_max = 64 << 20, /* ... and their octets */
  still_max = 1000,      /* calls of advance() while the deadline is not later than now */
  setup_lines = 5,       /* of a request to create */
  room_extra = 65536,
};

struct octets {
  uint8_t* at;
  size_t length, room;
};

/* What is served, and to whom. */
struct session {
  const struct lockstep_device_calls* calls;
  struct lockstep_device* device;
  int in, out;
  uint64_t now;
  struct octets request, packets, answer;
  uint32_t packet_count;
  unsigned still;    /* how often advance() was called at this instant */
  const char* wrong; /* what the device did wrong */
};

static char words[512];

static void reserve(struct octets* of, size_t room) {
  if (room > of->room) {
    of->room = 2 * of->room + room + room_extra;
    of->at = realloc(of->at, of->room);
    if (of->at == NULL) {
      abort();
    }
  }
}

static void add(struct octets* to, const void* from, size_t length) {
  reserve(to, to->length + length);
  if (length != 0) {
    memcpy(to->at + to->length, from, length);
  }
  to->length += length;
}

static void add_number(struct octets* to, uint64_t value, unsigned size) {
  for (unsigned i = 0; i < size; ++i) {
    const uint8_t octet = (uint8_t)(value >> (8 * i));
    add(to, &octet, 1);
  }
}

static uint64_t number(const uint8_t* at, unsigned size) {
  uint64_t value = 0;
  for (unsigned i = 0; i < size; ++i) {
    value |= (uint64_t)at[i] << (8 * i);
  }
  return value;
}

/* True if all octets were read; *ended: there was not one. */
static int read_all(int from, uint8_t* to, size_t length, int* ended) {
  size_t done = 0;
  while (done < length) {
    const ssize_t got = read(from, to + done, length - done);
    if (got > 0) {
      done += (size_t)got;
    } else if (got == 0 || errno != EINTR) {
      *ended = got == 0 && done == 0;
      return 0;
    }
  }
  return 1;
}

static int write_all(int to, const uint8_t* from, size_t length) {
  while (length != 0) {
    const ssize_t done = write(to, from, length);
    if (done > 0) {
      from += done;
      length -= (size_t)done;
    } else if (errno != EINTR) {
      return 0;
    }
  }
  return 1;
}

/* Takes the packets that the device has sent. */
static void take_packets(struct session* s) {
  static uint8_t packet[LOCKSTEP_DEVICE_PACKET_MAX];
  size_t length;
  while ((length = s->calls->packet_out(s->device, packet, sizeof packet)) != 0) {
    const int many = ++s->packet_count > packets_max || s->packets.length > octets_max;
    if (length > sizeof packet || many) {
      s->wrong = length > sizeof packet
                     ? "packet_out() returned more octets than there was room for"
                     : "packet_out() has more than 100000 packets or 64 MiB at one instant";
      return;
    }
    add_number(&s->packets, length, 4);
    add(&s->packets, packet, length);
  }
}

/* Runs from deadline to deadline, up to the first packet or to `until`. */
static void run(struct session* s, uint64_t until) {
  take_packets(s); /* of the program's calls */
  if (s->calls->travel != NULL && s->packet_count == 0 && s->wrong == NULL) {
    const uint64_t reached = s->calls->travel(s->device, until);
    if (reached < s->now || reached > until) {
      s->wrong = "travel() returned an instant before now, or after the one that it was told";
      return;
    }
    s->now = reached;
    take_packets(s);
    return;
  }
  while (s->packet_count == 0 && s->wrong == NULL) {
    const uint64_t due = s->calls->deadline(s->device);
    const uint64_t to = due > until ? until : due > s->now ? due : s->now;
    if (due > until && s->now >= until) {
      return;
    }
    s->still = to == s->now ? s->still + 1 : 0;
    if (s->still > still_max) {
      s->wrong = "deadline() is still over after 1000 calls of advance()";
      return;
    }
    s->now = to;
    s->calls->advance(s->device, to);
    take_packets(s);
  }
}

static int64_t create(struct session* s, char* text) {
  static const char* const names[setup_lines] = {"local=", "remote=", "mtu=", "seed=", "start="};
  char* values[setup_lines];
  for (int i = 0; i < setup_lines; ++i) {
    char* const end = strchr(text, '\n');
    if (end == NULL || strncmp(text, names[i], strlen(names[i])) != 0) {
      snprintf(words, sizeof words, "the request to create has no line %s", names[i]);
      return LOCKSTEP_DEVICE_REFUSED;
    }
    *end = '\0';
    values[i] = text + strlen(names[i]);
    text = end + 1;
  }
  if (s->device != NULL) {
    s->calls->destroy(s->device);
  }
  const struct lockstep_device_setup setup = {values[0],
                                              values[1],
                                              (uint32_t)strtoul(values[2], NULL, 10),
                                              strtoull(values[3], NULL, 10),
                                              strtoull(values[4], NULL, 10),
                                              text};
  s->now = setup.start;
  words[0] = '\0';
  s->device = s->calls->create(&setup, words, sizeof words);
  if (s->device != NULL) {
    return 0;
  }
  return strncmp(words, "unsupported", 11) == 0 ? LOCKSTEP_DEVICE_UNSUPPORTED
                                                : LOCKSTEP_DEVICE_REFUSED;
}

static void about(struct session* s) {
  const struct lockstep_device_calls* c = s->calls;
  static char text[1024];
  const int length = snprintf(
      text, sizeof text,
      "version %u\nname %s\nstack %s\nabilities %s\ntimer_grain "
      "%llu\ntimer_late %u\ncalls%s%s%s%s%s%s%s%s%s%s%s%s%s%s\n",
      (unsigned)c->version, c->name, c->stack, c->abilities, (unsigned long long)c->timer_grain,
      (unsigned)c->timer_late, c->listen ? " listen" : "", c->unlisten ? " unlisten" : "",
      c->accept ? " accept" : "", c->connect ? " connect" : "", c->send ? " send" : "",
      c->receive ? " receive" : "", c->finish ? " finish" : "", c->close ? " close" : "",
      c->abort ? " abort" : "", c->urgent ? " urgent" : "", c->set ? " set" : "",
      c->get ? " get" : "", c->state ? " state" : "", c->events ? " events" : "");
  add(&s->answer, text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1);
}

static int64_t receive(struct session* s, int64_t connection, uint64_t most) {
  static uint8_t data[request_max];
  const size_t room = most < sizeof data ? (size_t)most : sizeof data;
  const int64_t got = s->calls->receive(s->device, connection, data, room);
  if (got > 0 && (uint64_t)got > room) {
    s->wrong = "receive() returned more octets than there was room for";
    return LOCKSTEP_DEVICE_REFUSED;
  }
  if (got > 0) {
    add(&s->answer, data, (size_t)got);
  }
  return got;
}

/* Adds the text that a call returned. */
static int64_t told(struct session* s, const char* text) {
  if (text == NULL) {
    return LOCKSTEP_DEVICE_UNSUPPORTED;
  }
  add(&s->answer, text, strlen(text));
  return 0;
}

/* Whether the device has an ability. */
static int is_able(const struct session* s, const char* wanted) {
  const size_t length = strlen(wanted);
  for (const char* at = s->calls->abilities; (at = strstr(at, wanted)) != NULL; at += length) {
    const int begins = at == s->calls->abilities || at[-1] == ' ';
    if (begins && (at[length] == ' ' || at[length] == '\0')) {
      return 1;
    }
  }
  return 0;
}

/* A connection to the Unix socket `path`, or -1 and words. */
static int connected_to(const char* path) {
  struct sockaddr_un to = {.sun_family = AF_UNIX};
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  if (strlen(path) < sizeof to.sun_path && fd >= 0) {
    memcpy(to.sun_path, path, strlen(path));
    if (connect(fd, (const struct sockaddr*)&to, sizeof to) == 0) {
      return fd;
    }
  }
  snprintf(words, sizeof words, "%.200s: the device cannot connect to it", path);
  close(fd);
  return -1;
}

/* The new process serves over `fd`, and leaves the old descriptors to the old one. */
static void take_over(struct session* s, int fd) {
  dup2(fd, s->in);
  if (s->out != s->in) {
    dup2(fd, s->out);
  }
  close(fd);
}

/* Forks twice, so that nobody has to wait for the new process, which also returns from here. */
static int64_t branch(struct session* s, const char* path) {
  if (!is_able(s, "branches")) {
    return LOCKSTEP_DEVICE_UNSUPPORTED;
  }
  const int fd = connected_to(path);
  if (fd < 0) {
    return LOCKSTEP_DEVICE_REFUSED;
  }
  const int64_t ready = s->calls->branch ? s->calls->branch(s->device, LOCKSTEP_BRANCH_BEFORE) : 0;
  if (ready < 0) {
    close(fd);
    return ready;
  }
  fflush(NULL); /* else each process would write it */
  const pid_t between = fork();
  if (between == 0) {
    const pid_t copy = fork();
    if (copy != 0) {
      _exit(copy < 0);
    }
    take_over(s, fd);
    if (s->calls->branch) {
      s->calls->branch(s->device, LOCKSTEP_BRANCH_NEW);
    }
    return 0;
  }
  int status = between < 0;
  while (between > 0 && waitpid(between, &status, 0) < 0 && errno == EINTR) {
  }
  close(fd);
  if (s->calls->branch) {
    s->calls->branch(s->device, LOCKSTEP_BRANCH_OLD);
  }
  if (status != 0) {
    snprintf(words, sizeof words, "no process can be started");
    return LOCKSTEP_DEVICE_REFUSED;
  }
  return 0;
}

/* Makes one call; `text` is NUL-terminated. */
static int64_t call(struct session* s, uint32_t which, int64_t first, int64_t second, char* text,
                    size_t length) {
  const struct lockstep_device_calls* c = s->calls;
  struct lockstep_device* d = s->device;
  if (which == LOCKSTEP_CALL_ABOUT) {
    about(s);
    return 0;
  }
  if (which == LOCKSTEP_CALL_CREATE) {
    return create(s, text);
  }
  if (d == NULL) {
    snprintf(words, sizeof words, "call %u came before a device was created", (unsigned)which);
    return LOCKSTEP_DEVICE_REFUSED;
  }
#define CALL(function, ...) ((function) ? (function)(d, __VA_ARGS__) : LOCKSTEP_DEVICE_UNSUPPORTED)
  switch (which) {
    case LOCKSTEP_CALL_ADVANCE:
      run(s, (uint64_t)first);
      return 0;
    case LOCKSTEP_CALL_PACKET:
      c->packet_in(d, text, length);
      take_packets(s);
      return 0;
    case LOCKSTEP_CALL_LISTEN:
      return CALL(c->listen, (uint16_t)first, (uint32_t)second);
    case LOCKSTEP_CALL_UNLISTEN:
      return CALL(c->unlisten, first);
    case LOCKSTEP_CALL_ACCEPT:
      return CALL(c->accept, first);
    case LOCKSTEP_CALL_CONNECT:
      return CALL(c->connect, (uint16_t)first, (uint16_t)second);
    case LOCKSTEP_CALL_SEND:
      return CALL(c->send, first, text, length);
    case LOCKSTEP_CALL_RECEIVE:
      return c->receive ? receive(s, first, (uint64_t)second) : LOCKSTEP_DEVICE_UNSUPPORTED;
    case LOCKSTEP_CALL_FINISH:
      return CALL(c->finish, first);
    case LOCKSTEP_CALL_CLOSE:
      return CALL(c->close, first);
    case LOCKSTEP_CALL_ABORT:
      return CALL(c->abort, first);
    case LOCKSTEP_CALL_URGENT:
      return CALL(c->urgent, first);
    case LOCKSTEP_CALL_SET:
      return CALL(c->set, first, text, second);
    case LOCKSTEP_CALL_GET:
      return CALL(c->get, first, text);
    case LOCKSTEP_CALL_STATE:
      return told(s, c->state ? c->state(d, (uint16_t)first, (uint16_t)second) : NULL);
    case LOCKSTEP_CALL_EVENTS:
      return told(s, c->events ? c->events(d, first) : NULL);
    case LOCKSTEP_CALL_BRANCH:
      return branch(s, text);
    default:
      snprintf(words, sizeof words, "there is no call %u", (unsigned)which);
      return LOCKSTEP_DEVICE_UNSUPPORTED;
  }
#undef CALL
}

/* Writes the answer to one call. */
static int answer(struct session* s, int64_t result) {
  static struct octets whole;
  const int failed = result < 0 && s->answer.length == 0;
  const void* const more = failed ? (const void*)words : s->answer.at;
  const size_t length = failed ? strlen(words) : s->answer.length;
  const uint64_t due = s->device ? s->calls->deadline(s->device) : LOCKSTEP_DEVICE_NEVER;
  whole.length = 0;
  add_number(&whole, 28 + s->packets.length + length, 4);
  add_number(&whole, (uint64_t)result, 8);
  add_number(&whole, s->now, 8);
  add_number(&whole, due, 8);
  add_number(&whole, s->packet_count, 4);
  add(&whole, s->packets.at, s->packets.length);
  add(&whole, more, length);
  return write_all(s->out, whole.at, whole.length);
}

/* Reads a request; *ended: there is none. */
static const char* read_request(struct session* s, int* ended) {
  uint8_t head[4];
  *ended = 0;
  if (!read_all(s->in, head, sizeof head, ended)) {
    return *ended ? NULL : "the input ends within a request";
  }
  const size_t length = (size_t)number(head, sizeof head);
  if (length < request_head || length > request_max) {
    snprintf(words, sizeof words, "a request of %zu octets, expected %d to %d", length,
             request_head, request_max);
    return words;
  }
  int cut = 0;
  reserve(&s->request, length + 1); /* with a NUL behind it */
  if (!read_all(s->in, s->request.at, length, &cut)) {
    return "the input ends within a request";
  }
  s->request.at[length] = '\0';
  s->request.length = length;
  return NULL;
}

/* Answers requests until the input ends; returns NULL, or what was wrong. */
static const char* serve(struct session* s) {
  for (;;) {
    int ended;
    const char* const why = read_request(s, &ended);
    if (why != NULL || ended) {
      return why;
    }
    s->packets.length = s->answer.length = 0;
    s->packet_count = 0;
    words[0] = '\0';
    uint8_t* const at = s->request.at;
    const int64_t result =
        call(s, (uint32_t)number(at, 4), (int64_t)number(at + 4, 8), (int64_t)number(at + 12, 8),
             (char*)at + request_head, s->request.length - request_head);
    if (s->wrong != NULL) {
      return s->wrong;
    }
    if (!answer(s, result)) {
      return "the answer could not be written";
    }
  }
}

const char* lockstep_device_serve(const struct lockstep_device_calls* calls, int in, int out) {
  struct session s = {0};
  s.calls = calls;
  s.in = in;
  s.out = out;
  const char* const why = serve(&s);
  if (s.device != NULL) {
    calls->destroy(s.device);
  }
  free(s.request.at);
  free(s.packets.at);
  free(s.answer.at);
  return why;
}
