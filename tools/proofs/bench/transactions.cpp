// The client and the server of short connections, and the cost of a transaction.
#include "tools/proofs/bench/transactions.hpp"

#include <algorithm>

#include "tools/proofs/bench/short_talk.hpp"

namespace lockstep::tools::benchmark {
namespace {

// Types of this file only, so that the compiler can inline their functions.
struct Client : ShortCaller {};
struct Server : ShortAnswerer {};

PairSettings pair_settings(const TransactionSettings& settings) {
  // Room for connections that have ended on one side only.
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
      : settings(asked), pair(pair_settings(asked)), client{{.at_once = asked.at_once.value}} {
    listen_everywhere(pair.server, asked.at_once);
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
  // Beyond a thousand, ended connections do not change the cost of the next one.
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
