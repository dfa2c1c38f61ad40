// Every drop reason of TCP, each reached by a minimal segment.
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "core/stack/testing/test_kit.hpp"

namespace lockstep::testing {
namespace {

using Reach = std::function<void(Kit&)>;

Reach segment_in(State state, const In& in) {
  return [=](Kit& kit) {
    kit.socket_in(state);
    kit.deliver(in);
  };
}

Reach segment_to_nobody(const In& in) {
  return [=](Kit& kit) { kit.deliver(in); };
}

Reach segment_to_a_listener(const In& in) {
  return [=](Kit& kit) {
    kit.listen();
    kit.deliver(in);
  };
}

// A data segment in ESTABLISHED with one octet of its packet changed.
Reach corrupted(std::size_t at, std::uint8_t value) {
  return [=](Kit& kit) {
    kit.socket_in(State::established);
    kit.send({.flags = flag::ack, .seq = 1, .ack = 1, .data = "data"});
    kit.arriving().back()[at] = static_cast<std::byte>(value);
    kit.turn();
    EXPECT_EQ(kit.state(), State::established);
    EXPECT_EQ(kit.received, "");
  };
}

void cut_short(Kit& kit) {
  std::vector<std::byte> packet(20 + 19);
  wire::Ipv4Header ip;
  ip.source = kit.peer;
  ip.destination = kit.device;
  ip.protocol = wire::IpProtocol::tcp;
  ip.time_to_live = 64;
  static_cast<void>(wire::write(ip, Bytes{19}, packet));
  kit.send_packet(packet);
  kit.turn();
}

void bad_option(Kit& kit) {
  kit.listen();
  kit.send({.flags = flag::syn, .mss = 1460});
  kit.arriving().back()[41] = std::byte{0};
  kit.turn();
}

void port_zero(Kit& kit) {
  wire::Segment s;
  s.destination = {80};
  s.flags = flag::syn;
  kit.send_segment(s, "");
  kit.turn();
}

void to_a_group(Kit& kit) {
  kit.listen();
  IpAddress const own = kit.device;
  kit.device = IpAddress::v4(10, 0, 0, 255);
  kit.deliver({.flags = flag::syn, .mss = 1460});
  kit.device = own;
}

void listener_full(Kit& kit) {
  Local local;
  local.port = {Kit::device_port};
  ListenerId listener;
  ASSERT_EQ(kit.stack.listen(local, {Count{0}, Count{0}}, listener), Refusal::none);
  kit.deliver({.flags = flag::syn, .mss = 1460});
}

void after_close(Kit& kit) {
  kit.socket_in(State::established);
  ASSERT_EQ(kit.stack.close(kit.id), Refusal::none);
  kit.turn();
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 2, .data = "late"});
}

void beyond_the_window(Kit& kit) {
  kit.auto_consume = false;
  kit.socket_in(State::established);
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1, .data = "full"});
  kit.deliver({.flags = flag::ack, .seq = 5, .ack = 1, .data = "more"});
}

void two_gaps(Kit& kit) {
  kit.socket_in(State::established);
  kit.deliver({.flags = flag::ack, .seq = 10, .ack = 1, .data = "a"});
  kit.deliver({.flags = flag::ack, .seq = 20, .ack = 1, .data = "b"});
}

void store_full(Kit& kit) {
  kit.auto_consume = false;
  kit.socket_in(State::established);
  // The first one is accepted up to the end of a block, the second one not at all.
  for (int i = 0; i < 2; ++i) {
    kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1, .data = std::string(1400, 'x')});
  }
}

struct Case {
  Reach reach;
  std::function<void(Config&)> prepare = [](Config&) {};
};

