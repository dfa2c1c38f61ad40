// The bulk sender and receiver, and the cost of the transfer between them.
#include "tools/proofs/bench/bulk.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace lockstep::tools::benchmark {
namespace {

constexpr std::uint16_t server_port_number = 80;
constexpr std::uint32_t content_bytes = 65'536;  // sent repeatedly
constexpr std::uint32_t chunk_bytes = 32'768;    // per call of write or lend
constexpr std::uint32_t table_stride = 128;
constexpr RegionId region{0};

// Octet `i` of the stream is octet i % content_bytes of this.
struct Content {
  Content() : bytes(content_bytes) {
    for (std::uint32_t i = 0; i < content_bytes; ++i) {
      bytes[i] = static_cast<std::byte>(i * 2'654'435'761u >> 24);
    }
    entries.resize(wire::checksum_table_entries(content_bytes, table_stride));
    table = wire::build_checksum_table(bytes, entries, table_stride);
  }
  std::vector<std::byte> bytes;
  std::vector<std::uint16_t> entries;
  wire::ChecksumTable table;
};

// Keeps the send queue filled until `target` octets of the stream have been accepted.
struct Sender {
  const Content& content;
  Writing writing;
  ConnectionId id{};
  std::uint64_t target = 0;
  std::uint64_t handed = 0;
  bool connected = false;

  void on_event(Stack&, const Event& event) {
    CHECK(event.kind != EventKind::closed);
    connected = connected || event.kind == EventKind::connected;
  }

  void run(Stack& stack, Instant) {
    while (connected && handed < target) {
      auto const offset = static_cast<std::uint32_t>(handed % content_bytes);
      auto const length = static_cast<std::uint32_t>(
          std::min<std::uint64_t>({chunk_bytes, content_bytes - offset, target - handed}));
      if (stack.writable(id).count < length) {
        return;
      }
      More const more = handed + length == target ? More::no : More::yes;
      Taken const taken =
          writing == Writing::lent
              ? stack.lend(id, {region, offset, length}, more)
              : stack.write(id, std::span(content.bytes).subspan(offset, length), more);
      if (taken.bytes.empty()) {
        return;
      }
      handed += taken.bytes.count;
    }
  }
};

// Reads all available data in place.
struct Receiver {
  const Content& content;
  bool verify;
  std::uint64_t received = 0;

  void on_event(Stack& stack, const Event& event) {
    CHECK(event.kind != EventKind::closed);
    if (event.kind != EventKind::received) {
      return;
    }
    Bytes done;
    for (auto part = stack.readable(event.id); !part.empty();
         part = stack.readable(event.id, done)) {
      check(part);
      received += part.size();
      done += Bytes{static_cast<std::uint32_t>(part.size())};
    }
    stack.consume(event.id, done);
  }

  void run(Stack&, Instant) {}

  void check(std::span<const std::byte> part) const {
    for (std::size_t i = 0; verify && i < part.size(); ++i) {
      CHECK(part[i] == content.bytes[(received + i) % content_bytes]);
    }
  }
};

}  // namespace

struct Bulk::Parts {
  explicit Parts(const BulkSettings& asked)
      : settings(asked),
        pair(asked.pair),
        sender{.content = content, .writing = asked.writing},
        receiver{.content = content, .verify = asked.verify} {
    pair.client.bind(region, content.bytes, content.table);
    ListenerId listener;
    Local local;
    local.port = {server_port_number};
    Refusal const refused = pair.server.listen(local, Backlog{}, listener);
    CHECK(refused == Refusal::none);
  }

  void carry(std::uint64_t bytes) {
    sender.target += bytes;
    while (receiver.received < sender.target) {
      pair.step(sender, receiver);
    }
  }

  BulkSettings settings;
  Content content;
  Pair pair;
  Sender sender;
  Receiver receiver;
};

Bulk::Bulk(const BulkSettings& settings) : parts_(std::make_unique<Parts>(settings)) {}
Bulk::~Bulk() = default;

void Bulk::warm_up() {
  Parts& p = *parts_;
  Open open;
  open.local.address = client_address();
  open.remote = {server_address(), {server_port_number}};
  Refusal const refused = p.pair.client.connect(open, p.sender.id);
  CHECK(refused == Refusal::none);
  p.carry(std::uint64_t{p.settings.pair.receive_buffer.count} * 4);
}

Result Bulk::run() {
  Parts& p = *parts_;
  std::uint32_t const mss = p.settings.pair.mtu.count - 40;
  std::uint64_t const segments_before = p.pair.client_port.data_segments_out;
  std::uint64_t const frames_before = p.pair.frames();
  Stopwatch const watch;
  p.carry(p.settings.segments * mss);
  Result result;
  result.nanoseconds = watch.nanoseconds();
  result.units = p.pair.client_port.data_segments_out - segments_before;
  result.bytes = p.settings.segments * mss;
  result.frames = p.pair.frames() - frames_before;
  result.retransmissions = p.pair.retransmissions();
  result.drops = p.pair.drops();
  return result;
}

}  // namespace lockstep::tools::benchmark
