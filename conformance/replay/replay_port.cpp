// The memory that consecutive plays of a thread share.
#include "conformance/replay/replay_port.hpp"

#include <new>

namespace lockstep::conformance {
namespace {

constexpr std::align_val_t alignment{64};
/// Memory beyond this is released after its play.
constexpr std::uint64_t kept_max = std::uint64_t{16} << 20;

struct Release {
  void operator()(std::byte* memory) const { ::operator delete(memory, alignment); }
};

thread_local std::unique_ptr<std::byte, Release> kept;
thread_local std::uint64_t kept_bytes = 0;

}  // namespace

ReplayArena::ReplayArena(std::uint64_t bytes) : size_(bytes) {
  if (kept_bytes < bytes) {
    kept.reset();
    kept.reset(static_cast<std::byte*>(::operator new(bytes, alignment)));
    kept_bytes = bytes;
  }
}

ReplayArena::~ReplayArena() {
  if (kept_bytes > kept_max) {
    kept.reset();
    kept_bytes = 0;
  }
}

std::span<std::byte> ReplayArena::span() const { return {kept.get(), size_}; }

}  // namespace lockstep::conformance
