// Test helper: feeds the referee a connection, segment by segment, in relative sequence numbers.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/checkers/referee/referee.hpp"

namespace lockstep::sim::referee {

// One segment. Numbers default to zero, options to absent.
struct Say {
  std::uint32_t seq = 0;  // 0 is the sender's SYN, 1 its first octet
  std::uint32_t ack = 0;
  std::uint32_t text = 0;
  std::uint32_t cut = 0;       // further octets of payload, which were not captured
  std::uint32_t after_ms = 1;  // since the previous segment
  std::uint32_t after_us = 0;  // added to after_ms
  std::uint16_t window = 10'000;
  std::uint16_t mss = 0;
  int scale = -1;
  bool sack_permitted = false;
  std::uint32_t stamp = 0;
  std::uint32_t echo = 0;
  bool stamped = false;  // it has a timestamp, even if `stamp` is 0
  std::vector<std::pair<std::uint32_t, std::uint32_t>> sack = {};
  std::uint16_t urgent = 0;
  std::uint8_t ecn = 0;
  std::uint8_t reserved = 0;
  std::uint8_t hop_limit = 64;
  std::uint16_t identification = 0;
  std::uint8_t octet = 7;              // the value of every payload octet
  std::vector<std::uint8_t> raw = {};  // raw option octets, in addition to the options above
  bool options_good = true;
  Sum sum = Sum::good;
  Sum ip_sum = Sum::good;
  bool copy = false;
  bool own = false;
  std::uint32_t network = 0;
};

class Conversation {
 public:
  static constexpr std::uint32_t iss_a = 0xffff'fff0;
  static constexpr std::uint32_t iss_b = 0x7fff'fff0;

  explicit Conversation(const Terms& terms = {})
      : terms_(terms), violations_(terms.violations_max), referee_(terms, violations_) {}

  // Flags are letters: S F R A P U E C.
  Conversation& a(std::string_view flags, const Say& say) { return add(flags, say, true); }
  Conversation& b(std::string_view flags, const Say& say) { return add(flags, say, false); }
  // From now on `a` sends from this port.
  Conversation& from_port(std::uint16_t port) {
    port_ = port;
    return *this;
  }

  // SYN, SYN-ACK, ACK with the same options on both SYNs; takes 20 ms.
  Conversation& open(const Say& options = {}) {
    Say syn = options;
    a("S", syn);
    syn.ack = 1;
    syn.after_ms = 10;
    syn.echo = options.stamp;
    b("SA", syn);
    Say ack;
    ack.seq = ack.ack = 1;
    ack.after_ms = 10;
    ack.stamp = ack.echo = options.stamp;
    ack.network = options.network;
    return a("A", ack);
  }

  // The most certain finding of a rule: "certain", "likely", "note" or "no". If there is one, the
  // same segments are played again with the rule off, where it must not be found.
  std::string_view found(Rule rule) {
    referee_.end();
    std::string_view const out = surest(violations_, rule);
    auto& seen = Seen::of(rule);
    (out == "no" ? seen.passed : seen.tripped) = true;
    if (out != "no") {
      Terms without = terms_;
      without.without = static_cast<std::uint32_t>(rule);
      Conversation again(without);
      for (Line const& line : lines_) {
        again.from_port(line.port).add(line.flags, line.say, line.from_a);
      }
      again.referee_.end();
      return surest(again.violations_, rule) == "no" ? out : "found, though the rule is off";
    }
    return out;
  }
  // For each rule, whether any test of this process has seen it broken, and obeyed.
  struct Seen {
    bool tripped = false;
    bool passed = false;

