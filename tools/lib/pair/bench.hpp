// A Driver for whoever plays the wire himself: what is put in arrives, what leaves is kept.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "core/stack/driver.hpp"
#include "core/units/bytes.hpp"

namespace lockstep::tools {

/// Packets of bare IP; time is what it is told.
class Bench {
 public:
  virtual ~Bench() = default;

  /// Never back.
  virtual void set_now(Instant now) = 0;
  /// One packet comes in; CHECKs that there is room for it.
  virtual void arrive(std::span<const std::byte> packet) = 0;
  /// What has left since, in order.
  virtual std::vector<std::vector<std::byte>> take() = 0;

  virtual std::span<const Ingress> receive() = 0;
  virtual std::span<std::byte> claim() = 0;
  virtual void commit(const Egress& egress) = 0;
  virtual void reclaim() = 0;
  virtual void flush() = 0;
};

/// nullptr: it carries no packets of that size.
using BenchMaker = std::unique_ptr<Bench> (*)(Bytes mtu);

}  // namespace lockstep::tools
