// Two stacks on a path that loses, duplicates, reorders, corrupts and marks packets and reduces its
// MTU: every octet arrives, in each profile, with any previous memory contents.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/stack/stack.hpp"
#include "core/stack/statistics.hpp"
#include "core/stack/testing/test_keys.hpp"
#include "core/units/random.hpp"
#include "core/wire/checksum.hpp"
#include "core/wire/icmp.hpp"
#include "core/wire/ipv4.hpp"

namespace lockstep::testing {
namespace {

using Frame = std::vector<std::byte>;

struct InFlight {
  Instant due;
  std::uint64_t number = 0;
  Frame frame;
  bool later_than(const InFlight& other) const {
    return due != other.due ? due > other.due : number > other.number;
  }
};

struct Weather {
  Probability loss, repeat, reorder, corrupt, mark;
  Duration delay;
  std::uint32_t mtu =
      0xffff;  // of a link on the path, after some time; larger packets are reported
  Instant narrow_from;
};

Probability percent(std::uint64_t hundredths) {
  return {static_cast<std::uint32_t>(hundredths * 100'000)};
}

char octet_of(std::uint32_t side, std::uint32_t at) {
  std::uint32_t const mixed = (at + 1) * 2654435761u + side * 40503u;
  return static_cast<char>(mixed >> 24);
}

// One host: a stack, its data to send, and the data received.
class Side {
 public:
  Side(const Config& config, std::uint32_t number, std::uint32_t total)
      : number_(number),
        total_(total),
        data_(octets(number, total)),
        arena_(noise(Stack::arena_bytes(config) + 64)),
        stack(test_keys(config), aligned()),
        room_(70'000) {}

  void on_event(const Event& event) {
    switch (event.kind) {
      case EventKind::accepted:
      case EventKind::connected:
        id = event.id;
        open = true;
        break;
      case EventKind::received:
        read();
        break;
      case EventKind::peer_finished:
        read();
        peer_finished = true;
        break;
      case EventKind::closed:
        closed = true;
        cause = event.cause;
        break;
      default:
        break;
    }
  }
  void read() {
    for (auto part = stack.readable(id); !part.empty(); part = stack.readable(id)) {
      for (std::byte octet : part) {
        wrong += octet == static_cast<std::byte>(octet_of(1 - number_, got)) ? 0u : 1u;
        ++got;
      }
      stack.consume(id, Bytes{static_cast<std::uint32_t>(part.size())});
    }
  }
  void write() {
    if (!open || closed || finished) {
      return;
    }
    auto const piece = std::span(data_).subspan(put, std::min(20'000u, total_ - put));
    put += stack.write(id, piece, number_ % 2 == 0 ? More::record : More::no).bytes.count;
    if (put == total_) {
      finished = stack.finish(id) == Refusal::none;
    }
  }
  std::span<std::byte> room() { return room_; }

 private:
  // All that the side sends, made once: most of it is offered more than once.
  static std::vector<std::byte> octets(std::uint32_t side, std::uint32_t total) {
    std::vector<std::byte> out(total);
    for (std::uint32_t i = 0; i < total; ++i) {
      out[i] = static_cast<std::byte>(octet_of(side, i));
    }
    return out;
  }
  // Uninitialized memory, simulated by noise.
  static std::vector<std::byte> noise(std::uint64_t bytes) {
    std::vector<std::byte> out(bytes);
    Random draw(bytes);
    for (std::size_t i = 0; i + 8 <= out.size(); i += 8) {
      std::uint64_t const word = draw.next();
      std::memcpy(out.data() + i, &word, 8);
    }
    return out;
  }
  std::span<std::byte> aligned() {
    auto const address = reinterpret_cast<std::uintptr_t>(arena_.data());
    return std::span(arena_).subspan((64 - address % 64) % 64);
  }
  std::uint32_t number_;
  std::uint32_t total_;
  std::vector<std::byte> data_;
  std::vector<std::byte> arena_;

 public:
  Stack stack;
  ConnectionId id;
  std::uint32_t put = 0;
  std::uint32_t got = 0;
  std::uint32_t wrong = 0;
  bool open = false;
  bool finished = false;
  bool peer_finished = false;
  bool closed = false;
  Cause cause = Cause::none;

 private:
  std::vector<std::byte> room_;
};

enum class Profile : std::uint8_t { standard, rfc, like_linux, like_freebsd };

Config config_of(Profile profile) {
  switch (profile) {
    case Profile::rfc:
      return profile_rfc();
    case Profile::like_linux:
      return profile_linux();
    case Profile::like_freebsd:
      return profile_freebsd();
    case Profile::standard:
      break;
  }
  return Config{};
}

// An initial sequence number: any, or one whose stream soon passes 2^31 or 2^32.
Sequence first_number(Random& draw) {
  std::uint32_t const any = static_cast<std::uint32_t>(draw.next());
  std::uint32_t const back = static_cast<std::uint32_t>(draw.below(50'000));
  std::uint64_t const which = draw.below(3);
  return {which == 0 ? any : (which == 1 ? 0x8000'0000u : 0u) - back};
}

Config host(Random& draw, std::uint8_t last) {
  Config config = config_of(static_cast<Profile>(draw.below(4)));
  config.link = LinkType::ip;
  set_mtu(config, Bytes{static_cast<std::uint32_t>(draw.within({100, 9000}))});
  config.addresses[0] = {IpAddress::v4(10, 0, 0, last), 24};
  config.address_count = Count{1};
  tcp::Config& tcp = config.tcp;
  tcp.connections_max = Count{8};
  tcp.active_max = Count{8};
  tcp.time_wait_max = Count{8};
  tcp.blocks_max = Count{256};
  tcp.pieces_max = Count{512};
  tcp.extents_max = Count{64};
  tcp.owed_max = Count{static_cast<std::uint32_t>(1 + draw.below(64))};
  tcp.block_bytes = Bytes{256u << draw.below(4)};
  tcp.reserve_blocks = Count{16};
  tcp.receive_buffer = Bytes{static_cast<std::uint32_t>(draw.within({500, 65'535}))};
  tcp.send_buffer = Bytes{static_cast<std::uint32_t>(draw.within({500, 100'000}))};
  tcp.nagle = draw.below(2) == 0;
  tcp.ack_stretch_after = Bytes{static_cast<std::uint32_t>(draw.below(3) * 20'000)};
  tcp.ack_stretch_segments = Count{static_cast<std::uint32_t>(draw.within({2, 10}))};
  tcp.isn_base = first_number(draw);
  if (draw.below(2) == 0) {
    tcp.ecn = tcp::EcnPolicy::on;
  }
  tcp.user_timeout = Duration{};
  tcp.syn_timeout = Duration{};
  return config;
}

class World {
 public:
  World(std::uint64_t seed, std::uint32_t octets)
      : draw_(seed),
        config_a_(host(draw_, 1)),
        config_b_(host(draw_, 2)),
        a(config_a_, 0, octets),
        b(config_b_, 1, octets) {
    weather_.loss = percent(draw_.below(1000));
    weather_.repeat = percent(draw_.below(500));
    weather_.reorder = percent(draw_.below(1500));
    weather_.corrupt = percent(draw_.below(300));
    weather_.mark = percent(draw_.below(2) == 0 ? 0 : draw_.below(500));
    weather_.delay = Duration::microseconds(draw_.within({10, 60'000}));
    now_ = Instant{} + Duration::seconds(draw_.below(1'000'000));
    bool const heeded = config_a_.tcp.path_mtu_discovery && config_b_.tcp.path_mtu_discovery;
    if (heeded && draw_.below(2) == 0) {
      weather_.mtu = static_cast<std::uint32_t>(draw_.within({600, 1500}));
      weather_.narrow_from = now_ + Duration::milliseconds(draw_.below(2000));
    }
    for (Side* side : {&a, &b}) {
      side->stack.receive(now_, {});
    }
    Local local;
    local.port = {80};
    ListenerId listener;
    EXPECT_EQ(b.stack.listen(local, Backlog{}, listener), Refusal::none);
    Open open;
    open.remote = {IpAddress::v4(10, 0, 0, 2), {80}};
    EXPECT_EQ(a.stack.connect(open, a.id), Refusal::none);
  }

  // Runs until both sides are done, or the time limit is reached. True if they are done.
  bool run() {
    Instant const end = now_ + Duration::seconds(400'000);
    while (now_ < end && !(a.closed && b.closed)) {
      step(a, to_a_, to_b_);
      step(b, to_b_, to_a_);
      Instant next = earlier(a.stack.deadline(), b.stack.deadline());
      for (auto const* path : {&to_a_, &to_b_}) {
        next = path->empty() ? next : earlier(next, path->front().due);
      }
      if (next.is_never()) {
        break;
      }
      now_ = later(now_, next);
    }
    return a.closed && b.closed;
  }
  // Runs until TIME-WAIT and all other state has expired.
  void drain() {
    for (int i = 0; i < 10'000; ++i) {
      step(a, to_a_, to_b_);
      step(b, to_b_, to_a_);
      Instant const next = earlier(a.stack.deadline(), b.stack.deadline());
      if (next.is_never() && to_a_.empty() && to_b_.empty()) {
        return;
      }
      now_ = now_ + Duration::seconds(1);
    }
  }

 private:
  void step(Side& side, std::vector<InFlight>& in, std::vector<InFlight>& out) {
    std::vector<Frame> frames;
    auto const later_first = [](const InFlight& x, const InFlight& y) { return x.later_than(y); };
    while (!in.empty() && in.front().due <= now_ && frames.size() < 32) {
      std::pop_heap(in.begin(), in.end(), later_first);
      frames.push_back(std::move(in.back().frame));
      in.pop_back();
    }
    std::vector<Ingress> burst;
    for (Frame const& frame : frames) {
      burst.push_back({frame, Checksum::unknown, now_});
    }
    side.stack.receive(now_, burst);
    side.stack.expire(now_);
    Event event;
    while (side.stack.next_event(event)) {
      side.on_event(event);
    }
    side.write();
    side.stack.settle();
    // The frames are returned to the driver.
    for (Frame& frame : frames) {
      std::ranges::fill(frame, std::byte{0xdd});
    }
    // The transmit ring has space for a few frames only, sometimes for none.
    auto room = draw_.below(20);
    while (room != 0 && side.stack.wants_transmit()) {
      Egress const egress = side.stack.transmit(now_, side.room());
      if (egress.length == 0) {
        break;
      }
      --room;
      Frame frame{side.room().begin(), side.room().begin() + egress.length};
      if (frame.size() > weather_.mtu && now_ >= weather_.narrow_from && is_whole(frame)) {
        report(frame, in);
      } else {
        carry(std::move(frame), out);
      }
    }
    if (side.stack.wants_transmit()) {
      now_ = now_ + Duration::microseconds(1);
    }
    side.stack.check_invariants();
  }

  // Whether DF is set.
  static bool is_whole(const Frame& frame) { return (frame[6] & std::byte{0x40}) != std::byte{}; }
  // A router on the path drops it and reports the possible size.
  void report(const Frame& dropped, std::vector<InFlight>& back) {
    wire::IcmpMessage message;
    message.type = wire::IcmpType::unreachable;
    message.code = static_cast<std::uint8_t>(wire::Unreachable::fragmentation_needed);
    message.rest = weather_.mtu;
    message.body = std::span(dropped).first(28);
    Frame packet(20 + 8 + 28);
    Bytes const length = wire::write(message, std::span(packet).subspan(20));
    wire::Ipv4Packet quoted;
    ASSERT_EQ(wire::parse(dropped, quoted), Drop::none);
    wire::Ipv4Header ip;
    ip.source = IpAddress::v4(10, 0, 0, 9);
    ip.destination = quoted.header.source;
    ip.protocol = wire::IpProtocol::icmp;
    ip.time_to_live = 64;
    wire::write(ip, length, packet);
    carry(std::move(packet), back);
  }
  // Marks CE if the packet is ECT.
  static void mark(Frame& frame) {
    if ((frame[1] & std::byte{3}) == std::byte{}) {
      return;
    }
    frame[1] |= std::byte{3};
    frame[10] = frame[11] = std::byte{};
    std::uint16_t const sum = wire::sum(std::span(frame).first(20)).checksum();
    frame[10] = static_cast<std::byte>(sum >> 8);
    frame[11] = static_cast<std::byte>(sum);
  }

  void carry(Frame frame, std::vector<InFlight>& out) {
    if (draw_.chance(weather_.loss)) {
      return;
    }
    if (draw_.chance(weather_.mark)) {
      mark(frame);
    }
    if (draw_.chance(weather_.corrupt)) {
      frame[draw_.below(frame.size())] ^= static_cast<std::byte>(1u << draw_.below(8));
    }
    Duration delay = weather_.delay;
    if (draw_.chance(weather_.reorder)) {
      delay = delay + Duration{draw_.below(weather_.delay.ns * 3)};
    }
    int const copies = draw_.chance(weather_.repeat) ? 2 : 1;
    for (int i = 0; i < copies; ++i) {
      out.push_back({now_ + delay, number_++, frame});
      std::push_heap(out.begin(), out.end(),
                     [](const InFlight& x, const InFlight& y) { return x.later_than(y); });
    }
  }

  Random draw_;
  Config config_a_;
  Config config_b_;
  Weather weather_;
  Instant now_;
  std::uint64_t number_ = 0;
  std::vector<InFlight> to_a_;
  std::vector<InFlight> to_b_;

 public:
  Side a;
  Side b;
};

void run_world(std::uint64_t seed, std::uint32_t octets) {
  World world(seed, octets);
  bool const done = world.run();
  for (Side* side : {&world.a, &world.b}) {
    ASSERT_EQ(side->wrong, 0u) << "seed " << seed;
    ASSERT_EQ(side->got, octets) << "seed " << seed << " done " << done;
    ASSERT_EQ(side->cause, Cause::finished) << "seed " << seed;
  }
  ASSERT_TRUE(done) << "seed " << seed;
  world.drain();
  for (Side* side : {&world.a, &world.b}) {
    side->stack.check_invariants();
    ASSERT_TRUE(side->stack.deadline().is_never()) << "seed " << seed;
    ASSERT_FALSE(side->stack.inspect(side->id).exists) << "seed " << seed;
  }
}

// Predecessor, defect 9, loss part: several losses in a window cause no deadlock.
TEST(Stress, NothingIsLostOnABadPath) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    run_world(seed, 60'000);
    if (HasFatalFailure()) {
      return;
    }
  }
}

TEST(Stress, AMegabyteBothWays) {
  for (std::uint64_t seed = 1001; seed <= 1002; ++seed) {
    run_world(seed, 1'000'000);
    if (HasFatalFailure()) {
      return;
    }
  }
}

}  // namespace
}  // namespace lockstep::testing