    static Seen& of(Rule rule) {
      static std::array<Seen, rule_count> all{};
      return all[static_cast<std::uint32_t>(rule)];
    }
  };
  // Another connection's SYN this long before.
  Conversation& recorded_early(std::uint32_t ms = 64'000) {
    std::uint16_t const port = port_;
    from_port(9'999).a("S", {.own = false}).from_port(port);
    now_ = now_ + Duration::milliseconds(ms);
    return *this;
  }
  // The rule names of all findings, in order.
  std::vector<std::string_view> all() {
    referee_.end();
    std::vector<std::string_view> out;
    for (Violation const& violation : violations_.kept()) {
      out.push_back(text_of(violation.rule).name);
    }
    return out;
  }
  const Violations& violations() const { return violations_; }
  Referee& referee() { return referee_; }

 private:
  struct Line {
    std::string_view flags;  // a string literal of the caller
    Say say;
    bool from_a = false;
    std::uint16_t port = 0;
  };

  static std::string_view surest(const Violations& violations, Rule rule) {
    constexpr std::array<std::string_view, 4> words{"certain", "likely", "note", "no"};
    std::size_t best = words.size() - 1;
    for (Violation const& violation : violations.kept()) {
      auto const sure = static_cast<std::size_t>(violation.certainty());
      best = violation.rule == rule ? std::min(best, sure) : best;
    }
    return words[best];
  }

  static wire::Flags flags_of(std::string_view letters) {
    wire::Flags out;
    for (char const letter : letters) {
      constexpr std::string_view order = "FSRPAUEC";
      out.bits = static_cast<std::uint8_t>(out.bits | 1u << order.find(letter));
    }
    return out;
  }

  void put_options(const Say& say, bool from_a, wire::Options& out) {
    out.has_mss = say.mss != 0;
    out.mss = say.mss;
    out.has_window_scale = say.scale >= 0;
    out.window_scale = {static_cast<std::uint8_t>(say.scale < 0 ? 0 : say.scale)};
    out.has_sack_permitted = say.sack_permitted;
    out.has_timestamps = say.stamped || say.stamp != 0;
    out.timestamp_value = say.stamp;
    out.timestamp_echo = say.echo;
    for (auto const& [begin, end] : say.sack) {
      std::uint32_t const base = from_a ? iss_b : iss_a;
      out.sack[out.sack_count++] = {{base + begin}, {base + end}};
    }
  }

  Conversation& add(std::string_view flags, const Say& say, bool from_a) {
    lines_.push_back({flags, say, from_a, port_});
    Endpoint const a{IpAddress::v4(10, 0, 0, 1), {port_}};
    Endpoint const b{IpAddress::v4(10, 0, 0, 2), {80}};
    now_ = now_ + Duration::milliseconds(say.after_ms) + Duration::microseconds(say.after_us);
    text_.assign(say.text, std::byte{say.octet});
    raw_.clear();
    for (std::uint8_t const octet : say.raw) {
      raw_.push_back(std::byte{octet});
    }
    Sighting said;
    said.packet = ++packets_;
    said.at = now_;
    said.source = from_a ? a : b;
    said.destination = from_a ? b : a;
    said.segment.sequence = {(from_a ? iss_a : iss_b) + say.seq};
    said.segment.flags = flags_of(flags);
    if (said.segment.flags.ack()) {
      said.segment.acknowledgment = {(from_a ? iss_b : iss_a) + say.ack};
    }
    said.segment.window = {say.window};
    said.segment.urgent = say.urgent;
    said.segment.payload = text_;
    said.cut = {say.cut};
    put_options(say, from_a, said.segment.options);
    said.options = raw_;
    said.options_good = say.options_good;
    said.reserved = say.reserved;
    said.ecn = say.ecn;
    said.hop_limit = say.hop_limit;
    said.identification = say.identification;
    said.sum = say.sum;
    said.ip_sum = say.ip_sum;
    said.copy = say.copy;
    said.network = say.network;
    if (say.own) {
      Allowances own;
      own.unsent = false;
      own.lone_marks = false;
      referee_.see_own(said, own);
    } else {
      referee_.see(said);
    }
    return *this;
  }

  Terms terms_;
  std::vector<Line> lines_;
  Violations violations_;
  Referee referee_;
  std::uint16_t port_ = 1'000;
  Instant now_ = Instant{} + Duration::seconds(1'000);
  std::uint64_t packets_ = 0;
  std::vector<std::byte> text_;
  std::vector<std::byte> raw_;
};

}  // namespace lockstep::sim::referee
