// The control socket of a run, for `lockstep ss`.
#pragma once

#include <memory>

#include "tools/lib/control/socket.hpp"
#include "tools/verbs/serve/plan.hpp"

namespace lockstep::tools {

/// Lists the connections of all shards. Without --control it is in the default folder, if that can
/// be used.
class Control {
 public:
  /// Throws Failure if the socket that --control names cannot be made.
  explicit Control(const ServePlan& plan);

  void start();
  /// nullptr: there is no socket.
  control::Listing* listing() { return socket_ ? &listing_ : nullptr; }

 private:
  control::Listing listing_;
  std::unique_ptr<control::Socket> socket_;
};

}  // namespace lockstep::tools
