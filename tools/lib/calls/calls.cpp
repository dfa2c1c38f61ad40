// The calls that Python makes on a stack, alone or in a world: the application's and the
// observer's.
#include "tools/lib/calls/calls.hpp"

#include <algorithm>
#include <array>

#include "tools/base/process/failure.hpp"
#include "tools/lib/calls/refused.hpp"
#include "tools/lib/sockets/sockets.hpp"

namespace lockstep::tools::python {

SettingKind setting_named(std::string_view name) {
  constexpr std::array<std::string_view, 14> names{"nagle",
                                                   "delayed_ack",
                                                   "keepalive",
                                                   "keepalive_idle_ms",
                                                   "user_timeout_ms",
                                                   "dscp",
                                                   "ttl",
                                                   "receive_buffer",
                                                   "send_buffer",
                                                   "soft_errors",
                                                   "keepalive_interval_ms",
                                                   "keepalive_probes",
                                                   "mss",
                                                   "congestion"};
  std::string all;
  for (std::uint32_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) {
      return static_cast<SettingKind>(i);
    }
    all += (all.empty() ? "" : ", ") + std::string(names[i]);
  }
  throw Failure(ExitCode::bad_input,
                "the setting is '" + std::string(name) + "', expected one of " + all);
}

std::array<std::pair<std::string_view, std::uint64_t>, 12> variables_of(
    const ConnectionInfo& info) {
  return {{{"snd_una", info.send.una.value},
           {"snd_nxt", info.send.nxt.value},
           {"snd_wnd", info.send.wnd.count},
           {"snd_mss", info.send.mss.count},
           {"rcv_nxt", info.receive.nxt.value},
           {"rcv_wnd", info.receive.wnd.count},
           {"cwnd", info.cwnd.count},
           {"ssthresh", info.ssthresh.count},
           {"fast_recovery", info.fast_recovery ? 1U : 0U},
           {"sacked", info.sacked.count},
           {"srtt_ns", info.srtt.ns},
           {"rto_ns", info.rto.ns}}};
}

void Inbox::on_event(Stack& stack, const TimedEvent& event) {
  if (sockets != nullptr) {
    sockets->on_event(stack, event.event);
    return;
  }
  if (event.event.kind == EventKind::accepted) {
    accepted.push_back(event.event.id);
    learn(stack, event.event.id);
  }
  if (events.size() == events_max) {
    events.pop_front();
    ++events_lost;
  }
  events.push_back(event);
}

void Inbox::run(Stack& stack) {
  if (sockets != nullptr) {
    sockets->run(stack, stack.now());
  }
}

void Inbox::refuse_sockets() const {
  if (sockets != nullptr) {
    throw Failure(ExitCode::bad_input,
                  "a snapshot cannot hold sockets: expected calls of the stack alone");
  }
}

void Inbox::learn(const Stack& stack, ConnectionId id) {
  ConnectionInfo const info = stack.inspect(id);
  if (info.exists) {
    known[id.slot] = {id.generation, info.tuple};
  }
}

ConnectionId Calls::connect(const Open& open) {
  ConnectionId id;
  refuse_unless_none(stack().connect(open, id), "connect");
  inbox().learn(stack(), id);
  opened(id);
  touched();
  return id;
}

std::optional<tcp::State> Calls::state(ConnectionId id) {
  if (ConnectionInfo const info = stack().inspect(id); info.exists) {
    return info.state;
  }
  auto const& known = inbox().known;
  auto const found = known.find(id.slot);
  if (found == known.end() || id.generation > found->second.generation) {
    return std::nullopt;
  }
  bool const last = id.generation == found->second.generation;
  bool const waits = last && stack().state_of(found->second.tuple) == tcp::State::time_wait;
  return waits ? tcp::State::time_wait : tcp::State::closed;
}

std::vector<std::byte> Calls::read(ConnectionId id, Bytes most, bool peek) {
  if (!stack().inspect(id).exists) {
    throw Refused(Refusal::stale_id, "read");
  }
  std::vector<std::byte> out;
  while (out.size() < most.count) {
    auto const some = stack().readable(id, Bytes{static_cast<std::uint32_t>(out.size())});
    if (some.empty()) {
      break;
    }
    auto const now = some.first(std::min<std::size_t>(some.size(), most.count - out.size()));
    out.insert(out.end(), now.begin(), now.end());
  }
  if (!peek && !out.empty()) {
    stack().consume(id, Bytes{static_cast<std::uint32_t>(out.size())});
    touched();
  }
  return out;
}

}  // namespace lockstep::tools::python
