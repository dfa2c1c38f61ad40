// Many connections with unread data: those whose application reads at once still receive.
#include <gtest/gtest.h>

#include <initializer_list>
#include <map>
#include <string>

#include "core/stack/testing/flow_kit.hpp"
#include "core/stack/testing/network_kit.hpp"
#include "core/stack/testing/test_kit.hpp"

namespace lockstep::testing {
namespace {

constexpr std::uint32_t full = 1460;

Config on_ip(Config config) {
  config.link = LinkType::ip;
  config.addresses[0] = {IpAddress::v4(10, 0, 0, 1), 24};
  config.address_count = Count{1};
  return config;
}

// A server with peers that send as much as they may to applications that do not read. What arrives
// at port 9000 is read at once.
class Pressure : public Kit {
 public:
  explicit Pressure(const Config& config, std::uint16_t slow) : Kit(test_keys(config)) {
    listen();
    auto_consume = false;
    for (std::uint16_t i = 0; i < slow; ++i) {
      open(static_cast<std::uint16_t>(1000 + i));
      for (int j = 0; j < 44 && info().receive.wnd.count >= full; ++j) {
        data(info().receive.nxt);
        turn();
      }
    }
  }
  void open(std::uint16_t port) {
    port_ = port;
    static_cast<void>(take());
    put(flag::syn, peer_iss, {});
    turn();
    ack_ = take().at(0).absolute.next();
    put(flag::ack, peer_iss.next(), {});
    turn();
  }
  // A connection, to return to.
  struct Place {
    ConnectionId id;
    std::uint16_t port = 0;
    Sequence ack;
  };
  Place place() const { return {id, port_, ack_}; }
  void go_to(const Place& place) {
    id = place.id;
    port_ = place.port;
    ack_ = place.ack;
  }
  void open_reader() {
    on_event = [this](const Event& event) {
      if (event.kind == EventKind::received && event.id.slot == reader.slot) {
        read(event.id);
      }
    };
    open(9000);
    reader = id;
    first = info().receive.nxt;
    received.clear();
  }
  // The segment with this sequence number, in the next turn.
  void data(Sequence at) { put(flag::ack | flag::psh, at, std::string(full, 'x')); }
  // Retransmits the segment at RCV.NXT until `octets` were read; returns how often.
  int retransmissions(std::size_t octets) {
    int count = 0;
    for (; count < 100 && received.size() < octets; ++count) {
      advance(Duration::seconds(3));
      Sequence const next = info().receive.nxt;
      data(first + Bytes{next.since(first).count / full * full});
      turn();
    }
    return count;
  }
  void put(Flags flags, Sequence at, const std::string& octets) {
    wire::Segment s;
    s.source = {port_};
    s.destination = {device_port};
    s.sequence = at;
    s.acknowledgment = flags.ack() ? ack_ : Sequence{};
    s.flags = flags;
    s.window = {window};
    s.options.has_mss = flags.syn();
    s.options.mss = flags.syn() ? full : 0;
    s.options.has_sack_permitted = flags.syn();
    send_segment(s, octets);
  }
  Sequence first;
  ConnectionId reader;
  std::uint16_t window = 65535;