std::map<Drop, Case> refused_before_a_state() {
  return {
      {Drop::tcp_too_short, {cut_short}},
      {Drop::tcp_data_offset, {corrupted(32, 0x40)}},
      {Drop::tcp_checksum, {corrupted(40, 'D')}},
      {Drop::tcp_option_malformed, {bad_option}},
      {Drop::tcp_port_zero, {port_zero}},
      {Drop::tcp_to_group, {to_a_group}},
      {Drop::tcp_closed_reset, {segment_to_nobody({.flags = flag::rst})}},
      {Drop::tcp_closed, {segment_to_nobody({.flags = flag::ack})}},
      {Drop::tcp_closed_silent,
       {segment_to_nobody({.flags = flag::syn}),
        [](Config& config) { config.tcp.closed_silent = Count{1}; }}},
      {Drop::tcp_syn_fin,
       {segment_to_a_listener({.flags = flag::syn | flag::fin, .mss = 1460}),
        [](Config& config) { config.tcp.syn_fin_dropped = true; }}},
      {Drop::tcp_listen_reset, {segment_to_a_listener({.flags = flag::rst})}},
      {Drop::tcp_listen_ack, {segment_to_a_listener({.flags = flag::ack})}},
      {Drop::tcp_listen_other, {segment_to_a_listener({.flags = flag::fin})}},
      {Drop::tcp_listen_full, {listener_full}},
      {Drop::tcp_connections_full,
       {[](Kit& kit) {
          kit.socket_in(State::syn_received);
          kit.peer = IpAddress::v4(10, 0, 0, 3);
          kit.deliver({.flags = flag::syn, .mss = 1460});
        },
        [](Config& config) { config.tcp.connections_max = Count{1}; }}},
      {Drop::tcp_quiet_time,
       {segment_to_a_listener({.flags = flag::syn, .mss = 1460}),
        [](Config& config) { config.tcp.quiet_time = Duration::seconds(86'400); }}},
      {Drop::tcp_syn_sent_ack, {segment_in(State::syn_sent, {.flags = flag::ack, .ack = 9})}},
      {Drop::tcp_syn_sent_reset, {segment_in(State::syn_sent, {.flags = flag::rst})}},
      {Drop::tcp_syn_sent_other, {segment_in(State::syn_sent, {.flags = flag::ack, .ack = 1})}},
  };
}

// A connection at timestamp 100; then a segment with this timestamp, or without one.
std::function<void(Kit&)> stamped_then(std::uint32_t stamp) {
  return [stamp](Kit& kit) {
    kit.stamp = 100;
    kit.accept_connection();
    kit.stamp = stamp;
    kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1, .data = "x"});
  };
}

void speak_timestamps(Config& config) { config.tcp.timestamps = true; }

std::map<Drop, Case> refused_by_a_connection() {
  State const open = State::established;
  return {
      {Drop::tcp_timestamp_missing, {stamped_then(0), speak_timestamps}},
      {Drop::tcp_timestamp_old, {stamped_then(99), speak_timestamps}},
      {Drop::tcp_cookie_unproven,
       {[](Kit& kit) {
          kit.listen();
          kit.deliver({.flags = flag::syn, .mss = 1460});
          kit.deliver({.flags = flag::ack, .seq = 2, .ack = 1});
        },
        [](Config& config) { config.tcp.syn_cookies = tcp::SynCookies::always; }}},
      {Drop::tcp_out_of_window, {segment_in(open, {.flags = flag::ack, .seq = 0, .ack = 1})}},
      {Drop::tcp_reset_outside, {segment_in(open, {.flags = flag::rst, .seq = 0})}},
      {Drop::tcp_reset_challenged, {segment_in(open, {.flags = flag::rst, .seq = 2})}},
      {Drop::tcp_reset_time_wait,
       {segment_in(State::time_wait, {.flags = flag::rst, .seq = 2}),
        [](Config& config) { config.tcp.time_wait_ignores_reset = true; }}},
      {Drop::tcp_syn_challenged, {segment_in(open, {.flags = flag::syn, .seq = 2})}},
      {Drop::tcp_syn_received_syn,
       {segment_in(State::syn_received, {.flags = flag::syn, .seq = 2})}},
      {Drop::tcp_syn_in_window,
       {segment_in(open, {.flags = flag::syn, .seq = 2}),
        [](Config& config) { config.tcp.reset_policy = tcp::ResetPolicy::rfc793; }}},
      {Drop::tcp_no_ack, {segment_in(open, {.flags = flag::none, .seq = 1, .data = "x"})}},
      {Drop::tcp_syn_received_ack,
       {segment_in(State::syn_received, {.flags = flag::ack, .seq = 1, .ack = 9})}},
      {Drop::tcp_ack_too_old,
       {segment_in(open, {.flags = flag::ack, .seq = 1, .ack = 1u - 65536})}},
      {Drop::tcp_ack_of_unsent, {segment_in(open, {.flags = flag::ack, .seq = 1, .ack = 2})}},
      {Drop::tcp_closing_ack,
       {segment_in(State::closing, {.flags = flag::ack, .seq = 2, .ack = 1})}},
      {Drop::tcp_time_wait_other,
       {segment_in(State::time_wait, {.flags = flag::ack, .seq = 2, .ack = 2})}},
      {Drop::tcp_data_after_fin,
       {segment_in(State::close_wait, {.flags = flag::ack, .seq = 2, .ack = 1, .data = "x"})}},
      {Drop::tcp_data_after_close, {after_close}},
      {Drop::tcp_data_beyond_window,
       {beyond_the_window, [](Config& config) { config.tcp.receive_buffer = Bytes{4}; }}},
      {Drop::tcp_out_of_order_refused,
       {two_gaps, [](Config& config) { config.tcp.extents_per_connection = Count{1}; }}},
      {Drop::tcp_store_full,
       {store_full,
        [](Config& config) {
          config.tcp.block_bytes = Bytes{64};
          config.tcp.blocks_max = Count{8};
          config.tcp.reserve_blocks = Count{0};
        }}},
  };
}

void check(Drop drop, const Case& c) {
  SCOPED_TRACE(std::string(name_of(drop)));
  Config config = kit_config();
  c.prepare(config);
  ASSERT_EQ(fault_of(config), "");
  Kit kit(config);
  c.reach(kit);
  EXPECT_EQ(kit.drops(drop), 1u);
  for (std::uint32_t i = 0; i < drop_count; ++i) {
    EXPECT_TRUE(static_cast<Drop>(i) == drop || kit.drops(static_cast<Drop>(i)) == 0)
        << name_of(static_cast<Drop>(i));
  }
}

TEST(Drops, EachOfTcpIsReached) {
  auto const before = refused_before_a_state();
  auto const by_state = refused_by_a_connection();
  for (std::uint32_t i = 0; i < drop_count; ++i) {
    auto const drop = static_cast<Drop>(i);
    if (!name_of(drop).starts_with("tcp_")) {
      continue;
    }
    EXPECT_EQ(before.count(drop) + by_state.count(drop), 1u) << name_of(drop);
  }
  for (auto const& [drop, c] : before) {
    check(drop, c);
  }
  for (auto const& [drop, c] : by_state) {
    check(drop, c);
  }
}

// Replies without a connection are bounded: one too many is dropped and counted.
TEST(Drops, ReplyQueueFull) {
  Config config = kit_config();
  config.reply_bytes = Bytes{4096};
  config.burst_frames = Count{256};
  Kit kit(config);
  for (int i = 0; i < 256; ++i) {
    kit.send({.flags = flag::ack});
  }
  kit.turn();
  EXPECT_GT(kit.drops(Drop::reply_queue_full), 0u);
  std::size_t const left = kit.take().size();
  EXPECT_EQ(left + kit.drops(Drop::reply_queue_full), 256u);
  EXPECT_EQ(kit.stack.statistics().tcp.resets_sent, left);
  EXPECT_EQ(kit.stack.statistics().tcp.segments_sent, left);
}

TEST(Drops, CookiesThatDoNotFitAreNotCounted) {
  Config config = kit_config();
  config.reply_bytes = Bytes{4096};
  config.burst_frames = Count{256};
  config.tcp.syn_cookies = tcp::SynCookies::always;
  Kit kit(config);
  kit.listen();
  for (std::uint16_t port = 6000; port < 6256; ++port) {
    wire::Segment syn;
    syn.source = {port};
    syn.destination = {Kit::device_port};
    syn.flags = flag::syn;
    syn.window = {65535};
    kit.send_segment(syn, "");
  }
  kit.turn();
  EXPECT_GT(kit.drops(Drop::reply_queue_full), 0u);
  EXPECT_EQ(kit.stack.statistics().tcp.cookies_sent, kit.take().size());
}

//= rfc9293#3.9.2.3
//= type=test
//# 9293:MUST-57 a SYN to a broadcast or multicast address is silently dropped
TEST(Drops, SynToAGroup) {
  for (IpAddress const group : {IpAddress::v4(255, 255, 255, 255), IpAddress::v4(10, 0, 0, 255),
                                IpAddress::v4(224, 0, 0, 1)}) {
    Kit kit;
    kit.listen();
    kit.device = group;
    kit.deliver({.flags = flag::syn, .mss = 1460});
    EXPECT_EQ(kit.sent(), "");
    EXPECT_EQ(kit.stack.statistics().tcp.connections_opened, 0u);
  }
}

//= rfc9293#3.9.2.3
//= type=test
//# 9293:MUST-63, 9293:P-ADDR-ALLSEG a segment from an invalid source is ignored, SYN or not
TEST(Drops, InvalidSource) {
  for (IpAddress const source :
       {IpAddress::v4(0, 0, 0, 0), IpAddress::v4(224, 0, 0, 1), IpAddress::v4(255, 255, 255, 255),
        IpAddress::v4(10, 0, 0, 255), IpAddress::v4(127, 0, 0, 1)}) {
    Kit kit;
    kit.listen();
    kit.peer = source;
    for (Flags flags : {flag::syn, flag::ack, flag::rst, flag::fin | flag::ack}) {
      EXPECT_EQ(kit.drop_of({.flags = flags, .data = "x"}), Drop::ip_source_invalid);
    }
    EXPECT_EQ(kit.sent(), "");
  }
}

//= rfc9293#A.1.2
//= type=test
//# 9293:P-SEC-IGNORE a security option in the IP header has no effect
//= rfc9293#3.9.2
//= type=test
//# 9293:MUST-50 nor does any other unknown option
TEST(Drops, IpOptionsAreSkipped) {
  for (std::uint8_t const kind : {std::uint8_t{130}, std::uint8_t{133}, std::uint8_t{200}}) {
    Kit kit;
    kit.socket_in(State::established);
    kit.send({.flags = flag::ack, .seq = 1, .ack = 1, .data = "secret"});
    auto& packet = kit.arriving().back();
    std::array<std::byte, 12> options{static_cast<std::byte>(kind), std::byte{11}};
    packet.insert(packet.begin() + 20, options.begin(), options.end());
    packet[0] = std::byte{0x48};
    packet[3] = static_cast<std::byte>(packet.size());
    packet[10] = packet[11] = std::byte{0};
    std::uint16_t const sum = wire::sum(std::span(packet).first(32)).checksum();
    packet[10] = static_cast<std::byte>(sum >> 8);
    packet[11] = static_cast<std::byte>(sum & 0xff);
    kit.turn();
    EXPECT_EQ(kit.received, "secret");
    EXPECT_EQ(kit.state(), State::established);
  }
}

}  // namespace
}  // namespace lockstep::testing
