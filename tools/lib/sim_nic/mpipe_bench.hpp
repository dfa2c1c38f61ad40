// A single mPIPE as a Bench: packets put in arrive, packets sent are kept, the caller sets the
// time.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "tools/lib/pair/bench.hpp"

namespace lockstep::tools {

class MpipeBench final : public Bench {
 public:
  /// nullptr: an mPIPE carries no packets of that size.
  static std::unique_ptr<Bench> make(Bytes mtu);
  ~MpipeBench() override;
  MpipeBench(const MpipeBench&) = delete;
  MpipeBench& operator=(const MpipeBench&) = delete;

  void set_now(Instant now) override;
  void arrive(std::span<const std::byte> packet) override;
  std::vector<std::vector<std::byte>> take() override;
  std::span<const Ingress> receive() override;
  std::span<std::byte> claim() override;
  void commit(const Egress& egress) override;
  void reclaim() override;
  void flush() override;

 private:
  class Parts;
  explicit MpipeBench(Bytes mtu);
  std::unique_ptr<Parts> parts_;
};

}  // namespace lockstep::tools
