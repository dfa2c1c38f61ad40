// SIGINT and SIGTERM as something that a loop can wait for and count.
#pragma once

#include <cstdint>

#include "hw/trouble.hpp"

namespace lockstep::hw {

// Between open() and its end, SIGINT and SIGTERM of this process ask to stop instead of ending it.
// One at a time in a process (CHECK): signals have one handler.
class StopSignals {
 public:
  StopSignals() = default;
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Takes the signals over.
  [[nodiscard]] Trouble open();
  // Readable while a stop that asked() has not seen yet waits; for ppoll.
  int descriptor() const;
  // How often a stop has been asked for so far. Costs a load.
  std::uint32_t asked();
  // As a signal would. Safe in a signal handler.
  void ask() const;

 private:
  bool open_ = false;
  std::uint32_t seen_ = 0;
};

}  // namespace lockstep::hw
