// The kit for tests of data streams: octets depend on their position, so every segment is checked.
#pragma once

#include <string>
#include <vector>

#include "core/stack/testing/test_kit.hpp"

namespace lockstep::testing {

// The octet at relative sequence number `at` of a stream (the first one has number 1).
inline char octet_at(std::uint32_t at) {
  std::uint32_t const mixed = at * 2654435761u;
  return static_cast<char>(mixed >> 24 ^ mixed >> 13);
}

inline std::string octets(std::uint32_t from, std::uint32_t count) {
  std::string out(count, '\0');
  for (std::uint32_t i = 0; i < count; ++i) {
    out[i] = octet_at(from + i);
  }
  return out;
}

// The kit's configuration with the settings that most window tests need.
inline Config flow_config() {
  Config config = kit_config();
  config.tcp.send_buffer = Bytes{1 << 20};
  return config;
}

struct Peer {
  std::uint16_t mss = 1000;
  std::uint16_t window = 65535;
  Duration round_trip{};    // of the handshake: below a second
  bool sack = false;        // SACK-permitted
  std::uint32_t stamp = 0;  // its timestamp; 0: no timestamps
};

class Flow : public Kit {
 public:
  explicit Flow(const Config& config = flow_config(), Peer with = {}) : Kit(config) {
    window = with.window;
    open(with);
  }
  void open(Peer with) {
    stamp = with.stamp;
    listen();
    deliver(
        {.flags = flag::syn, .window = with.window, .mss = with.mss, .sack_permitted = with.sack});
    advance(with.round_trip);
    deliver({.flags = flag::ack, .seq = 1, .ack = 1, .window = with.window});
    ASSERT_EQ(state(), State::established);
    ASSERT_EQ(sent(), "SA 0(0) ack 1");
  }

  // The application writes the next `count` octets of the stream.
  void write_octets(std::uint32_t count, More more = More::no) {
    auto const data = octets(written + 1, count);
    Taken const taken = stack.write(id, bytes_of(data), more);
    ASSERT_EQ(taken.bytes.count, count);
    written += count;
    turn();
  }
  // The peer acknowledges all before `number`, by an ACK without data.
  void ack(std::uint32_t number) {
    acked = number;
    deliver({.flags = flag::ack, .seq = peer_next, .ack = number, .window = window});
  }
  void ack_with_window(std::uint32_t number, std::uint16_t offered) {
    window = offered;
    ack(number);
  }
  // As ack(), with SACK blocks.
  void sack(std::uint32_t number, std::vector<std::pair<std::uint32_t, std::uint32_t>> blocks) {
    acked = number;
    deliver({.flags = flag::ack,
             .seq = peer_next,
             .ack = number,
             .window = window,
             .sack = std::move(blocks)});
  }
  // Delivers duplicates of the last ACK, each in a separate turn.
  void duplicates(std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      ack(acked);
    }
  }
  // The peer sends `count` octets of its stream, from relative number `from`.
  void data(std::uint32_t from, std::uint32_t count) {
    deliver({.flags = flag::ack,
             .seq = from,
             .ack = acked,
             .data = octets(from, count),
             .window = window});
  }
  // What was sent since the last call: "number+octets", "F" with a FIN, "A" for a bare ACK. Fails
  // if an octet differs from what was written.
  std::string segments() {
    std::string out;
    for (Out const& segment : take()) {
      EXPECT_EQ(segment.data, octets(segment.seq, length_of(segment))) << "at " << segment.seq;
      bool const bare = segment.data.empty() && !segment.flags.fin();
      out += out.empty() ? "" : " ";
      out += bare ? "A" : std::to_string(segment.seq) + "+" + std::to_string(segment.data.size());
      out += segment.flags.fin() ? "F" : "";
    }
    return out;
  }
  std::uint32_t cwnd() const { return info().cwnd.count; }
  std::uint32_t ssthresh() const { return info().ssthresh.count; }
  std::uint32_t flight() const { return info().send.nxt.since(info().send.una).count; }
  // Advances to the retransmission timeout; the timer must be running.
  void time_out() {
    ASSERT_FALSE(info().retransmit_due.is_never());
    advance(info().retransmit_due.since(now));
  }

  static std::uint32_t length_of(const Out& out) {
    return static_cast<std::uint32_t>(out.data.size());
  }

  std::uint32_t written = 0;
  std::uint32_t acked = 1;
  std::uint32_t peer_next = 1;
  std::uint16_t window = 65535;
};

}  // namespace lockstep::testing
