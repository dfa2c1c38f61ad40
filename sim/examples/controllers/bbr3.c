// BBR, version 3, as a congestion controller of one's own, in integers.
/* Source: draft-ietf-ccwg-bbr-02, whose sections the comments name. Left out: ECN, and the undo of
 * a loss that was spurious. The draft looks at each lost segment; here the newest segment that an
 * ACK delivers shows how much was lost since it was sent. */
#include "core/tcp/congestion/controller.h"

/* Gains in 1/256. */
#define UNIT 256u
#define STARTUP_GAIN 709u /* 4 ln 2 */
#define SECOND 1000000000ull
#define MIN_RTT_FILTER (10 * SECOND)
#define PROBE_RTT_INTERVAL (5 * SECOND)
#define PROBE_RTT_TIME (SECOND / 5)
#define NONE (~0ull) /* a bound that does not exist */

/* Two rules of the draft that a compiler's option changes, to see what they cost:
 * -DLOSS_SHARE=10u: losses are too many from a tenth on (BBRLossThresh is a fiftieth);
 * -DLOWER_BOUNDS=0: a loss lowers neither bandwidth nor inflight outside of probing. */
#ifndef LOSS_SHARE
#define LOSS_SHARE 50u
#endif
#ifndef LOWER_BOUNDS
#define LOWER_BOUNDS 1
#endif

enum { full_rounds = 3, full_losses = 6, aggregation_rounds = 5, reno_rounds_max = 63 };

/* `drain` and those before it only begin a connection. */
enum mode { startup, drain, down, cruise, refill, up, probe_rtt };
enum acks { acks_init, acks_refilling, acks_starting, acks_feedback, acks_stopping };

/* The words of `state`. */
struct bbr3 {
  uint64_t mode, acks;
  uint64_t pacing_gain, cwnd_gain;
  uint64_t max_bandwidth[2], cycle; /* of this cycle of probing and of the one before */
  uint64_t bandwidth_low, inflight_low, inflight_high;
  uint64_t bandwidth_latest, inflight_latest;
  uint64_t round, round_end, round_start;
  uint64_t loss_round_end, loss_round_start, loss_in_round, loss_events;
  uint64_t rate; /* of this ACK's sample; 0: none */
  uint64_t min_rtt, min_rtt_at, probe_rtt_min, probe_rtt_min_at;
  uint64_t full_bandwidth, full_count, full_now, full_reached;
  uint64_t phase_at, probe_wait, rounds_since_probe, probe_samples;
  uint64_t up_rounds, up_acked, up_octets;
  uint64_t probe_rtt_until, probe_rtt_round_done, limited_until, idle_restart;
  uint64_t prior_cwnd, recovery, draws;
  uint64_t epoch_at, epoch_acked, extra[2], extra_at, extra_rounds;
  uint64_t initial_cwnd;
};
_Static_assert(sizeof(struct bbr3) / 8 <= LOCKSTEP_CONTROLLER_STATE_MAX, "too many words");

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }
static uint64_t most(uint64_t a, uint64_t b) { return a < b ? b : a; }
static struct bbr3* state_of(struct lockstep_connection* c) { return (struct bbr3*)c->state; }
static uint64_t octets_in(uint64_t rate, uint64_t time) { return rate * (time / 1000) / 1000000; }

static uint64_t max_bandwidth(const struct bbr3* b) {
  return most(b->max_bandwidth[0], b->max_bandwidth[1]);
}
static uint64_t bandwidth(const struct bbr3* b) {
  return least(max_bandwidth(b), b->bandwidth_low);
}
static int probes(const struct bbr3* b) { return b->mode >= down && b->mode <= up; }

