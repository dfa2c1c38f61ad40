// BBR, version 1, as a congestion controller of one's own, in integers.
/* Sources: draft-cardwell-iccrg-bbr-congestion-control-00, and "BBR: Congestion-Based Congestion
 * Control" (CACM 60(2), 2017). The estimate of aggregated ACKs is that of the draft's version 02.
 * Names of sections are the first draft's. Left out: the detection of token-bucket policers. */
#include "core/tcp/congestion/controller.h"

enum { round_slots = 10, phases = 8, aggregation_rounds = 5 };

/* Gains in 1/256. */
#define UNIT 256u
#define HIGH_GAIN 739u /* 2 / ln 2 */
#define DRAIN_GAIN 88u /* its inverse */
#define SECOND 1000000000ull
#define RTPROP_FILTER (10 * SECOND)
#define PROBE_RTT_TIME (SECOND / 5)

enum mode { startup, drain, probe_bw, probe_rtt };

/* The words of `state`. */
struct bbr {
  uint64_t mode;
  uint64_t pacing_gain, cwnd_gain;
  uint64_t bandwidth;                                  /* BtlBw, octets per second */
  uint64_t slot_round[round_slots], slot[round_slots]; /* its maximum in each round */
  uint64_t round, round_end, round_start;              /* round_end: BBR.next_round_delivered */
  uint64_t rtprop, rtprop_at, has_rtprop;
  uint64_t full_bandwidth, full_count, filled_pipe;
  uint64_t phase, phase_at;
  uint64_t probe_rtt_until, probe_rtt_round_done;
  uint64_t limited_until; /* `delivered`: samples up to here are of PROBE_RTT */
  uint64_t idle_restart;
  uint64_t prior_cwnd, conserves, recovery;
  uint64_t epoch_at, epoch_acked, extra[2], extra_at, extra_rounds;
  uint64_t initial_cwnd;
};
_Static_assert(sizeof(struct bbr) / 8 <= LOCKSTEP_CONTROLLER_STATE_MAX, "too many words");

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }
static uint64_t most(uint64_t a, uint64_t b) { return a < b ? b : a; }
static struct bbr* state_of(struct lockstep_connection* c) { return (struct bbr*)c->state; }

/* Octets that `rate` delivers in a time; exact to a microsecond. */
static uint64_t octets_in(uint64_t rate, uint64_t time) { return rate * (time / 1000) / 1000000; }

/* Octets of one send quantum: a millisecond of the pacing rate, two segments at least. */
static uint64_t quantum(const struct lockstep_connection* c) {
  const uint64_t floor = (c->pacing_rate < 150000 ? 1 : 2) * c->mss;
  return most(least(c->pacing_rate / 1024, 65535) / c->mss * c->mss, floor);
}

/* 4.2.3.2, BBRInflight. */
static uint64_t inflight(struct lockstep_connection* c, uint64_t gain) {
  const struct bbr* b = state_of(c);
  if (b->has_rtprop == 0) {
    return b->initial_cwnd;
  }
  const uint64_t bdp = octets_in(b->bandwidth, b->rtprop) * gain / UNIT;
  const uint64_t in_segments = (bdp + c->mss - 1) / c->mss * c->mss + 3 * quantum(c);
  const uint64_t even = (in_segments + 2 * c->mss - 1) / (2 * c->mss) * (2 * c->mss);
  return even + (b->mode == probe_bw && b->phase == 0 ? 2 * c->mss : 0);
}

/* 4.2.1, BBRSetPacingRate; one percent below the estimate, so that no queue stays. */
static void set_pacing_rate(struct lockstep_connection* c, uint64_t gain) {
  const struct bbr* b = state_of(c);
  const uint64_t rate = b->bandwidth * gain / UNIT * 99 / 100;
  if (rate != 0 && (b->filled_pipe || rate > c->pacing_rate)) {
    c->pacing_rate = rate;
  }
}

static void pace_from_rtt(struct lockstep_connection* c) {
  const uint64_t rtt = c->srtt == 0 ? SECOND / 1000 : most(c->srtt, 1000);
  c->pacing_rate = c->cwnd * 1000000 / (rtt / 1000) * HIGH_GAIN / UNIT * 99 / 100;
}

static void enter_startup(struct bbr* b) {
  b->mode = startup;
  b->pacing_gain = HIGH_GAIN;
  b->cwnd_gain = HIGH_GAIN;
}

/* 4.3.4.4, BBRAdvanceCyclePhase. */
static void enter_phase(struct lockstep_connection* c, uint64_t phase) {
  struct bbr* b = state_of(c);
  b->phase = phase % phases;
  b->phase_at = c->now;
  b->pacing_gain = b->phase == 0 ? UNIT * 5 / 4 : b->phase == 1 ? UNIT * 3 / 4 : UNIT;
}

/* Begins in any phase but that of three quarters. */
static void enter_probe_bw(struct lockstep_connection* c) {
  struct bbr* b = state_of(c);
  b->mode = probe_bw;
  b->cwnd_gain = 2 * UNIT;
  const uint64_t drawn = (c->entropy >> 8) % (phases - 1);
  enter_phase(c, drawn == 0 ? 0 : drawn + 1);
}

