// A page of metrics: a help line and a type line for each metric, then one line per shard.
#pragma once

#include <fmt/core.h>

#include <string>
#include <vector>

#include "tools/lib/load/histogram.hpp"
#include "tools/verbs/serve/process_metrics.hpp"
#include "tools/verbs/serve/totals.hpp"

namespace lockstep::tools {

/// The text as it is composed.
template <class Totals>
class MetricsPage {
 public:
  explicit MetricsPage(const std::vector<Totals>& shards) : shards_(shards) {}

  /// `of`: gives the number of a shard.
  template <class Of>
  void counter(const char* name, const char* help, Of of) {
    head(name, help, "counter");
    lines(name, "", of);
  }
  template <class Of>
  void gauge(const char* name, const char* help, Of of) {
    head(name, help, "gauge");
    lines(name, "", of);
  }
  void head(const char* name, const char* help, const char* type) {
    text += fmt::format("# HELP lockstep_{} {}\n# TYPE lockstep_{} {}\n", name, help, name, type);
  }
  /// `label`: `reason="x",` or empty.
  template <class Of>
  void lines(const char* name, const std::string& label, Of of) {
    for (std::size_t i = 0; i < shards_.size(); ++i) {
      text += fmt::format("lockstep_{}{{{}shard=\"{}\"}} {}\n", name, label, i, of(shards_[i]));
    }
  }

  /// `of`: gives a load::Histogram of a shard. Buckets at 1, 2.5 and 5 of each power of ten, from
  /// 10 us to 10 s.
  template <class Of>
  void histogram(const char* name, const char* help, Of of) {
    head(name, help, "histogram");
    for (std::size_t i = 0; i < shards_.size(); ++i) {
      load::Histogram const& times = of(shards_[i]);
      for (std::uint64_t ten = 10'000; ten < 10'000'000'000; ten *= 10) {
        for (std::uint64_t const bound : {ten, ten * 5 / 2, ten * 5}) {
          bucket(name, i, seconds_text({bound}), times.count_to({bound}));
        }
      }
      bucket(name, i, "10.0", times.count_to(Duration::seconds(10)));
      bucket(name, i, "+Inf", times.count());
      text +=
          fmt::format("lockstep_{}_sum{{shard=\"{}\"}} {}\n", name, i, seconds_text(times.sum()));
      text += fmt::format("lockstep_{}_count{{shard=\"{}\"}} {}\n", name, i, times.count());
    }
  }

  /// The counters that every shard has, and those of the process.
  void add_shard() {
    add_tcp();
    add_opening();
    add_port();
    add_loop();
    text += process_metrics();
  }

  std::string text;

 private:
  void bucket(const char* name, std::size_t shard, const std::string& bound, std::uint64_t count) {
    text +=
        fmt::format("lockstep_{}_bucket{{shard=\"{}\",le=\"{}\"}} {}\n", name, shard, bound, count);
  }

  void add_opening() {
    gauge("connections_half_open", "Connections in the SYN cache.",
          [](const Totals& t) { return t.half_open; });
    counter("half_open_total", "SYNs stored in the SYN cache.",
            [](const Totals& t) { return t.stack.tcp.half_opens_kept; });
    counter("half_open_promoted_total", "Those that became connections.",
            [](const Totals& t) { return t.stack.tcp.half_opens_promoted; });
    counter("half_open_evicted_total", "Those that gave way to others.",
            [](const Totals& t) { return t.stack.tcp.half_opens_evicted; });
    counter("syn_cookies_sent_total", "SYN-ACKs sent with a cookie.",
            [](const Totals& t) { return t.stack.tcp.cookies_sent; });
    counter("syn_cookies_proven_total", "Connections opened by the ACK of a cookie.",
            [](const Totals& t) { return t.stack.tcp.cookies_taken; });
    counter("syn_cookies_refused_total", "ACKs whose cookie was invalid.",
            [](const Totals& t) { return t.stack.drops.of(Drop::tcp_cookie_unproven); });
  }

