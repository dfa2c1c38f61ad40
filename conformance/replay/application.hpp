// The application of the device under test: makes the script's calls and reads the received data.
#pragma once

#include <deque>
#include <vector>

#include "conformance/replay/script.hpp"
#include "core/stack/event.hpp"
#include "core/stack/stack.hpp"

namespace lockstep::conformance {

/// Implements the port's Application. run() makes the calls in order. A call that needs a
/// connection waits until one exists, and the calls after a write wait until the stack has accepted
/// all of its bytes.
class ReplayApplication {
 public:
  ReplayApplication(const Endpoint& local, const Endpoint& remote)
      : local_(local), remote_(remote) {}

  /// Enables Fast Open for listeners and for active opens.
  void allow_fast_open(bool listens, bool opens) {
    listens_fast_ = listens;
    opens_fast_ = opens;
  }
  void ask(const Step& call) { calls_.push_back(call); }
  void on_event(Stack& stack, const Event& event);
  void run(Stack& stack, Instant now);

  const ConnectionId& id() const { return id_; }
  bool has_connection() const { return has_id_; }
  bool is_listening() const { return listening_; }
  bool finish_called() const { return finish_called_; }
  bool close_called() const { return close_called_; }
  Cause closed() const { return closed_; }
  Refusal last_refusal() const { return last_refusal_; }
  const std::vector<std::byte>& delivered() const { return delivered_; }

 private:
  bool carry_out(Stack& stack, Step& call);
  void begin(Stack& stack, const Step& call);
  bool write(Stack& stack, Step& call);
  void read(Stack& stack);

  Endpoint local_, remote_;
  std::deque<Step> calls_;
  ConnectionId id_;
  bool listens_fast_ = false, opens_fast_ = false;
  bool has_id_ = false, listening_ = false, reading_ = true, finish_called_ = false,
       close_called_ = false;
  std::uint64_t allowance_ = 0;  ///< bytes that may still be read while reading is held
  Cause closed_ = Cause::none;
  Refusal last_refusal_ = Refusal::none;
  std::vector<std::byte> delivered_;
};

}  // namespace lockstep::conformance