/* BBRUpdateRound and BBRUpdateBtlBw. */
static void update_bandwidth(struct lockstep_connection* c, const struct lockstep_ack* ack) {
  struct bbr* b = state_of(c);
  b->round_start = 0;
  if (ack->sample_interval == 0) {
    return;
  }
  if (ack->sample_prior >= b->round_end) {
    b->round_end = c->delivered;
    ++b->round;
    b->round_start = 1;
    b->conserves = 0;
  }
  const uint64_t octets = least(ack->sample_delivered, 1ull << 34);
  const uint64_t rate = octets * SECOND / ack->sample_interval;
  const uint64_t limited = ack->sample_limited || ack->sample_prior < b->limited_until;
  if (limited && rate < b->bandwidth) {
    return;
  }
  const uint64_t at = b->round % round_slots;
  b->slot[at] = b->slot_round[at] == b->round ? most(b->slot[at], rate) : rate;
  b->slot_round[at] = b->round;
  b->bandwidth = 0;
  for (uint64_t i = 0; i < round_slots; ++i) {
    if (b->slot_round[i] + round_slots > b->round) {
      b->bandwidth = most(b->bandwidth, b->slot[i]);
    }
  }
}

/* How much more arrives acknowledged at once than the bandwidth explains. */
static void update_aggregation(struct lockstep_connection* c, const struct lockstep_ack* ack) {
  struct bbr* b = state_of(c);
  if (b->round_start) {
    ++b->extra_rounds;
    if (b->extra_rounds >= (b->filled_pipe ? aggregation_rounds : 1)) {
      b->extra_rounds = 0;
      b->extra_at = !b->extra_at;
      b->extra[b->extra_at] = 0;
    }
  }
  uint64_t expected = octets_in(b->bandwidth, least(c->now - b->epoch_at, 10 * SECOND));
  if (b->epoch_acked <= expected) {
    b->epoch_acked = 0;
    b->epoch_at = c->now;
    expected = 0;
  }
  b->epoch_acked += ack->delivered;
  const uint64_t extra = b->epoch_acked - least(expected, b->epoch_acked);
  b->extra[b->extra_at] = most(b->extra[b->extra_at], least(extra, c->cwnd));
}

/* 4.3.4.4, BBRCheckCyclePhase. */
static void check_phase(struct lockstep_connection* c, const struct lockstep_ack* ack) {
  struct bbr* b = state_of(c);
  if (b->mode != probe_bw) {
    return;
  }
  const int full_length = c->now - b->phase_at > b->rtprop;
  int over = full_length;
  if (b->pacing_gain > UNIT) {
    over = full_length && (ack->lost != 0 || ack->before >= inflight(c, b->pacing_gain));
  } else if (b->pacing_gain < UNIT) {
    over = full_length || ack->before <= inflight(c, UNIT);
  }
  if (over) {
    enter_phase(c, b->phase + 1);
  }
}

/* 4.3.2.2, BBRCheckFullPipe: three rounds without a quarter more of bandwidth. */
static void check_full_pipe(struct bbr* b, const struct lockstep_ack* ack) {
  if (b->filled_pipe || !b->round_start || ack->sample_limited) {
    return;
  }
  if (b->bandwidth >= b->full_bandwidth * 5 / 4) {
    b->full_bandwidth = b->bandwidth;
    b->full_count = 0;
    return;
  }
  ++b->full_count;
  b->filled_pipe = b->full_count >= 3;
}

/* 4.3.3, BBRCheckDrain. */
static void check_drain(struct lockstep_connection* c) {
  struct bbr* b = state_of(c);
  if (b->mode == startup && b->filled_pipe) {
    b->mode = drain;
    b->pacing_gain = DRAIN_GAIN;
  }
  if (b->mode == drain && c->in_flight <= inflight(c, UNIT)) {
    enter_probe_bw(c);
  }
}

static void save_cwnd(struct lockstep_connection* c) {
  struct bbr* b = state_of(c);
  const int stable = b->recovery == LOCKSTEP_OPEN && b->mode != probe_rtt;
  b->prior_cwnd = stable ? c->cwnd : most(b->prior_cwnd, c->cwnd);
}

/* 4.3.5, BBRHandleProbeRTT. */
static void stay_in_probe_rtt(struct lockstep_connection* c) {
  struct bbr* b = state_of(c);
  b->limited_until = c->delivered + c->in_flight;
  if (b->probe_rtt_until == 0) {
    if (c->in_flight <= 4 * c->mss) {
      b->probe_rtt_until = c->now + PROBE_RTT_TIME;
      b->probe_rtt_round_done = 0;
      b->round_end = c->delivered;
    }
    return;
  }
  b->probe_rtt_round_done |= b->round_start;
  if (b->probe_rtt_round_done && c->now > b->probe_rtt_until) {
    b->rtprop_at = c->now;
    c->cwnd = most(c->cwnd, b->prior_cwnd);
    if (b->filled_pipe) {
      enter_probe_bw(c);
    } else {
      enter_startup(b);
    }
  }
}

