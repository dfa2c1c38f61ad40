// A Driver for a caller that plays the wire: packets put in arrive, packets sent are kept.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "core/stack/driver.hpp"
#include "core/units/bytes.hpp"

namespace lockstep::tools {

/// Carries bare IP packets; the caller sets the time.
class Bench {
 public:
  virtual ~Bench() = default;

  /// Never backwards.
  virtual void set_now(Instant now) = 0;
  /// Delivers one packet; CHECKs that there is room for it.
  virtual void arrive(std::span<const std::byte> packet) = 0;
  /// The packets sent since the last call, in order.
  virtual std::vector<std::vector<std::byte>> take() = 0;

  virtual std::span<const Ingress> receive() = 0;
  virtual std::span<std::byte> claim() = 0;
  virtual void commit(const Egress& egress) = 0;
  virtual void reclaim() = 0;
  virtual void flush() = 0;
};

/// nullptr: this kind of bench carries no packets of that size.
using BenchMaker = std::unique_ptr<Bench> (*)(Bytes mtu);

}  // namespace lockstep::tools
