// The connections of a script, and how its sequence numbers and timestamps map to those on the
// wire.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "conformance/script/syntax.hpp"
#include "core/units/address.hpp"
#include "core/units/time.hpp"

namespace lockstep::conformance::script {

/// The peer's sequence numbers and timestamps are the script's. Those of the stack are mapped: its
/// initial sequence number and first timestamp are known once they have been sent.
struct Flow {
  Endpoint local, remote;
  std::optional<PortNames> name;  ///< active open: the ports as the script writes them, ours first
  bool active = false;
  bool used = false;          ///< a packet has arrived or was sent
  bool local_known = false;   ///< active open: our port is known
  bool remote_known = false;  ///< the connect() gave the remote address
  bool opening = true;        ///< the next SYN sent sets `shift`
  std::uint32_t shift = 0;    ///< live number = script's number + shift
  /// The peer's numbers, except those of its SYNs: live number = script's number + peer_shift. Not
  /// 0 if the script counts from the peer's initial sequence number.
  std::uint32_t peer_shift = 0;
  bool peer_opened = false;     ///< a SYN of the peer has arrived
  std::uint32_t last_sent = 0;  ///< live sequence number of the last segment sent
  struct Stamp {
    std::uint32_t script = 0, live = 0;
  };
  std::vector<Stamp> stamps;  ///< timestamps that were sent

  std::uint32_t to_live(std::uint32_t script) const { return script + shift; }
  std::uint32_t to_script(std::uint32_t live) const { return live - shift; }
  std::uint32_t peer_to_live(std::uint32_t script) const { return script + peer_shift; }
  std::uint32_t peer_to_script(std::uint32_t live) const { return live - peer_shift; }
  /// Maps an echo; a timestamp that was not sent is shifted like the first one.
  std::uint32_t stamp_to_live(std::uint32_t script) const {
    for (auto one = stamps.rbegin(); one != stamps.rend(); ++one) {
      if (one->script == script) {
        return one->live;
      }
    }
    return stamps.empty() ? script : script + stamps.front().live - stamps.front().script;
  }
};

/// All connections of a script, and the current one, to which a packet without ports belongs: the
/// last one connected or named by a packet. References stay valid.
class Flows {
 public:
  Flows(const Endpoint& local, const Endpoint& remote) : local_(local), remote_(remote) { add(); }

  Flow& now() { return all_[at_]; }
  const Flow& now() const { return all_[at_]; }

  /// Starts an active open, to `remote` if the call gave it; our port is not known yet.
  void begin_active(const std::optional<Endpoint>& remote = {}) {
    if (now().used || now().active) {
      add();
    }
    now().active = true;
    now().opening = true;
    now().local_known = false;
    now().remote_known = remote.has_value();
    now().remote = remote.value_or(now().remote);
  }

  /// Makes the connection that a packet names the current one. Returns whether that changed.
  bool select(const Packet& packet) {
    std::size_t const before = at_;
    if (packet.ports) {
      bool const in = packet.direction == Direction::in;
      PortNames const ours =
          in ? PortNames{packet.ports->destination, packet.ports->source} : *packet.ports;
      find(ours, in);
    }
    now().used = true;
    return at_ != before;
  }

  /// The same by the ports of a socket. False: there is no such connection.
  bool select(Port local, Port remote) {
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (all_[i].local.port == local && all_[i].remote.port == remote) {
        at_ = i;
        return true;
      }
    }
    return false;
  }

  const std::deque<Flow>& all() const { return all_; }

  /// The connection of a packet; null if none matches.
  const Flow* known(const Endpoint& source, const Endpoint& destination) const {
    for (Flow const& one : all_) {
      if (one.local == source && one.remote == destination) {
        return &one;
      }
    }
    return nullptr;
  }
  /// The same, for its numbers; the current one if no connection matches.
  const Flow& of(const Endpoint& source, const Endpoint& destination) const {
    const Flow* const one = known(source, destination);
    return one == nullptr ? now() : *one;
  }

 private:
  void add() {
    all_.emplace_back();
    at_ = all_.size() - 1;
    now().local = local_;
    now().remote = remote_;
  }

  static bool is(const Flow& one, PortNames ours) {
    PortNames const name =
        one.name.value_or(PortNames{one.local.port.value, one.remote.port.value});
    return name.source == ours.source && name.destination == ours.destination;
  }

  void find(PortNames ours, bool in) {
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (is(all_[i], ours) && (all_[i].name || !all_[i].active)) {
        at_ = i;
        return;
      }
    }
    // The first SYN of an active open names it.
    for (std::size_t i = 0; !in && i < all_.size(); ++i) {
      bool const to = !all_[i].remote_known || all_[i].remote.port.value == ours.destination;
      if (all_[i].active && !all_[i].name && !all_[i].used && to) {
        at_ = i;
        now().name = ours;
        return;
      }
    }
    if (now().used || now().active) {
      add();
    }
    now().local.port = Port{ours.source};
    now().remote.port = Port{ours.destination};
  }

  Endpoint local_, remote_;
  std::deque<Flow> all_;
  std::size_t at_ = 0;
};

}  // namespace lockstep::conformance::script