/* BBRUpdateRTprop and BBRCheckProbeRTT. */
static void update_rtprop(struct lockstep_connection* c, const struct lockstep_ack* ack) {
  struct bbr* b = state_of(c);
  const int expired = b->has_rtprop && c->now > b->rtprop_at + RTPROP_FILTER;
  if (ack->sample_rtt != 0 && (!b->has_rtprop || expired || ack->sample_rtt < b->rtprop)) {
    b->rtprop = ack->sample_rtt;
    b->rtprop_at = c->now;
    b->has_rtprop = 1;
  }
  if (expired && !b->idle_restart && b->mode != probe_rtt) {
    save_cwnd(c);
    b->mode = probe_rtt;
    b->pacing_gain = UNIT;
    b->cwnd_gain = UNIT;
    b->probe_rtt_until = 0;
  }
  if (b->mode == probe_rtt) {
    stay_in_probe_rtt(c);
  }
  b->idle_restart = 0;
}

/* 4.2.3.4, BBRModulateCwndForRecovery. Returns whether packets are conserved. */
static int modulate_for_recovery(struct lockstep_connection* c, const struct lockstep_ack* ack) {
  struct bbr* b = state_of(c);
  c->cwnd = ack->lost < c->cwnd ? most(c->cwnd - ack->lost, c->mss) : c->mss;
  if (c->recovery == LOCKSTEP_RECOVERY && b->recovery != LOCKSTEP_RECOVERY) {
    b->conserves = 1;
    b->round_end = c->delivered;
    c->cwnd = c->in_flight + ack->delivered;
  } else if (c->recovery == LOCKSTEP_OPEN && b->recovery != LOCKSTEP_OPEN) {
    c->cwnd = most(c->cwnd, b->prior_cwnd);
    b->conserves = 0;
  }
  b->recovery = c->recovery;
  if (b->conserves) {
    c->cwnd = most(c->cwnd, c->in_flight + ack->delivered);
  }
  return b->conserves != 0;
}

/* 4.2.3.5, BBRSetCwnd. */
static void set_cwnd(struct lockstep_connection* c, const struct lockstep_ack* ack) {
  struct bbr* b = state_of(c);
  if (!modulate_for_recovery(c, ack)) {
    uint64_t target = inflight(c, b->cwnd_gain);
    if (b->filled_pipe) {
      target += least(octets_in(b->bandwidth, SECOND / 10), most(b->extra[0], b->extra[1]));
      c->cwnd = least(c->cwnd + ack->delivered, target);
    } else if (c->cwnd < target || c->delivered < b->initial_cwnd) {
      c->cwnd += ack->delivered;
    }
    c->cwnd = most(c->cwnd, 4 * c->mss);
  }
  if (b->mode == probe_rtt) {
    c->cwnd = least(c->cwnd, 4 * c->mss);
  }
  c->cwnd = least(c->cwnd, LOCKSTEP_CONTROLLER_CWND_MAX);
}

static void begin(struct lockstep_connection* c) {
  struct bbr* b = state_of(c);
  enter_startup(b);
  b->initial_cwnd = c->cwnd;
  b->rtprop_at = c->now;
  b->epoch_at = c->now;
  pace_from_rtt(c);
}

static void on_ack(struct lockstep_connection* c, const struct lockstep_ack* ack) {
  struct bbr* b = state_of(c);
  if (!b->has_rtprop && c->srtt != 0) {
    pace_from_rtt(c);
  }
  update_bandwidth(c, ack);
  update_aggregation(c, ack);
  check_phase(c, ack);
  check_full_pipe(b, ack);
  check_drain(c);
  update_rtprop(c, ack);
  set_pacing_rate(c, b->pacing_gain);
  set_cwnd(c, ack);
}

static uint64_t reduced(struct lockstep_connection* c, enum lockstep_signal signal) {
  struct bbr* b = state_of(c);
  if (signal != LOCKSTEP_MARK) {
    save_cwnd(c);
  }
  if (signal == LOCKSTEP_TIMEOUT) {
    b->recovery = LOCKSTEP_AFTER_TIMEOUT;
    b->full_bandwidth = 0;
    b->round_start = 1;
    c->cwnd = c->mss;
  }
  return c->cwnd;
}

/* 4.3.4.5: after an idle time data leaves at the estimated bandwidth. */
static void on_resume(struct lockstep_connection* c) {
  struct bbr* b = state_of(c);
  if (b->round != 0) {
    b->idle_restart = 1;
    b->epoch_at = c->now;
    b->epoch_acked = 0;
    if (b->mode == probe_bw) {
      set_pacing_rate(c, UNIT);
    }
  }
}

static const struct lockstep_controller bbr = {
    .version = LOCKSTEP_CONTROLLER_VERSION,
    .state_words = sizeof(struct bbr) / 8,
    .flags = LOCKSTEP_CONTROLLER_OWNS_WINDOW | LOCKSTEP_CONTROLLER_PACES,
    .name = "bbr",
    .begin = begin,
    .on_ack = on_ack,
    .reduced = reduced,
    .on_resume = on_resume,
};

const struct lockstep_controller* lockstep_controller_of(void) { return &bbr; }
