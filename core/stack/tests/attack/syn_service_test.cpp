// Service for honest clients under spoofed SYNs: low rates for an hour, and floods.
#include <gtest/gtest.h>

#include <map>

#include "core/stack/testing/test_kit.hpp"

namespace lockstep::testing {
namespace {

// A server that answers each request and closes, clients that each send one request, and an
// attacker that sends SYNs with addresses of hosts that do not exist. Time advances in equal steps.
class Service : public Kit {
 public:
  static constexpr Duration round_trip = Duration::milliseconds(50);

  explicit Service(const Config& config) : Kit(config) {
    auto_consume = false;
    on_event = [this](const Event& event) { serve(event); };
    Local local;
    local.port = {device_port};
    ListenerId listener;
    // As for a web server: only the pools limit it.
    EXPECT_EQ(stack.listen(local, {Count{65'536}, Count::unlimited()}, listener), Refusal::none);
  }

  struct Rates {
    std::uint32_t clients = 0;  // per second
    std::uint32_t spoofed = 0;  // per second
  };

  void run(Duration length, Duration step, Rates rates) {
    Instant const end = now + length;
    std::uint64_t const steps = 1'000'000'000 / step.ns;
    for (std::uint64_t i = 0; now < end; ++i, now = now + step) {
      std::uint64_t const turn_of_second = i % steps;
      spoof(share(rates.spoofed, turn_of_second, steps));
      for (std::uint32_t k = share(rates.clients, turn_of_second, steps); k != 0; --k) {
        begin();
      }
      speak();
      exchange();
    }
  }

  std::uint32_t begun = 0;
  std::uint32_t served = 0;
  std::uint32_t refused = 0;  // by a reset

 private:
  struct Client {
    std::uint32_t ack = 0;  // the server's next octet, as on the wire; 0: nothing received
    std::uint32_t seq = 1;
    std::uint32_t stamp = 0;  // the server's
    bool stamps = false;
    bool acknowledges = false;
    bool asked = false;
    bool over = false;
    Instant due = Instant::never();
  };

  static std::uint32_t share(std::uint32_t rate, std::uint64_t at, std::uint64_t steps) {
    return static_cast<std::uint32_t>(rate * (at + 1) / steps - rate * at / steps);
  }

  void serve(const Event& event) {
    if (event.kind == EventKind::received && !read(event.id).empty()) {
      static_cast<void>(stack.write(event.id, bytes_of("answer"), More::no));
      static_cast<void>(stack.close(event.id));
    }
  }

  void spoof(std::uint32_t count) {
    for (; count != 0; --count, ++spoofed_) {
      wire::Segment s;
      s.source = {static_cast<std::uint16_t>(1024 + spoofed_ % 50'000)};
      s.destination = {device_port};
      s.sequence = {spoofed_ * 2'654'435'761u};
      s.flags = flag::syn;
      s.window = {65535};
      s.options.has_mss = true;
      s.options.mss = 1460;
      send_from(0xc612'0000u + spoofed_ % 131'071, s, "");
    }
  }

  // A separate address for each client, as from many networks.
  void begin() {
    std::uint32_t const address = 0x0b00'0000u + begun++;
    clients_[address] = Client{};
    wire::Segment s;
    s.source = {peer_port};
    s.destination = {device_port};
    s.sequence = {1000};
    s.flags = flag::syn;
    s.window = {65535};
    s.options.has_mss = true;
    s.options.mss = 1460;
    s.options.has_timestamps = true;
    s.options.timestamp_value = stamp_now();
    s.options.has_sack_permitted = true;
    s.options.has_window_scale = true;
    s.options.window_scale.shift = 7;
    send_from(address, s, "");
  }

  // The segments that the clients send by now.
  void speak() {
    for (auto at = clients_.begin(); at != clients_.end();) {
      Client& client = at->second;
      if (client.due <= now) {
        client.due = Instant::never();
        wire::Segment s;
        s.source = {peer_port};
        s.destination = {device_port};
        s.sequence = {1000 + client.seq};
        s.acknowledgment = {client.ack};
        s.flags = client.over ? flag::fin | flag::ack : flag::ack;
        s.window = {512};
        s.options.has_timestamps = client.stamps;
        s.options.timestamp_value = stamp_now();
        s.options.timestamp_echo = client.stamp;
        std::string const data = client.asked ? "" : "ask";
        client.asked = true;
        client.seq += static_cast<std::uint32_t>(data.size());
        send_from(at->first, s, data);
        at = client.over ? clients_.erase(at) : std::next(at);
      } else {
        ++at;
      }
    }
  }

  // Delivers all that was sent in this step, in bursts.
  void exchange() {
    auto frames = std::exchange(arriving(), {});
    for (std::size_t from = 0; from == 0 || from < frames.size(); from += burst) {
      for (std::size_t i = from; i < std::min(from + burst, frames.size()); ++i) {
        send_packet(std::move(frames[i]));
      }
      turn();
      for (Out const& out : take()) {
        hear(out);
      }
    }
  }

  void hear(const Out& out) {
    auto const found = clients_.find(out.tuple.remote.address.as_v4().value);
    if (found == clients_.end()) {
      return;
    }
    Client& client = found->second;
    if (out.flags.rst()) {
      ++refused;
      clients_.erase(found);
      return;
    }
    client.stamps = client.stamps || (out.flags.syn() && out.options.has_timestamps);
    client.stamp = out.options.timestamp_value;
    std::uint32_t const begin = out.absolute.value;
    if (out.flags.syn() && client.ack == 0) {
      client.ack = begin + 1;
      client.due = now + round_trip;
    } else if (begin == client.ack && (!out.data.empty() || out.flags.fin())) {
      client.ack += static_cast<std::uint32_t>(out.data.size()) + (out.flags.fin() ? 1 : 0);
      client.over = out.flags.fin();
      client.due = client.over ? now + round_trip : client.due;
      served += out.data == "answer" ? 1 : 0;
    }
  }

  void send_from(std::uint32_t address, const wire::Segment& s, const std::string& data) {
    peer = IpAddress::from(Ipv4{address});
    send_segment(s, data);
  }

  std::uint32_t stamp_now() const { return static_cast<std::uint32_t>(now.ns / 1'000'000); }

  static constexpr std::size_t burst = 60;
  std::uint32_t spoofed_ = 0;
  std::map<std::uint32_t, Client> clients_;
};

// The promise is nine of ten; on a path without loss every client is served.
void expect_served(const Service& service, const char* when) {
  EXPECT_GE(service.served * 100ull, service.begun * 99ull) << when;
  EXPECT_EQ(service.refused, 0u) << when;
}

// Even a few SYNs per second eventually fill any table, because their handshakes never complete.
//= rfc4987#3.5
//= type=test
//# 4987:SYN-4 the resources of spoofed SYNs are limited, the rest is left to honest clients
TEST(SynService, ContinuesUnderALowRateForAnHour) {
  for (std::uint32_t const spoofed : {5u, 30u}) {
    Service service(bare_config());
    service.run(Duration::seconds(3600), Duration::milliseconds(200), {1, spoofed});
    EXPECT_GE(service.begun, 3600u);
    expect_served(service, spoofed == 5 ? "5 SYNs a second" : "30 SYNs a second");
  }
}

//= rfc4987#3.6
//= type=test
//# 4987:SYN-5 during a flood, and after it
TEST(SynService, ContinuesUnderAFloodAndAfterIt) {
  for (std::uint32_t const spoofed : {500u, 10'000u}) {
    Service service(bare_config());
    service.run(Duration::seconds(30), Duration::milliseconds(10), {100, spoofed});
    expect_served(service, "during");
    service.run(Duration::seconds(60), Duration::milliseconds(10), {100, 0});
    EXPECT_GE(service.begun, 9000u);
    expect_served(service, "after");
  }
}

// The same with few records: SYNs of unverified hosts do not take the records of verified clients.
TEST(SynService, HasRecordsForVerifiedClients) {
  Config config = bare_config();
  config.tcp.connections_max = Count{32};
  config.tcp.active_max = Count{32};
  Service service(config);
  service.run(Duration::seconds(200), Duration::milliseconds(10), {40, 100});
  expect_served(service, "with 32 records");
}

// connect() finds space as well: the oldest half-open connection is evicted, and never an
// established one.
TEST(SynService, MakesSpaceForConnect) {
  Config config = bare_config();
  config.tcp.connections_max = Count{8};
  config.tcp.active_max = Count{8};
  Kit kit(config);
  kit.accept_connection();
  Open open;
  open.remote = {IpAddress::v4(10, 0, 0, 9), {443}};
  ConnectionId id;
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(kit.stack.connect(open, id), Refusal::none);
  }
  for (std::uint8_t host = 20; host < 24; ++host) {
    kit.peer = IpAddress::v4(10, 0, 0, host);
    kit.deliver({.flags = flag::syn, .mss = 1460});
    EXPECT_EQ(kit.state(), State::syn_received);
  }
  ASSERT_EQ(kit.stack.pools().connections, 8u);
  // None is evicted while the first SYN-ACK may still be answered.
  EXPECT_EQ(kit.stack.connect(open, id), Refusal::no_room);
  kit.advance(Duration::seconds(1));
  for (std::uint8_t host = 20; host < 24; ++host) {
    kit.peer = IpAddress::v4(10, 0, 0, host);
    EXPECT_EQ(kit.state(), State::syn_received);
    ASSERT_EQ(kit.stack.connect(open, id), Refusal::none);
    EXPECT_EQ(kit.state(), State::closed);
  }
  EXPECT_EQ(kit.stack.connect(open, id), Refusal::no_room);
  kit.turn();
  kit.peer = IpAddress::v4(10, 0, 0, 2);
  EXPECT_EQ(kit.state(), State::established);
}

// Cookies only, whose ACKs may be repeated: however many were used, the next one is valid.
//= rfc4987#3.6
//= type=test
//# 4987:SYN-5 a cookie stays valid for its client, whatever happens to others
TEST(SynService, WithCookiesOnlyServesEveryClient) {
  Config config = bare_config();
  config.tcp.syn_cookies = tcp::SynCookies::always;
  config.tcp.time_wait_max = Count{256};
  Service service(config);
  service.run(Duration::seconds(60), Duration::milliseconds(10), {100, 0});
  EXPECT_GE(service.begun, 6000u);
  expect_served(service, "by cookies");
}

}  // namespace
}  // namespace lockstep::testing
