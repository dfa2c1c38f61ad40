// A device: one host with a TCP that has no clock and no wire of its own, for C99 and C++.
#ifndef LOCKSTEP_CONFORMANCE_DEVICES_DEVICE_H
#define LOCKSTEP_CONFORMANCE_DEVICES_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The interface between the tests and a TCP under test. A device is a table of functions. Its time
 * is virtual: it knows only the instants that create() and advance() name. Its link carries IP
 * packets without a link header, between the device and one neighbour, the tester.
 *
 * A device is used by one thread and may use global variables: each test has a process of its own.
 * No function may block, read a real clock, or draw a random number that `seed` does not decide.
 * Packets that a call causes wait until packet_out() takes them. Pointers given to a function are
 * valid during the call; pointers that it returns, until the next call.
 *
 * Handles of listeners and connections are numbers from 1 on, each used once. A result below 0 is
 * one of these:
 */
enum {
  LOCKSTEP_DEVICE_UNSUPPORTED = -1, /* the device has no such call, option, setting or variable */
  LOCKSTEP_DEVICE_REFUSED = -2,     /* the arguments, or the connection's state, do not allow it */
  LOCKSTEP_DEVICE_AGAIN = -3,       /* nothing now: no data, no room, no connection to accept */
  LOCKSTEP_DEVICE_GONE = -4         /* the connection is over, or the handle was never given out */
};

/* The version of this interface. A device of another version is refused. */
#define LOCKSTEP_DEVICE_VERSION 3
/* A deadline that never comes. */
#define LOCKSTEP_DEVICE_NEVER UINT64_MAX
/* The longest packet that a device sends or receives, in octets. */
#define LOCKSTEP_DEVICE_PACKET_MAX 65535

/* When branch() is called: before the fork, or after it in the old or in the new process. */
enum lockstep_device_branch { LOCKSTEP_BRANCH_BEFORE, LOCKSTEP_BRANCH_OLD, LOCKSTEP_BRANCH_NEW };

/* What create() is told. The words are NUL-terminated. */
struct lockstep_device_setup {
  const char* local;  /* the device's address, as "10.0.0.1" or "fd00::1" */
  const char* remote; /* the tester's address, of the same family and on the same link */
  uint32_t mtu;       /* of the link: octets of an IP packet, 68 (IPv6: 1280) to 65535 */
  uint64_t seed;      /* decides all numbers that the device draws: ISNs, keys, ports */
  uint64_t start;     /* the instant of creation, in nanoseconds of an arbitrary origin */
  const char*
      options; /* lines "name=value", as `lockstep profiles` names them, and "profile=rfc" */
};

struct lockstep_device; /* the device's own */

/*
 * The functions. One that is NULL is a call that the device does not have; the first six are
 * required. `d` is what create() returned.
 */
struct lockstep_device_calls {
  uint32_t version;  /* LOCKSTEP_DEVICE_VERSION */
  const char* name;  /* in one word, as "lwip" */
  const char* stack; /* what it is, with its version, as "lwIP 2.1.3" */
  /*
   * Words separated by spaces: ipv4, ipv6: the families that it has; deterministic: equal inputs
   * give equal packets at equal instants; udp: it has UDP, so that a closed port answers;
   * renewable: after destroy(), create() makes a device as in a new process; branches: a fork of
   * its process is a second device in the same state, see branch().
   */
  const char* abilities;
  /* Timers expire on multiples of this many nanoseconds; 1: to the nanosecond. */
  uint64_t timer_grain;
  /* ... and up to this many thousandths of their duration later, as on a wheel; 0: exactly. */
  uint32_t timer_late;

  /*
   * Makes the device. NULL: it cannot be made; `why` (at most `room` octets with its NUL) says why
   * in one line. An option that it cannot set begins that line with the word "unsupported".
   */
  struct lockstep_device* (*create)(const struct lockstep_device_setup* setup, char* why,
                                    size_t room);
  /* Ends it and frees its memory. */
  void (*destroy)(struct lockstep_device* d);
  /* Time is now `now` (nanoseconds), which never goes back: runs all timers due by then. */
  void (*advance)(struct lockstep_device* d, uint64_t now);
  /* When advance() must be called next; LOCKSTEP_DEVICE_NEVER: no timer runs. */
  uint64_t (*deadline)(struct lockstep_device* d);
  /* An IP packet arrives now. */
  void (*packet_in)(struct lockstep_device* d, const void* packet, size_t length);
  /* Takes the next packet that was sent, at most `room` octets; returns its length, 0 for none. */
  size_t (*packet_out)(struct lockstep_device* d, void* packet, size_t room);

