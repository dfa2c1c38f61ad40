// The client and the server of short connections, and what a transaction cost.
#include "tools/benchmark/transactions.hpp"

#include <algorithm>
#include <array>

namespace lockstep::tools::benchmark {
namespace {

constexpr std::uint32_t message_bytes = 64;
constexpr std::uint16_t first_port = 80;
constexpr std::uint32_t listeners = 64;  // so that four-tuples never run short
constexpr std::uint32_t opens_per_turn = 32;

using Message = std::array<std::byte, message_bytes>;

// Reads what has come; how many bytes that were.
std::uint32_t read_all(Stack& stack, ConnectionId id) {
  std::uint32_t done = 0;
  for (auto part = stack.readable(id); !part.empty(); part = stack.readable(id)) {
    auto const bytes = static_cast<std::uint32_t>(part.size());
    stack.consume(id, Bytes{bytes});
    done += bytes;
  }
  return done;
}

struct Client {
  std::uint32_t at_once;
  Message message{};
  std::uint32_t live = 0;
  std::uint64_t opened = 0;
  std::uint64_t finished = 0;
  std::uint64_t received = 0;

  void told(Stack& stack, const Event& event) {
    switch (event.kind) {
      case EventKind::connected: {
        Taken const taken = stack.write(event.id, message);
        CHECK(taken.bytes.count == message_bytes);
        break;
      }
      case EventKind::received:
        received += read_all(stack, event.id);
        break;
      case EventKind::peer_finished: {
        Refusal const refused = stack.close(event.id);
        CHECK(refused == Refusal::none);
        break;
      }
      case EventKind::closed:
        CHECK(event.cause == Cause::finished);
        --live;
        ++finished;
        break;
      default:
        break;
    }
  }

  // Opens anew what has ended, spread over all ports of the server.
  void run(Stack& stack, Instant) {
    for (std::uint32_t i = 0; i < opens_per_turn && live < at_once; ++i) {
      auto const number = static_cast<std::uint32_t>(opened);
      Open open;
      open.local.address = client_address();
      open.remote = {server_address(),
                     {static_cast<std::uint16_t>(first_port + number % listeners)}};
      ConnectionId id;
      Refusal const refused = stack.connect(open, id);
      CHECK(refused == Refusal::none);
      ++opened;
      ++live;
    }
  }
};

struct Server {
  Message message{};

  void told(Stack& stack, const Event& event) {
    if (event.kind != EventKind::received) {
      return;
    }
    std::uint32_t const read = read_all(stack, event.id);
    CHECK(read == message_bytes);
    Taken const taken = stack.write(event.id, message);
    CHECK(taken.bytes.count == message_bytes);
    Refusal const refused = stack.close(event.id);
    CHECK(refused == Refusal::none);
  }

  void run(Stack&, Instant) {}
};

PairSettings pair_settings(const TransactionSettings& settings) {
  // Room for those that have ended on one side and not yet on the other.
  Count const room{settings.at_once.value + settings.at_once.value / 4 + 1024};
  PairSettings out;
  out.extensions = settings.extensions;
  out.link = settings.link;
  out.connections_max = room;
  out.active_max = room;
  return out;
}

}  // namespace

struct Transactions::Parts {
  explicit Parts(const TransactionSettings& asked)
      : settings(asked), pair(pair_settings(asked)), client{.at_once = asked.at_once.value} {
    for (std::uint32_t i = 0; i < listeners; ++i) {
      ListenerId listener;
      Local local;
      local.port = {static_cast<std::uint16_t>(first_port + i)};
      Backlog backlog;
      backlog.pending = asked.at_once;
      Refusal const refused = pair.server.listen(local, backlog, listener);
      CHECK(refused == Refusal::none);
    }
  }

  TransactionSettings settings;
  Pair pair;
  Client client;
  Server server;
};

Transactions::Transactions(const TransactionSettings& settings)
    : parts_(std::make_unique<Parts>(settings)) {}
Transactions::~Transactions() = default;

void Transactions::warm_up() {
  Parts& p = *parts_;
  // Beyond a thousand, those that end do not change what the next one costs.
  std::uint64_t const target =
      p.client.finished + std::min<std::uint64_t>(p.settings.at_once.value, 1'000);
  while (p.client.finished < target || p.client.live < p.settings.at_once.value) {
    p.pair.step(p.client, p.server);
  }
}

Result Transactions::run() {
  Parts& p = *parts_;
  std::uint64_t const finished_before = p.client.finished;
  std::uint64_t const received_before = p.client.received;
  std::uint64_t const frames_before = p.pair.frames();
  Stopwatch const watch;
  while (p.client.finished < finished_before + p.settings.count) {
    p.pair.step(p.client, p.server);
  }
  Result result;
  result.nanoseconds = watch.nanoseconds();
  result.units = p.client.finished - finished_before;
  result.bytes = (p.client.received - received_before) * 2;
  result.frames = p.pair.frames() - frames_before;
  result.retransmissions = p.pair.retransmissions();
  result.drops = p.pair.drops();
  return result;
}

}  // namespace lockstep::tools::benchmark
