// One mPIPE on a table: what is put in arrives, what leaves is kept, and time is what it is told.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "core/seam/config.hpp"
#include "core/seam/driver.hpp"

namespace lockstep::tools {

/// A Driver for whoever plays the wire himself: scenarios of packets of bare IP.
class MpipeBench {
 public:
  /// nullptr: an mPIPE carries no packets of that size.
  static std::unique_ptr<MpipeBench> make(Bytes mtu);
  ~MpipeBench();
  MpipeBench(const MpipeBench&) = delete;
  MpipeBench& operator=(const MpipeBench&) = delete;

  Instant now() const;
  void set_now(Instant now);
  /// One packet comes in; CHECKs that the card takes it.
  void arrive(std::span<const std::byte> packet);
  /// What has left since, in order.
  std::vector<std::vector<std::byte>> take();

  std::span<const Ingress> receive();
  std::span<std::byte> claim();
  void commit(const Egress& egress);
  void reclaim();

 private:
  class Parts;
  explicit MpipeBench(Bytes mtu);
  std::unique_ptr<Parts> parts_;
};

}  // namespace lockstep::tools