  void add_tcp() {
    counter("sent_bytes_total", "Octets of data sent, without retransmissions.",
            [](const Totals& t) { return t.stack.tcp.bytes_sent; });
    counter("received_bytes_total", "Octets of data received in order.",
            [](const Totals& t) { return t.stack.tcp.bytes_delivered; });
    counter("segments_sent_total", "Segments sent.",
            [](const Totals& t) { return t.stack.tcp.segments_sent; });
    counter("segments_received_total", "Segments received.",
            [](const Totals& t) { return t.stack.tcp.segments_received; });
    counter("retransmissions_total", "Segments retransmitted.",
            [](const Totals& t) { return t.stack.tcp.retransmissions; });
    counter("fast_retransmits_total", "Segments retransmitted without a timeout.",
            [](const Totals& t) { return t.stack.tcp.fast_retransmits; });
    counter("timeouts_total", "Retransmission timeouts.",
            [](const Totals& t) { return t.stack.tcp.timeouts; });
    counter("resets_sent_total", "Resets sent.",
            [](const Totals& t) { return t.stack.tcp.resets_sent; });
    head("drops_total", "Frames dropped in the stack, by reason.", "counter");
    for (std::uint32_t i = 0; i < drop_count; ++i) {
      auto const drop = static_cast<Drop>(i);
      lines("drops_total", fmt::format("reason=\"{}\",", name_of(drop)),
            [drop](const Totals& t) { return t.stack.drops.of(drop); });
    }
  }

  void add_port() {
    counter("frames_in_total", "Frames received by the port.",
            [](const Totals& t) { return t.port.frames_in; });
    counter("frames_out_total", "Frames sent by the port.",
            [](const Totals& t) { return t.port.frames_out; });
    counter("frames_blocked_total", "Frames that waited for space in the device.",
            [](const Totals& t) { return t.port.blocked; });
    counter("frames_missed_total", "Frames lost because the kernel's buffer was full.",
            [](const Totals& t) { return t.port.missed; });
    counter("frames_unsent_total", "Frames that the kernel refused.",
            [](const Totals& t) { return t.port.link_down + t.port.no_buffers + t.port.refused; });
    head("frames_unfit_total", "Frames received and unusable, by reason.", "counter");
    lines("frames_unfit_total", "reason=\"too_long\",",
          [](const Totals& t) { return t.port.too_long; });
    lines("frames_unfit_total", "reason=\"too_short\",",
          [](const Totals& t) { return t.port.too_short; });
    lines("frames_unfit_total", "reason=\"malformed\",",
          [](const Totals& t) { return t.port.malformed; });
    lines("frames_unfit_total", "reason=\"segmented\",",
          [](const Totals& t) { return t.port.segmented; });
    counter("frames_taken_apart_total", "Merged frames that were split into their segments.",
            [](const Totals& t) { return t.port.taken_apart; });
    counter("frames_unsummed_total", "Frames accepted without checksum, as sent by this machine.",
            [](const Totals& t) { return t.port.left_out; });
    counter("read_errors_total", "Failed reads.",
            [](const Totals& t) { return t.port.read_errors; });
    counter("frames_forwarded_total", "Frames forwarded to the shard of their flow.",
            [](const Totals& t) { return t.shard.forwarded; });
    counter("frames_given_total", "Frames forwarded from other shards.",
            [](const Totals& t) { return t.shard.given; });
    counter("frames_announced_total",
            "Copies of frames for all shards (ARP, ICMP) given to other shards.",
            [](const Totals& t) { return t.shard.announced; });
    counter("frames_ring_full_total", "Frames lost because a ring between shards was full.",
            [](const Totals& t) { return t.shard.lost; });
  }

  void add_loop() {
    counter("loop_turns_total", "Turns of the loop.", [](const Totals& t) { return t.loop.turns; });
    counter("loop_worked_total", "Turns of the loop that had work.",
            [](const Totals& t) { return t.loop.worked; });
    counter("loop_sleeps_total", "Sleeps of the loop.",
            [](const Totals& t) { return t.loop.slept; });
    head("processor_seconds_total", "Processor time of the shard's thread.", "counter");
    lines("processor_seconds_total", "", [](const Totals& t) { return seconds_text(t.processor); });
    gauge("connections_time_wait", "Connections in TIME-WAIT.",
          [](const Totals& t) { return t.time_wait; });
    counter("journal_bytes_total", "Octets of the journal.",
            [](const Totals& t) { return t.journal_bytes; });
  }

  const std::vector<Totals>& shards_;
};

}  // namespace lockstep::tools