 private:
  std::uint16_t port_ = 0;
  Sequence ack_;
};

class ReceivePressure : public ::testing::TestWithParam<bool> {
 protected:
  static Config config() { return on_ip(GetParam() ? profile_rfc() : Config{}); }
};
INSTANTIATE_TEST_SUITE_P(Profiles, ReceivePressure, ::testing::Bool());

//= rfc9293#3.10.7.4
//= type=test
//# 9293:P-TEXT-RCVNXT a retransmission that fills a gap is accepted, whatever others leave unread
TEST_P(ReceivePressure, ALostSegmentIsAcceptedOnceItArrives) {
  for (std::uint16_t const slow : std::initializer_list<std::uint16_t>{60, 65, 200, 900}) {
    Pressure kit(config(), slow);
    kit.open_reader();
    kit.data(kit.first + Bytes{full});
    kit.turn();
    kit.data(kit.first + Bytes{2 * full});
    kit.turn();
    // One of the three may be accepted in part, as far as a block goes.
    EXPECT_LE(kit.retransmissions(3ul * full), 4) << slow;
    EXPECT_EQ(kit.received.size(), 3ul * full) << slow;
  }
}

// A whole flight arrives in one turn or in several; the application reads in each.
TEST_P(ReceivePressure, AllSegmentsOfABurstAreAccepted) {
  for (std::uint32_t const burst : {2u, 5u, 10u, 44u}) {
    Pressure kit(config(), 200);
    kit.open_reader();
    auto const refused = kit.drops(Drop::tcp_store_full);
    for (std::uint32_t i = 0; i < 44; ++i) {
      kit.data(kit.first + Bytes{full * i});
      if (i % burst == burst - 1 || i == 43) {
        kit.turn();
      }
    }
    EXPECT_EQ(kit.received.size(), 44ul * full) << burst;
    EXPECT_EQ(kit.drops(Drop::tcp_store_full), refused) << burst;
  }
}

// Peers that leave gaps open take no block that data in order needs.
TEST_P(ReceivePressure, DataAboveGapsLeavesRoomForDataInOrder) {
  Pressure kit(config(), 60);
  for (std::uint16_t i = 0; i < 400; ++i) {
    kit.peer = IpAddress::v4(10, 0, 1, static_cast<std::uint8_t>(i));
    kit.open(static_cast<std::uint16_t>(20'000 + i));
    Sequence const next = kit.info().receive.nxt;
    for (std::uint32_t j = 1; j < 32; ++j) {
      kit.data(next + Bytes{full * j});
      kit.turn();
    }
  }
  kit.peer = IpAddress::v4(10, 0, 0, 2);
  kit.open_reader();
  for (std::uint32_t i = 0; i < 44; ++i) {
    kit.data(kit.first + Bytes{full * i});
  }
  kit.turn();
  EXPECT_EQ(kit.received.size(), 44ul * full);
}

// All blocks are in use. A segment in order reaches into data above a gap, which is discarded for
// it, and is accepted as far as blocks are free.
TEST_P(ReceivePressure, ASegmentIntoDataThatIsDiscardedForIt) {
  constexpr std::uint16_t count = 16;
  constexpr std::uint32_t block = 2048;
  Config small = config();
  small.tcp.connections_max = small.tcp.active_max = Count{count};
  small.tcp.blocks_max = Count{80};
  Pressure kit(small, 0);
  kit.window = 0;
  kit.peer_iss = Sequence{1000 * block - 1};
  auto const send = [&](std::uint32_t at, std::uint32_t octets) {
    kit.put(flag::ack | flag::psh, kit.peer_iss.next() + Bytes{at}, std::string(octets, 'x'));
  };
  auto const send_many = [&](std::uint32_t from) {
    for (std::uint32_t i = 0; i < 40; ++i) {
      send(from + i * full, full);
    }
    kit.turn();
  };
  auto const answer = [&] {
    static_cast<void>(kit.stack.write(kit.id, Kit::bytes_of(std::string(200'000, 'a'))));
    kit.turn();
  };
  std::vector<Pressure::Place> places;
  for (std::uint16_t i = 0; i < count; ++i) {
    kit.open(static_cast<std::uint16_t>(1000 + i));
    send(0, 100);
    kit.turn();
    kit.read(kit.id);
    places.push_back(kit.place());
    if (i == 0) {
      send(100, 1800);
      send(1900, 1800);
      kit.turn();
      kit.read(kit.id);
      send(3700 + block + 700, full);
      kit.turn();
    }
  }
  for (std::uint16_t i = 1; i + 1 < count; ++i) {
    kit.go_to(places[i]);
    send(100, 100);
    kit.turn();
  }
  for (std::uint16_t i = 1; i + 1 < count; ++i) {
    kit.go_to(places[i]);
    send_many(200);
  }
  for (std::uint16_t i = 1; i < count; ++i) {
    kit.go_to(places[i]);
    answer();
  }
  send_many(100);
  kit.go_to(places[0]);
  answer();
  send(3700, block + 740);
  kit.turn();
  EXPECT_EQ(kit.info().receive.nxt.since(kit.peer_iss.next()).count, 3700 + block + 740);
}

// More and more applications have read data and leave as much unread, until all but the reserve of
// first blocks is in use. The window of one that reads on never stays closed.
TEST_P(ReceivePressure, AWindowThatClosedOpensAgain) {
  Pressure kit(config(), 0);
  kit.open_reader();
  Pressure::Place const reader = kit.place();
  std::uint32_t sent = 0;
  for (std::uint16_t i = 0; i < 300; ++i) {
    kit.open(static_cast<std::uint16_t>(1000 + i));
    for (std::uint32_t const burst : {1u, 2u, 4u, 8u, 15u}) {
      for (Sequence next = kit.info().receive.nxt;
           next.since(kit.info().receive.nxt).count < burst * full; next = next + Bytes{full}) {
        kit.data(next);
      }
      kit.turn();
      if (burst != 15) {
        kit.read(kit.id);
      }
    }
    kit.go_to(reader);
    for (int j = 0; j < 10; ++j, ++sent) {
      ASSERT_GE(kit.info().receive.wnd.count, full) << i << " others";
      kit.data(kit.first + Bytes{full * sent});
      kit.turn();
    }
  }
}

// Clients whose request is read and whose answer waits for a closed window leave more data unread.
// The others still have a block to receive and one to write.
TEST_P(ReceivePressure, ReservesForReadingAndWritingAreDistinct) {
  Pressure kit(config(), 0);
  std::string const answer(200'000, 'a');
  kit.window = 0;
  for (std::uint16_t i = 0; i < 700; ++i) {
    kit.open(static_cast<std::uint16_t>(1000 + i));
    Sequence const next = kit.info().receive.nxt;
    kit.data(next);
    kit.turn();
    kit.read(kit.id);
    static_cast<void>(kit.stack.write(kit.id, Kit::bytes_of(answer)));
    for (std::uint32_t j = 1; j < (i < 200 ? 44u : 2u); ++j) {
      kit.data(next + Bytes{full * j});
    }
    kit.turn();
  }
  kit.window = 65535;
  for (std::uint16_t i = 0; i < 200; ++i) {
    kit.open(static_cast<std::uint16_t>(9000 + i));
    kit.data(kit.info().receive.nxt);
    kit.turn();
    EXPECT_EQ(kit.stack.unread(kit.id).count, full) << i;
    std::string const little(100, 'b');
    EXPECT_EQ(kit.stack.write(kit.id, Kit::bytes_of(little)).bytes.count, little.size()) << i;
  }
}

// However many connections leave data unread, the last one has a block.
TEST_P(ReceivePressure, EachConnectionHasABlock) {
  Pressure kit(config(), 0);
  std::uint32_t const all = kit.stack.config().tcp.connections_max.value;
  std::uint32_t least = full;
  for (std::uint16_t i = 0; i < all; ++i) {
    kit.open(static_cast<std::uint16_t>(1000 + i));
    Sequence const next = kit.info().receive.nxt;
    for (std::uint32_t j = 0; j < 10; ++j) {
      kit.data(next + Bytes{full * j});
    }
    kit.turn();
    least = std::min(least, kit.stack.unread(kit.id).count);
  }
  EXPECT_GT(least, 0u);
  EXPECT_LE(kit.stack.pools().blocks, kit.stack.config().tcp.blocks_max.value);
}

// Two stacks. Clients upload to applications that read nothing; besides, three transfers of each
// kind: an upload, a download, and 20 requests.
struct Office {
  enum Kind : std::uint16_t { slow = 80, upload, download, requests };
  struct Flow {
    std::uint16_t kind = 0;
    std::size_t read = 0;
    std::size_t written = 0;
  };
  static constexpr std::size_t much = 300'000;
  static constexpr std::size_t request = 1000;
  static constexpr std::size_t requests_total = 20 * request;

  Office(const Config& server, std::uint32_t per_cent, std::uint64_t seed)
      : net({.loss = {per_cent * 10'000'000}}, seed) {
    Config client = server;
    client.addresses[0].address = IpAddress::v4(10, 0, 0, 2);
    client.tcp.connections_max = client.tcp.active_max = Count{2000};
    client.tcp.blocks_max = Count{100'000};
    client.tcp.pieces_max = client.tcp.sent_max = Count{100'000};
    net.add(server);
    net.add(client);
    net.on_event = [this](std::size_t host, const Event& event) { work(host, event); };
    net.loses = [this](const Network::Packet&) { return transfers; };
    for (std::uint16_t const port : {slow, upload, download, requests}) {
      ListenerId listener;
      Local local;
      local.port = {port};
      EXPECT_EQ(net.stack(0).listen(local, {.pending = Count{1000}}, listener), Refusal::none);
    }
  }
  void open(std::uint16_t kind) {
    Open to;
    to.remote = {IpAddress::v4(10, 0, 0, 1), {kind}};
    ConnectionId id;
    ASSERT_EQ(net.stack(1).connect(to, id), Refusal::none);
    flows[1][id.slot] = {.kind = kind};
  }
  // Each sends `read_first` octets, which the application reads, and then more.
  void slow_clients(std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      open(slow);
      if (i % 20 == 19) {
        net.run(Duration::milliseconds(100));
      }
    }
    net.run(Duration::seconds(8));
  }
  // The time that the transfers take; at most a minute.
  Duration transfer() {
    Instant const begin = net.now;
    transfers = true;
    for (int i = 0; i < 3; ++i) {
      open(upload);
      open(download);
      open(requests);
    }
    net.run(begin + Duration::seconds(60), [this] { return finished() == 9; });
    return net.now.since(begin);
  }
  int finished() const {
    int count = 0;
    for (auto const& [slot, flow] : flows[0]) {
      count += flow.kind == upload && flow.read == much ? 1 : 0;
    }
    for (auto const& [slot, flow] : flows[1]) {
      count += flow.kind == download && flow.read == much ? 1 : 0;
      count += flow.kind == requests && flow.read == requests_total ? 1 : 0;
    }
    return count;
  }

  void work(std::size_t host, const Event& event) {
    Stack& stack = net.stack(host);
    Flow& flow = flows[host][event.id.slot];
    if (event.kind == EventKind::accepted) {
      flow = {.kind = stack.inspect(event.id).tuple.local.port.value};
    }
    bool const serves = host == 0;
    if (!serves || flow.kind != slow || flow.read < read_first) {
      for (auto part = stack.readable(event.id); !part.empty(); part = stack.readable(event.id)) {
        flow.read += part.size();
        stack.consume(event.id, Bytes{static_cast<std::uint32_t>(part.size())});
      }
    }
    std::size_t wanted = 0;
    if (flow.kind == requests) {
      wanted =
          serves ? flow.read : std::min(flow.read / request * request + request, requests_total);
    } else if (serves == (flow.kind == download)) {
      bool const begins = flow.kind == slow && event.kind != EventKind::acknowledged;
      wanted = begins && read_first != 0 ? read_first
               : flow.kind == slow       ? read_first + 60'000
                                         : much;
    }
    static std::vector<std::byte> const octets(much);
    if (wanted > flow.written) {
      flow.written +=
          stack.write(event.id, std::span(octets).first(wanted - flow.written), More::no)
              .bytes.count;
    }
  }

  Network net;
  std::map<std::uint32_t, Flow> flows[2];
  bool transfers = false;
  std::size_t read_first = 0;
};

TEST_P(ReceivePressure, TransfersBesideSlowReaders) {
  for (std::uint32_t const slow : {60u, 70u, 100u, 150u, 200u}) {
    Office office(config(), 0, 7);
    office.slow_clients(slow);
    EXPECT_LE(office.transfer().ns, Duration::seconds(2).ns) << slow;
    EXPECT_EQ(office.finished(), 9) << slow;
  }
}

// Servers read a request, and no more until the client takes the answer.
TEST_P(ReceivePressure, TransfersBesideReadersOfOneRequest) {
  struct Case {
    std::uint32_t slow = 0;
    std::size_t request = 0;
  };
  for (auto const& [slow, request] : {Case{130, 100}, Case{200, 100}, Case{130, 60'000}}) {
    Office office(config(), 0, 7);
    office.read_first = request;
    office.slow_clients(slow);
    EXPECT_LE(office.transfer().ns, Duration::seconds(2).ns) << slow << " " << request;
    EXPECT_EQ(office.finished(), 9) << slow << " " << request;
  }
}

TEST_P(ReceivePressure, TransfersBesideSlowReadersWithLoss) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Office office(config(), 2, seed);
    office.slow_clients(40 * static_cast<std::uint32_t>(seed));
    static_cast<void>(office.transfer());
    EXPECT_EQ(office.finished(), 9) << seed;
  }
}

//= rfc5681#4.2
//= type=test
//# 5681:CC-28 a segment draws one ACK, also if there is no memory for it
TEST(FullStore, ARefusedSegmentDrawsOneAck) {
  Config config = kit_config();
  config.tcp.block_bytes = Bytes{64};
  config.tcp.blocks_max = Count{8};
  config.tcp.reserve_blocks = Count{0};
  Kit kit(config);
  kit.auto_consume = false;
  kit.socket_in(State::established);
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1, .data = std::string(1400, 'x')});
  static_cast<void>(kit.take());
  std::uint32_t const next = kit.info().receive.nxt.since(kit.peer_iss).count;
  ASSERT_LT(next, 1400u);
  kit.deliver({.flags = flag::ack, .seq = next, .ack = 1, .data = std::string(1400, 'x')});
  kit.turn();
  EXPECT_EQ(kit.drops(Drop::tcp_store_full), 1u);
  EXPECT_EQ(kit.take().size(), 1u);
}

}  // namespace
}  // namespace lockstep::testing
