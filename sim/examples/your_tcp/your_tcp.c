// A small TCP as a device, in C: it accepts connections and lets the peer end them; no data.
// Replace it by yours: conformance/devices/README.md, "Test your own TCP", says how to run it.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "conformance/devices/device.h"

enum { FIN = 1, SYN = 2, RST = 4, ACK = 16, tcp_at = 20, longest = 44, connections_max = 64 };

struct connection {
  uint16_t local_port, remote_port;
  const char* state; /* NULL: this place is free */
  uint32_t snd_nxt, rcv_nxt;
  int64_t handle; /* 0: not accepted yet */
};

struct lockstep_device {
  uint8_t local[4], remote[4];
  uint64_t seed, now;
  uint16_t listening; /* one port; 0: none */
  struct connection connections[connections_max];
  int64_t handles; /* given out; each is used once */
  uint8_t sent[8][longest];
  size_t sent_count;
};

static uint32_t get(const uint8_t* at, size_t size) {
  uint32_t value = 0;
  for (size_t i = 0; i < size; ++i) {
    value = value << 8 | at[i];
  }
  return value;
}

static void put(uint8_t* at, size_t size, uint32_t value) {
  for (; size != 0; --size, value >>= 8) {
    at[size - 1] = (uint8_t)value;
  }
}

/* The Internet checksum (RFC 1071) of an even number of octets. */
static uint32_t checksum(const uint8_t* at, size_t size, uint32_t sum) {
  for (size_t i = 0; i < size; i += 2) {
    sum += get(at + i, 2);
  }
  sum = (sum & 0xFFFF) + (sum >> 16);
  return ~(sum + (sum >> 16)) & 0xFFFF;
}

static void send_segment(struct lockstep_device* d, const struct connection* c, uint32_t seq,
                         uint32_t ack, uint8_t flags) {
  const uint32_t size = flags & SYN ? 24 : 20; /* with the option MSS, or without */
  if (d->sent_count == 8) {
    return; /* as a network that drops */
  }
  uint8_t* const ip = memset(d->sent[d->sent_count++], 0, longest);
  uint8_t* const tcp = ip + tcp_at;
  put(ip, 4, 0x45000000 | (tcp_at + size));
  put(ip + 6, 4, 0x40004006); /* DF, TTL 64, TCP */
  memcpy(ip + 12, d->local, 4);
  memcpy(ip + 16, d->remote, 4);
  put(ip + 10, 2, checksum(ip, tcp_at, 0));
  put(tcp, 2, c->local_port);
  put(tcp + 2, 2, c->remote_port);
  put(tcp + 4, 4, seq);
  put(tcp + 8, 4, ack);
  put(tcp + 12, 4, size / 4 << 28 | (uint32_t)flags << 16 | (flags & RST ? 0 : 8192));
  put(tcp + 20, size - 20, 0x020405B4); /* 1460 */
  put(tcp + 16, 2, checksum(ip + 12, 8 + size, 6 + size));
}

/* The connection of these ports; or a free place, with its ports set; or NULL. */
static struct connection* find(struct lockstep_device* d, uint16_t local, uint16_t remote) {
  struct connection* free_one = NULL;
  for (struct connection* c = d->connections; c != d->connections + connections_max; ++c) {
    if (c->state == NULL) {
      free_one = c;
    } else if (c->local_port == local && c->remote_port == remote) {
      return c;
    }
  }
  if (free_one != NULL) {
    *free_one = (struct connection){.local_port = local, .remote_port = remote};
  }
  return free_one;
}

/* A segment for no connection (RFC 9293 3.10.7.1 and 3.10.7.2). */
static void open_or_reset(struct lockstep_device* d, struct connection* c, uint32_t seq,
                          uint32_t ack, uint8_t flags, uint32_t size) {
  const uint32_t end = seq + size + !!(flags & SYN) + !!(flags & FIN);
  if (flags & RST) {
    return;
  }
  if (flags & ACK) {
    send_segment(d, c, ack, 0, RST);
  } else if (c->local_port != d->listening) {
    send_segment(d, c, 0, end, RST | ACK);
  } else if (flags & SYN) {
    const uint32_t iss = (uint32_t)(d->seed + d->now / 4000) + c->remote_port * 2654435761U;
    c->state = "SYN-RECEIVED";
    c->snd_nxt = iss + 1;
    c->rcv_nxt = seq + 1;
    send_segment(d, c, iss, c->rcv_nxt, SYN | ACK);
  }
}

