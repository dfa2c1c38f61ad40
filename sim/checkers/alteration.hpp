// Tells whether a fault has changed a frame in a way that no checksum can see.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/kernel/observer.hpp"
#include "sim/kernel/world.hpp"

namespace lockstep::sim {

// No TCP can keep a promise about octets that were changed behind its checksum's back. Costs
// nothing in a world whose faults change no frame.
class AlterationWatch final : public Observer {
 public:
  explicit AlterationWatch(const World& world);

  void sent(const Kernel& kernel, const FrameNote& note) override;
  void delivered(const Kernel& kernel, const FrameNote& note) override;

  // A frame that nobody sent was delivered and is a valid segment.
  bool text_altered() const { return altered_; }
  // ... and its header may be what was changed.
  bool header_altered() const { return altered_ && headers_in_danger_; }

 private:
  std::uint32_t place_of(std::uint64_t hash) const;
  void grow();

  LinkType link_;
  bool watching_ = false;
  bool headers_in_danger_ = false;
  bool altered_ = false;
  // Hashes of all frames that were sent: an open-addressed table, never walked; zero is empty.
  std::vector<std::uint64_t> hashes_;
  std::uint32_t used_ = 0;
};

}  // namespace lockstep::sim
