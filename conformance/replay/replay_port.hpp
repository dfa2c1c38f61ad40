// The port and the memory of the core in a replay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/stack/driver.hpp"
#include "core/units/time.hpp"
#include "tools/lib/pair/bench.hpp"

namespace lockstep::conformance {

/// Virtual time at which the replay begins, so that times before the capture's first packet exist.
inline constexpr Instant replay_origin = Instant{} + Duration::seconds(100);

/// The port of one replay: delivers one packet in each turn and keeps every packet sent.
class ReplayPort {
 public:
  ReplayPort(std::uint32_t mtu, tools::BenchMaker maker) : room_(mtu) {
    if (maker != nullptr) {
      bench_ = maker(Bytes{mtu});
      set_now(replay_origin);
    }
  }

  Instant now() const { return now_; }
  std::span<const Ingress> receive() {
    if (!arriving_) {
      return {};
    }
    if (bench_ != nullptr) {
      bench_->arrive(*arriving_);
      return bench_->receive();
    }
    ingress_ = {*arriving_, Checksum::unknown, now_};
    return {&ingress_, 1};
  }
  std::span<std::byte> claim() { return bench_ != nullptr ? bench_->claim() : room_; }
  void commit(const Egress& egress) {
    if (bench_ != nullptr) {
      bench_->commit(egress);
      return;
    }
    left_.emplace_back(room_.begin(), room_.begin() + egress.length);
  }
  void reclaim() {
    arriving_.reset();
    if (bench_ != nullptr) {
      bench_->reclaim();
    }
  }
  void flush() {
    if (bench_ != nullptr) {
      bench_->flush();
    }
  }

  void set_now(Instant now) {
    now_ = now;
    if (bench_ != nullptr) {
      bench_->set_now(now);
    }
  }
  void arrive(std::vector<std::byte> packet) { arriving_ = std::move(packet); }
  std::vector<std::vector<std::byte>> take() {
    return bench_ != nullptr ? bench_->take() : std::exchange(left_, {});
  }

 private:
  Instant now_ = replay_origin;
  std::unique_ptr<tools::Bench> bench_;  // nullptr: the port in memory
  std::optional<std::vector<std::byte>> arriving_;
  Ingress ingress_;
  std::vector<std::byte> room_;
  std::vector<std::vector<std::byte>> left_;
};
static_assert(Driver<ReplayPort>);

/// 64-byte aligned memory for a stack, shared by the plays of a thread one after the other. If each
/// play allocated its own, retained data between two allocations would prevent their release.
class ReplayArena {
 public:
  /// At most one per thread at a time.
  explicit ReplayArena(std::uint64_t bytes);
  ~ReplayArena();
  ReplayArena(const ReplayArena&) = delete;
  ReplayArena& operator=(const ReplayArena&) = delete;
  std::span<std::byte> span() const;

 private:
  std::uint64_t size_;
};

}  // namespace lockstep::conformance