/* A segment of a connection (RFC 9293 3.10.7.4). Takes no data. */
static void arrives(struct lockstep_device* d, struct connection* c, uint32_t seq, uint32_t ack,
                    uint8_t flags, uint32_t size) {
  const bool opening = strcmp(c->state, "SYN-RECEIVED") == 0;
  if (flags & RST) {
    c->state = seq == c->rcv_nxt ? NULL : c->state;
  } else if (seq != c->rcv_nxt || flags & SYN) {
    send_segment(d, c, c->snd_nxt, c->rcv_nxt, ACK);
  } else if (opening && flags & ACK && ack != c->snd_nxt) {
    send_segment(d, c, ack, 0, RST);
  } else if (flags & ACK) {
    c->state = opening ? "ESTABLISHED" : c->state;
    if (flags & FIN && size == 0 && strcmp(c->state, "ESTABLISHED") == 0) {
      c->state = "CLOSE-WAIT";
      c->rcv_nxt += 1;
    }
    if (flags & FIN || size != 0) {
      send_segment(d, c, c->snd_nxt, c->rcv_nxt, ACK);
    }
  }
}

/* Checks neither checksums nor the lengths in the headers. */
static void packet_in(struct lockstep_device* d, const void* packet, size_t length) {
  const uint8_t* const ip = packet;
  const uint8_t* const tcp = ip + tcp_at;
  if (length < tcp_at + 20 || ip[9] != IPPROTO_TCP) {
    return;
  }
  struct connection* const c = find(d, (uint16_t)get(tcp + 2, 2), (uint16_t)get(tcp, 2));
  const uint32_t size = (uint32_t)length - tcp_at - get(tcp + 12, 1) / 16 * 4;
  if (c != NULL) {
    (c->state ? arrives : open_or_reset)(d, c, get(tcp + 4, 4), get(tcp + 8, 4), tcp[13], size);
  }
}

static size_t packet_out(struct lockstep_device* d, void* packet, size_t room) {
  if (d->sent_count == 0 || room < longest) {
    return 0;
  }
  const size_t length = get(d->sent[0] + 2, 2);
  memcpy(packet, d->sent[0], length);
  memmove(d->sent[0], d->sent[1], --d->sent_count * longest);
  return length;
}

static int64_t listen_on(struct lockstep_device* d, uint16_t port, uint32_t backlog) {
  (void)backlog;
  d->listening = port;
  return 1;
}

static int64_t accept_one(struct lockstep_device* d, int64_t listener) {
  (void)listener;
  for (struct connection* c = d->connections; c != d->connections + connections_max; ++c) {
    if (c->state != NULL && strcmp(c->state, "SYN-RECEIVED") != 0 && c->handle == 0) {
      return c->handle = ++d->handles;
    }
  }
  return LOCKSTEP_DEVICE_AGAIN;
}

static const char* state(struct lockstep_device* d, uint16_t local_port, uint16_t remote_port) {
  const struct connection* const c = find(d, local_port, remote_port);
  return c != NULL && c->state != NULL ? c->state
         : local_port == d->listening  ? "LISTEN"
                                       : "CLOSED";
}

static void advance(struct lockstep_device* d, uint64_t now) { d->now = now; }

static uint64_t deadline(struct lockstep_device* d) {
  (void)d;
  return LOCKSTEP_DEVICE_NEVER; /* it has no timers */
}

static struct lockstep_device* create(const struct lockstep_device_setup* setup, char* why,
                                      size_t room) {
  struct lockstep_device* const d = calloc(1, sizeof *d);
  if (d == NULL || inet_pton(AF_INET, setup->local, d->local) != 1 ||
      inet_pton(AF_INET, setup->remote, d->remote) != 1) {
    strncpy(why, "unsupported: anything but IPv4", room);
    free(d);
    return NULL;
  }
  d->seed = setup->seed;
  d->now = setup->start;
  return d;
}

static void destroy(struct lockstep_device* d) { free(d); }

const struct lockstep_device_calls* lockstep_device_entry(void) {
  static const struct lockstep_device_calls calls = {.version = LOCKSTEP_DEVICE_VERSION,
                                                     .name = "your_tcp",
                                                     .stack = "a TCP that opens and closes",
                                                     .abilities = "ipv4 deterministic",
                                                     .timer_grain = 1,
                                                     .create = create,
                                                     .destroy = destroy,
                                                     .advance = advance,
                                                     .deadline = deadline,
                                                     .packet_in = packet_in,
                                                     .packet_out = packet_out,
                                                     .listen = listen_on,
                                                     .accept = accept_one,
                                                     .state = state};
  return &calls;
}
