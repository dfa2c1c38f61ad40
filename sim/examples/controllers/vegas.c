// TCP Vegas (Brakmo and Peterson 1995) as a congestion controller of one's own, in integers.
// README.md has the commands that compile and run it.
#include "core/tcp/congestion/controller.h"

/* The words of `state`. */
enum { base_rtt, round_rtt, round_end, round_odd, words };

/* Segments that it keeps in the queue of the path: between alpha and beta; gamma in slow start. */
enum { alpha = 2, beta = 4, gamma = 1 };

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }
static uint64_t most(uint64_t a, uint64_t b) { return a < b ? b : a; }

/* Once for each round trip: by what the path holds in its queue. */
static void end_round(struct lockstep_connection* c) {
  uint64_t* const s = c->state;
  /* Expected less actual rate, times the base RTT: octets in the queue. */
  const uint64_t queued = c->cwnd * (s[round_rtt] - s[base_rtt]) / s[round_rtt];
  const uint64_t target = c->cwnd - queued;
  if (c->cwnd < c->ssthresh) {
    if (queued > gamma * c->mss) {
      c->cwnd = most(least(c->cwnd, target + c->mss), 2 * c->mss);
      c->ssthresh = c->cwnd;
    }
  } else if (queued > beta * c->mss) {
    c->cwnd = most(c->cwnd - c->mss, 2 * c->mss);
    c->ssthresh = least(c->ssthresh, c->cwnd); /* no slow start from here */
  } else if (queued < alpha * c->mss) {
    c->cwnd += c->mss;
  }
}

static void on_ack(struct lockstep_connection* c, const struct lockstep_ack* ack) {
  uint64_t* const s = c->state;
  if (ack->sample_rtt != 0) {
    s[base_rtt] = s[base_rtt] == 0 ? ack->sample_rtt : least(s[base_rtt], ack->sample_rtt);
    s[round_rtt] = s[round_rtt] == 0 ? ack->sample_rtt : least(s[round_rtt], ack->sample_rtt);
  }
  /* Slow start doubles cwnd in every other round trip, so that the rounds can be compared. */
  if (c->cwnd < c->ssthresh && s[round_odd] == 0) {
    c->cwnd += ack->newly;
  }
  if (c->delivered > s[round_end]) {
    if (s[round_rtt] != 0 && ack->limited == 0) {
      end_round(c);
    }
    s[round_end] = c->delivered + c->in_flight;
    s[round_rtt] = 0;
    s[round_odd] = !s[round_odd];
  }
}

static uint64_t reduced(struct lockstep_connection* c, enum lockstep_signal signal) {
  (void)signal;
  return least(c->cwnd, c->in_flight + c->mss) / 2;
}

static const struct lockstep_controller vegas = {
    .version = LOCKSTEP_CONTROLLER_VERSION,
    .state_words = words,
    .name = "vegas",
    .on_ack = on_ack,
    .reduced = reduced,
};

const struct lockstep_controller* lockstep_controller_of(void) { return &vegas; }
