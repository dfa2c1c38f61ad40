// The interface of a congestion controller of your own: C, one page, version 1.
/* A controller is a constant of type lockstep_controller. A shared object for `--controller`
 * exports the function lockstep_controller_of(), which returns it; a program that links Lockstep
 * passes it to lockstep::tcp::add_controller (core/tcp/congestion/added.hpp). Configurations then
 * name it: congestion = "NAME".
 *
 * All sizes are octets, all times nanoseconds, all rates octets per second. The structures belong
 * to the caller and are valid during the call only. The functions must be deterministic: they use
 * their arguments alone, and integers alone (no floating point, clock, random numbers of their own,
 * static variables or files). Whatever a connection must remember is in `state`, which is part of
 * snapshots, forks and fingerprints: so it holds no pointers. */
#ifndef LOCKSTEP_CONTROLLER_H
#define LOCKSTEP_CONTROLLER_H

#include <stdint.h>

#define LOCKSTEP_CONTROLLER_VERSION 1u
#define LOCKSTEP_CONTROLLER_STATE_MAX 64u       /* words of `state` */
#define LOCKSTEP_CONTROLLER_CWND_MAX (1u << 30) /* octets; 1 to this many are possible windows */

/* Flags. OWNS_WINDOW: the controller sets cwnd after every ACK, in recovery and after a timeout,
 * too. Without it the stack's recovery (PRR) does that, and cwnd becomes what `reduced` returned.
 * PACES: data leaves at the rate `pacing_rate`, in bursts of Config::pacing_quantum, or of two
 * segments from 150,000 octets per second on; with SACK retransmissions, too, but for the first of
 * a recovery. New data waits until a burst, or a third of the window, can be sent, unless the next
 * ACK is far; but not in recovery, where what is left shows the loss of a retransmission, and not
 * if the peer has no SACK. */
#define LOCKSTEP_CONTROLLER_OWNS_WINDOW 1u
#define LOCKSTEP_CONTROLLER_PACES 2u

/* The phase of loss recovery. */
enum lockstep_recovery { LOCKSTEP_OPEN, LOCKSTEP_RECOVERY, LOCKSTEP_AFTER_TIMEOUT };

/* Why the window must be reduced: losses were found and a recovery begins; an ECE; the
 * retransmission timer fired. */
enum lockstep_signal { LOCKSTEP_LOSS, LOCKSTEP_MARK, LOCKSTEP_TIMEOUT };

/* One connection. The first four are the controller's to change. */
struct lockstep_connection {
  uint64_t* state;      /* `state_words` words, all 0 when the controller begins */
  uint64_t cwnd;        /* congestion window; one segment is the least that is used */
  uint64_t ssthresh;    /* ignored if the controller owns the window */
  uint64_t pacing_rate; /* 0: 120 % of cwnd / SRTT, 200 % in slow start */
  uint64_t now;         /* since the origin of the host's clock */
  uint64_t mss;         /* of the segments that we send, without headers */
  uint64_t in_flight;   /* in the network, by the scoreboard */
  uint64_t srtt;        /* 0: no sample yet */
  uint64_t delivered;   /* in all, cumulatively or by SACK; begins at 1 */
  uint64_t lost;        /* found lost, in all; a retransmission that is lost counts again */
  uint64_t entropy;     /* drawn from the seed, the same for the life of the connection */
  uint64_t recovery;    /* a lockstep_recovery */
};

/* One ACK. The sample_* describe the segment that was sent last of those that it delivers; they
 * are 0 without one (also if the peer has no SACK, or rack = false: then few ACKs have one). */
struct lockstep_ack {
  uint64_t newly;            /* acknowledged cumulatively by this ACK */
  uint64_t delivered;        /* delivered by this ACK, cumulatively or by SACK */
  uint64_t lost;             /* found lost since the last ACK */
  uint64_t before;           /* in_flight before this ACK */
  uint64_t sample_rtt;       /* 0: none, as after a retransmission */
  uint64_t sample_delivered; /* rate sample: octets delivered since that segment was sent ... */
  uint64_t sample_interval;  /* ... in this time; 0: no sample */
  uint64_t sample_prior;     /* `delivered` of the connection when that segment was sent */
  uint64_t sample_in_flight; /* in_flight when it was sent, with it */
  uint64_t sample_lost;      /* found lost since it was sent */
  uint64_t sample_limited;   /* 1: the application, not the window, was the limit then */
  uint64_t limited;          /* 1: less than cwnd was in flight for this round trip, and `newly`
                                is not 0 */
  uint64_t marked;           /* 1: this ACK has ECE */
};

struct lockstep_controller {
  uint32_t version;     /* LOCKSTEP_CONTROLLER_VERSION */
  uint32_t state_words; /* at most LOCKSTEP_CONTROLLER_STATE_MAX */
  uint32_t flags;
  const char* name; /* lower-case letters, digits, `_` and `-`, at most 15; not one that is taken */
  /* The handshake is complete; cwnd is the initial window. Or an open connection gets this
   * controller: cwnd, `delivered` and `lost` go on from what they are. May be null. */
  void (*begin)(struct lockstep_connection* c);
  /* Every ACK that delivers data. In recovery, and with ECE, a change of cwnd has no effect unless
   * the controller owns the window. */
  void (*on_ack)(struct lockstep_connection* c, const struct lockstep_ack* ack);
  /* The network is congested: returns the new ssthresh, of which the stack makes two segments at
   * least. cwnd follows from it unless the controller owns the window. */
  uint64_t (*reduced)(struct lockstep_connection* c, enum lockstep_signal signal);
  /* Data is sent, and nothing was in flight before. May be null. */
  void (*on_resume)(struct lockstep_connection* c);
};

/* What a shared object exports. */
typedef const struct lockstep_controller* lockstep_controller_function(void);
#ifdef __cplusplus
extern "C"
#endif
#ifdef __GNUC__
    __attribute__((visibility("default")))
#endif
    const struct lockstep_controller*
    lockstep_controller_of(void);

#endif