  /*
   * Listens on a port (passive OPEN, RFC 9293 3.10.1); returns the listener. `backlog`: how many
   * connections may wait for accept(), at least 1.
   */
  int64_t (*listen)(struct lockstep_device* d, uint16_t port, uint32_t backlog);
  /* Stops listening; connections that were accepted continue. */
  int64_t (*unlisten)(struct lockstep_device* d, int64_t listener);
  /* The next connection that a listener accepted. AGAIN: none. */
  int64_t (*accept)(struct lockstep_device* d, int64_t listener);
  /* Begins an active OPEN to the tester; returns the connection. */
  int64_t (*connect)(struct lockstep_device* d, uint16_t local_port, uint16_t remote_port);
  /* Queues octets to send; returns how many were accepted. AGAIN: no room. */
  int64_t (*send)(struct lockstep_device* d, int64_t connection, const void* data, size_t length);
  /* Reads octets that arrived in order. 0: the peer has finished. AGAIN: none now. */
  int64_t (*receive)(struct lockstep_device* d, int64_t connection, void* data, size_t room);
  /* Closes the sending half: a FIN follows the queued octets. */
  int64_t (*finish)(struct lockstep_device* d, int64_t connection);
  /* CLOSE: as finish(), and nothing will be read any more. */
  int64_t (*close)(struct lockstep_device* d, int64_t connection);
  /* ABORT, with a reset if the state requires one. */
  int64_t (*abort)(struct lockstep_device* d, int64_t connection);
  /* Makes all octets queued so far urgent (RFC 9293 3.8.5). */
  int64_t (*urgent)(struct lockstep_device* d, int64_t connection);
  /* Changes a setting: nagle, delayed_ack, keepalive (0 or 1), user_timeout_ms, ttl, dscp, ... */
  int64_t (*set)(struct lockstep_device* d, int64_t connection, const char* name, int64_t value);
  /*
   * Reads a variable: cwnd, ssthresh, snd_wnd, rcv_wnd (octets), srtt_ns, rto_ns, ...; error: why
   * the connection is over, as a number of Linux's errno, once; 0: there is no error.
   */
  int64_t (*get)(struct lockstep_device* d, int64_t connection, const char* name);
  /*
   * The state that a segment from `remote_port` to `local_port` meets, by the RFC's name, as
   * "SYN-RECEIVED", "LISTEN" or "CLOSED". NULL: it cannot be seen now.
   */
  const char* (*state)(struct lockstep_device* d, uint16_t local_port, uint16_t remote_port);
  /*
   * All events of a connection so far, oldest first, separated by spaces: accepted, connected,
   * received, urgent, peer_finished, soft_error:retransmitting, soft_error:host_unreachable, and at
   * last closed: and a cause: finished, reset, refused, aborted, timed_out, keepalive_timed_out or
   * host_unreachable.
   */
  const char* (*events)(struct lockstep_device* d, int64_t connection);
  /*
   * As advance() at each deadline up to `until`, but it stops at the first packet that it sends;
   * returns the instant that it has reached. For a device that does this much faster.
   */
  uint64_t (*travel)(struct lockstep_device* d, uint64_t until);
  /*
   * For a device that branches, and that shares something with another process, as a descriptor:
   * its process is forked. Called before that in stage BEFORE, to duplicate what is shared (below
   * 0: there will be no fork), and after it in each process, to keep its own part.
   */
  int64_t (*branch)(struct lockstep_device* d, enum lockstep_device_branch stage);
};

/* The one symbol that a shared library with a device exports. */
const struct lockstep_device_calls* lockstep_device_entry(void);

#ifdef __cplusplus
}
#endif

#endif
