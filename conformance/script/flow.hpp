// The connections of a script: whose numbers stand for which on the wire.
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

/// The peer's sequence numbers and stamps are the script's. Those of the stack are not: its initial
/// sequence number and its first stamp are known when they have been sent.
struct Flow {
  Endpoint local, remote;
  std::optional<PortNames> name;  ///< active: as the script calls its ports, ours first
  bool active = false;
  bool used = false;            ///< a packet has come or left
  bool local_known = false;     ///< of an active open: the port has been drawn
  bool remote_known = false;    ///< the call said whom it connects to
  bool opening = true;          ///< the next SYN that leaves says where its numbers begin
  std::uint32_t shift = 0;      ///< live number = script's number + shift
  std::uint32_t last_sent = 0;  ///< the live sequence number of the last segment that left
  struct Stamp {
    std::uint32_t script = 0, live = 0;
  };
  std::vector<Stamp> stamps;  ///< that have left

  std::uint32_t to_live(std::uint32_t script) const { return script + shift; }
  std::uint32_t to_script(std::uint32_t live) const { return live - shift; }
  /// Of an echo; one that never left is moved as the first stamp was.
  std::uint32_t stamp_to_live(std::uint32_t script) const {
    for (auto one = stamps.rbegin(); one != stamps.rend(); ++one) {
      if (one->script == script) {
        return one->live;
      }
    }
    return stamps.empty() ? script : script + stamps.front().live - stamps.front().script;
  }
};

/// All connections of a script, and the one that is meant where a packet names none: the last that
/// connected, or that a packet named. References stay valid.
class Flows {
 public:
  Flows(const Endpoint& local, const Endpoint& remote) : local_(local), remote_(remote) { add(); }

  Flow& now() { return all_[at_]; }
  const Flow& now() const { return all_[at_]; }

  /// An active open begins, to `remote` if the call said so: our port is not known yet.
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

  /// The connection that a packet names is the one that is meant from here on. Gives whether it was
  /// another one before.
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

  /// Whose packet it is, for its numbers; the one that is meant if it is nobody's.
  const Flow& of(const Endpoint& source, const Endpoint& destination) const {
    for (Flow const& one : all_) {
      if (one.local == source && one.remote == destination) {
        return one;
      }
    }
    return now();
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
