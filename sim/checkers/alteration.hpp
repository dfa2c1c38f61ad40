// Detects whether a fault has changed a frame in a way that no checksum detects.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/kernel/observer.hpp"
#include "sim/kernel/world.hpp"

namespace lockstep::sim {

// TCP cannot guarantee octets that were changed without an error in the checksum, so the other
// checkers excuse such runs. Costs nothing in a world whose faults change no frame.
class AlterationWatch final : public Observer {
 public:
  explicit AlterationWatch(const World& world);

  void sent(const Kernel& kernel, const FrameNote& note) override;
  void delivered(const Kernel& kernel, const FrameNote& note) override;

  // A valid TCP segment was delivered in a frame that no host sent.
  bool text_altered() const { return altered_; }
  // The same, and the change may be in its headers.
  bool header_altered() const { return altered_ && headers_in_danger_; }

 private:
  std::uint32_t place_of(std::uint64_t hash) const;
  void grow();

  LinkType link_;
  bool watching_ = false;
  bool headers_in_danger_ = false;
  bool altered_ = false;
  // Hashes of all frames sent, in an open-addressed table that is never iterated; 0 is empty.
  std::vector<std::uint64_t> hashes_;
  std::uint32_t used_ = 0;
};

}  // namespace lockstep::sim