/* A number below `end`, another one each time. */
static uint64_t draw(struct lockstep_connection* c, uint64_t end) {
  struct bbr3* b = state_of(c);
  ++b->draws;
  return (c->entropy + b->draws * 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull / 65536 % end;
}

/* 5.6.3: octets sent at once, a millisecond's. */
static uint64_t quantum(const struct lockstep_connection* c) {
  const uint64_t floor = (c->pacing_rate < 150000 ? 1 : 2) * c->mss;
  return most(least(c->pacing_rate / 1024, 65536), floor);
}

/* 5.6.4.2, BBRBDPMultiple and BBRQuantizationBudget. */
static uint64_t bdp(const struct bbr3* b, uint64_t rate, uint64_t gain) {
  return b->min_rtt == 0 ? b->initial_cwnd : octets_in(rate, b->min_rtt) * gain / UNIT;
}
static uint64_t quantized(struct lockstep_connection* c, uint64_t octets) {
  const uint64_t room = most(most(octets, 3 * quantum(c)), 4 * c->mss);
  return room + (state_of(c)->mode == up ? 2 * c->mss : 0);
}
static uint64_t inflight(struct lockstep_connection* c, uint64_t rate, uint64_t gain) {
  return quantized(c, bdp(state_of(c), rate, gain));
}

/* 5.3.3.6, BBRInflightWithHeadroom: 15 % of the path are left to others. */
static uint64_t with_headroom(const struct lockstep_connection* c, const struct bbr3* b) {
  return b->inflight_high == NONE
             ? NONE
             : most(b->inflight_high - most(b->inflight_high * 15 / 100, c->mss), 4 * c->mss);
}
static uint64_t target_inflight(struct lockstep_connection* c) {
  const struct bbr3* b = state_of(c);
  return least(bdp(b, bandwidth(b), UNIT), c->cwnd);
}

static void start_round(struct lockstep_connection* c) { state_of(c)->round_end = c->delivered; }
static void reset_lower_bounds(struct bbr3* b) { b->bandwidth_low = b->inflight_low = NONE; }
static void reset_full(struct bbr3* b) {
  b->full_bandwidth = b->rate;
  b->full_count = 0;
  b->full_now = 0;
}

static void enter(struct bbr3* b, enum mode mode, uint64_t pacing_gain, uint64_t cwnd_gain) {
  b->mode = mode;
  b->pacing_gain = pacing_gain;
  b->cwnd_gain = cwnd_gain;
}
static void enter_startup(struct bbr3* b) { enter(b, startup, STARTUP_GAIN, 2 * UNIT); }

/* 5.3.3.6, BBRStartProbeBW_DOWN and BBRPickProbeWait. */
static void start_down(struct lockstep_connection* c) {
  struct bbr3* b = state_of(c);
  b->loss_in_round = 0;
  b->bandwidth_latest = b->inflight_latest = 0;
  b->up_octets = NONE;
  b->rounds_since_probe = draw(c, 2);
  b->probe_wait = 2 * SECOND + draw(c, 1000) * (SECOND / 1000);
  b->phase_at = c->now;
  b->acks = acks_stopping;
  start_round(c);
  enter(b, down, UNIT * 9 / 10, 2 * UNIT);
}

static void start_refill(struct lockstep_connection* c) {
  struct bbr3* b = state_of(c);
  reset_lower_bounds(b);
  b->up_rounds = b->up_acked = 0;
  b->acks = acks_refilling;
  start_round(c);
  enter(b, refill, UNIT, 2 * UNIT);
}

/* BBRRaiseInflightHiSlope: one segment more in the first round, then two, four and so on. */
static void raise_slope(struct lockstep_connection* c) {
  struct bbr3* b = state_of(c);
  const uint64_t growth = c->mss << least(b->up_rounds, 20);
  b->up_rounds = least(b->up_rounds + 1, 30);
  b->up_octets = most(c->cwnd * c->mss / growth, c->mss);
}

static void start_up(struct lockstep_connection* c) {
  struct bbr3* b = state_of(c);
  b->acks = acks_starting;
  start_round(c);
  reset_full(b);
  b->full_bandwidth = b->rate;
  b->phase_at = c->now;
  enter(b, up, UNIT * 5 / 4, UNIT * 9 / 4);
  raise_slope(c);
}

/* 5.5.1 to 5.5.10: rounds, the largest bandwidth, and the lower bounds after a loss. */
static void update_signals(struct lockstep_connection* c, const struct lockstep_ack* ack) {
  struct bbr3* b = state_of(c);
  b->loss_round_start = 0;
  b->round_start = 0;
  b->rate = 0;
  if (ack->sample_interval == 0) {
    b->loss_in_round |= ack->lost != 0;
    return;
  }
  b->rate = least(ack->sample_delivered, 1ull << 34) * SECOND / ack->sample_interval;
  b->bandwidth_latest = most(b->bandwidth_latest, b->rate);
  b->inflight_latest = most(b->inflight_latest, ack->sample_delivered);
  if (ack->sample_prior >= b->loss_round_end) {
    b->loss_round_end = c->delivered;
    b->loss_round_start = 1;
  }
  if (ack->sample_prior >= b->round_end) {
    start_round(c);
    ++b->round;
    ++b->rounds_since_probe;
    b->round_start = 1;
  }
  const int limited = ack->sample_limited || ack->sample_prior < b->limited_until;
  if (!limited || b->rate >= max_bandwidth(b)) {
    uint64_t* const slot = &b->max_bandwidth[b->cycle % 2];
    *slot = most(*slot, b->rate);
  }
  b->loss_in_round |= ack->lost != 0;
  b->loss_events += ack->lost != 0;
  const int probing = b->mode == startup || b->mode == refill || b->mode == up;
  if (LOWER_BOUNDS && b->loss_round_start && b->loss_in_round && !probing) {
    const uint64_t rate = b->bandwidth_low == NONE ? max_bandwidth(b) : b->bandwidth_low;
    const uint64_t octets = b->inflight_low == NONE ? c->cwnd : b->inflight_low;
    b->bandwidth_low = most(b->bandwidth_latest, rate * 7 / 10);
    b->inflight_low = most(b->inflight_latest, octets * 7 / 10);
  }
}

/* 5.5.9, BBRUpdateACKAggregation. */
static void update_aggregation(struct lockstep_connection* c, const struct lockstep_ack* ack) {
  struct bbr3* b = state_of(c);
  if (b->round_start) {
    ++b->extra_rounds;
    if (b->extra_rounds >= (b->full_reached ? aggregation_rounds : 1)) {
      b->extra_rounds = 0;
      b->extra_at = !b->extra_at;
      b->extra[b->extra_at] = 0;
    }
  }
  uint64_t expected = octets_in(bandwidth(b), least(c->now - b->epoch_at, 10 * SECOND));
  if (b->epoch_acked <= expected) {
    b->epoch_acked = 0;
    b->epoch_at = c->now;
    expected = 0;
  }
  b->epoch_acked += ack->delivered;
  const uint64_t extra = b->epoch_acked - least(expected, b->epoch_acked);
  b->extra[b->extra_at] = most(b->extra[b->extra_at], least(extra, c->cwnd));
}

/* 5.3.1.2, BBRCheckFullBWReached. */
static void check_full(struct bbr3* b, const struct lockstep_ack* ack) {
  if (b->full_now || ack->sample_limited || b->rate == 0) {
    return;
  }
  if (b->rate >= b->full_bandwidth * 5 / 4) {
    reset_full(b);
    return;
  }
  if (b->round_start) {
    ++b->full_count;
    b->full_now = b->full_count >= full_rounds;
    b->full_reached |= b->full_now;
  }
}

/* BBRIsInflightTooHigh: more than BBRLossThresh were lost. */
static int too_high(const struct lockstep_ack* ack) {
  return ack->sample_lost * LOSS_SHARE > ack->sample_in_flight && ack->sample_in_flight != 0;
}

/* 5.3.1.3 and 5.3.2: the ends of Startup and of Drain. */
static void check_startup(struct lockstep_connection* c, const struct lockstep_ack* ack) {
  struct bbr3* b = state_of(c);
  if (b->mode == startup && b->loss_round_start) {
    if (c->recovery == LOCKSTEP_RECOVERY && b->loss_events >= full_losses && too_high(ack)) {
      b->full_reached = 1;
      b->inflight_high = most(bdp(b, max_bandwidth(b), UNIT), b->inflight_latest);
    }
    b->loss_events = 0;
  }
  if (b->mode == startup && b->full_reached) {
    enter(b, drain, UNIT / 2, 2 * UNIT);
  }
  if (b->mode == drain && c->in_flight <= inflight(c, bandwidth(b), UNIT)) {
    start_down(c);
  }
}

/* BBRProbeInflightHiUpward. */
static void probe_upward(struct lockstep_connection* c, const struct lockstep_ack* ack) {
  struct bbr3* b = state_of(c);
  if (ack->limited || c->cwnd < b->inflight_high) {
    return;
  }
  b->up_acked += ack->delivered;
  if (b->up_acked >= b->up_octets) {
    b->inflight_high += b->up_acked / b->up_octets * c->mss;
    b->up_acked %= b->up_octets;
  }
  if (b->round_start) {
    raise_slope(c);
  }
}

/* BBRAdaptUpperBounds and BBRHandleInflightTooHigh. */
static void adapt_upper_bounds(struct lockstep_connection* c, const struct lockstep_ack* ack) {
  struct bbr3* b = state_of(c);
  if (b->acks == acks_starting && b->round_start) {
    b->acks = acks_feedback;
  }
  if (b->acks == acks_stopping && b->round_start) {
    b->probe_samples = 0;
    b->acks = acks_init;
    if (probes(b) && !ack->sample_limited) {
      ++b->cycle;
      b->max_bandwidth[b->cycle % 2] = 0;
    }
  }
  if (too_high(ack)) {
    if (b->probe_samples) {
      b->probe_samples = 0;
      if (!ack->sample_limited) {
        b->inflight_high = most(ack->sample_in_flight, target_inflight(c) * 7 / 10);
      }
      if (b->mode == up) {
        start_down(c);
      }
    }
  } else if (b->inflight_high != NONE) {
    b->inflight_high = most(b->inflight_high, ack->sample_in_flight);
    if (b->mode == up) {
      probe_upward(c, ack);
    }
  }
}

/* BBRIsTimeToProbeBW: after 2 to 3 s, or as often as Reno would lose a segment. */
static int time_to_probe(struct lockstep_connection* c) {
  const struct bbr3* b = state_of(c);
  const uint64_t rounds = least(target_inflight(c) / c->mss, reno_rounds_max - c->entropy % 2);
  return c->now - b->phase_at > b->probe_wait || b->rounds_since_probe >= rounds;
}

/* 5.3.3.6, BBRUpdateProbeBWCyclePhase. */
static void update_phase(struct lockstep_connection* c, const struct lockstep_ack* ack) {
  struct bbr3* b = state_of(c);
  if (!b->full_reached) {
    return;
  }
  adapt_upper_bounds(c, ack);
  if (b->mode == down || b->mode == cruise) {
    if (time_to_probe(c)) {
      start_refill(c);
    } else if (b->mode == down && c->in_flight <= with_headroom(c, b) &&
               c->in_flight <= inflight(c, max_bandwidth(b), UNIT)) {
      enter(b, cruise, UNIT, 2 * UNIT);
    }
  } else if (b->mode == refill && b->round_start) {
    b->probe_samples = 1;
    start_up(c);
  } else if (b->mode == up) {
    if (!ack->limited && b->inflight_high != NONE && c->cwnd >= b->inflight_high) {
      reset_full(b);
    } else if (b->full_now) {
      start_down(c);
    }
  }
}

static void save_cwnd(struct lockstep_connection* c) {
  struct bbr3* b = state_of(c);
  const int stable = b->recovery == LOCKSTEP_OPEN && b->mode != probe_rtt;
  b->prior_cwnd = stable ? c->cwnd : most(b->prior_cwnd, c->cwnd);
}

static uint64_t probe_rtt_cwnd(struct lockstep_connection* c) {
  const struct bbr3* b = state_of(c);
  return most(bdp(b, bandwidth(b), UNIT / 2), 4 * c->mss);
}

/* 5.3.4.3, BBRHandleProbeRTT and BBRExitProbeRTT. */
static void stay_in_probe_rtt(struct lockstep_connection* c) {
  struct bbr3* b = state_of(c);
  b->limited_until = c->delivered + c->in_flight;
  if (b->probe_rtt_until == 0) {
    if (c->in_flight <= probe_rtt_cwnd(c)) {
      b->probe_rtt_until = c->now + PROBE_RTT_TIME;
      b->probe_rtt_round_done = 0;
      start_round(c);
    }
    return;
  }
  b->probe_rtt_round_done |= b->round_start;
  if (b->probe_rtt_round_done && c->now > b->probe_rtt_until) {
    b->probe_rtt_min_at = c->now;
    c->cwnd = most(c->cwnd, b->prior_cwnd);
    reset_lower_bounds(b);
    if (b->full_reached) {
      start_down(c);
      enter(b, cruise, UNIT, 2 * UNIT);
    } else {
      enter_startup(b);
    }
  }
}

/* 5.3.4, BBRUpdateMinRTT and BBRCheckProbeRTT. */
static void update_min_rtt(struct lockstep_connection* c, const struct lockstep_ack* ack) {
  struct bbr3* b = state_of(c);
  const int expired = c->now > b->probe_rtt_min_at + PROBE_RTT_INTERVAL;
  const uint64_t rtt = ack->sample_rtt;
  if (rtt != 0 && (b->probe_rtt_min == 0 || rtt < b->probe_rtt_min || expired)) {
    b->probe_rtt_min = rtt;
    b->probe_rtt_min_at = c->now;
  }
  const int old = c->now > b->min_rtt_at + MIN_RTT_FILTER;
  if (b->probe_rtt_min != 0 && (b->min_rtt == 0 || b->probe_rtt_min < b->min_rtt || old)) {
    b->min_rtt = b->probe_rtt_min;
    b->min_rtt_at = b->probe_rtt_min_at;
  }
  if (b->mode != probe_rtt && expired && !b->idle_restart) {
    save_cwnd(c);
    enter(b, probe_rtt, UNIT, UNIT / 2);
    b->probe_rtt_until = 0;
    b->acks = acks_stopping;
    start_round(c);
  }
  if (b->mode == probe_rtt) {
    stay_in_probe_rtt(c);
  }
  b->idle_restart = 0;
}

/* 5.6.2, BBRSetPacingRate. */
static void set_pacing_rate(struct lockstep_connection* c, uint64_t gain) {
  const struct bbr3* b = state_of(c);
  const uint64_t rate = bandwidth(b) * gain / UNIT * 99 / 100;
  if (rate != 0 && (b->full_reached || rate > c->pacing_rate)) {
    c->pacing_rate = rate;
  }
}

/* 5.6.4, BBRSetCwnd, with the bounds of the model. */
static void set_cwnd(struct lockstep_connection* c, const struct lockstep_ack* ack) {
  struct bbr3* b = state_of(c);
  if (c->recovery == LOCKSTEP_OPEN && b->recovery != LOCKSTEP_OPEN) {
    c->cwnd = most(c->cwnd, b->prior_cwnd);
  }
  b->recovery = c->recovery;
  const uint64_t extra = most(b->extra[0], b->extra[1]);
  const uint64_t room = quantized(c, bdp(b, bandwidth(b), b->cwnd_gain) + extra);
  if (b->full_reached) {
    c->cwnd = least(c->cwnd + ack->delivered, room);
  } else if (c->cwnd < room || c->delivered < b->initial_cwnd) {
    c->cwnd += ack->delivered;
  }
  c->cwnd = most(c->cwnd, 4 * c->mss);
  if (b->mode == probe_rtt) {
    c->cwnd = least(c->cwnd, probe_rtt_cwnd(c));
  }
  uint64_t cap = NONE;
  if (b->mode == cruise || b->mode == probe_rtt) {
    cap = with_headroom(c, b);
  } else if (probes(b)) {
    cap = b->inflight_high;
  }
  c->cwnd = least(c->cwnd, most(least(cap, b->inflight_low), 4 * c->mss));
  c->cwnd = least(c->cwnd, LOCKSTEP_CONTROLLER_CWND_MAX);
}

static void pace_from_rtt(struct lockstep_connection* c) {
  const uint64_t rtt = c->srtt == 0 ? SECOND / 1000 : most(c->srtt, 1000);
  c->pacing_rate = c->cwnd * 1000000 / (rtt / 1000) * STARTUP_GAIN / UNIT * 99 / 100;
}

static void begin(struct lockstep_connection* c) {
  struct bbr3* b = state_of(c);
  enter_startup(b);
  reset_lower_bounds(b);
  b->inflight_high = NONE;
  b->up_octets = NONE;
  b->initial_cwnd = c->cwnd;
  b->min_rtt_at = b->probe_rtt_min_at = b->epoch_at = c->now;
  pace_from_rtt(c);
}

static void on_ack(struct lockstep_connection* c, const struct lockstep_ack* ack) {
  struct bbr3* b = state_of(c);
  if (b->min_rtt == 0 && c->srtt != 0) {
    pace_from_rtt(c);
  }
  update_signals(c, ack);
  update_aggregation(c, ack);
  check_full(b, ack);
  check_startup(c, ack);
  update_phase(c, ack);
  update_min_rtt(c, ack);
  if (b->loss_round_start) {
    b->bandwidth_latest = b->rate;
    b->inflight_latest = ack->sample_delivered;
    b->loss_in_round = 0;
  }
  set_pacing_rate(c, b->pacing_gain);
  set_cwnd(c, ack);
}

static uint64_t reduced(struct lockstep_connection* c, enum lockstep_signal signal) {
  struct bbr3* b = state_of(c);
  if (signal != LOCKSTEP_MARK) {
    save_cwnd(c);
  }
  if (signal == LOCKSTEP_TIMEOUT) {
    b->recovery = LOCKSTEP_AFTER_TIMEOUT;
    c->cwnd = c->mss;
  }
  return c->cwnd;
}

/* 5.4.1, BBRHandleRestartFromIdle. */
static void on_resume(struct lockstep_connection* c) {
  struct bbr3* b = state_of(c);
  if (b->round != 0) {
    b->idle_restart = 1;
    b->epoch_at = c->now;
    b->epoch_acked = 0;
    if (probes(b)) {
      set_pacing_rate(c, UNIT);
    }
  }
}

static const struct lockstep_controller bbr3 = {
    .version = LOCKSTEP_CONTROLLER_VERSION,
    .state_words = sizeof(struct bbr3) / 8,
    .flags = LOCKSTEP_CONTROLLER_OWNS_WINDOW | LOCKSTEP_CONTROLLER_PACES,
    .name = "bbr3",
    .begin = begin,
    .on_ack = on_ack,
    .reduced = reduced,
    .on_resume = on_resume,
};

const struct lockstep_controller* lockstep_controller_of(void) { return &bbr3; }
