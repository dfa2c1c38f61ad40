// Stores the hash of every frame that is sent and looks up the hash of every frame delivered.
#include "sim/checkers/alteration.hpp"

#include "sim/checkers/segment_view.hpp"
#include "sim/kernel/frame_hash.hpp"

namespace lockstep::sim {
namespace {

std::uint64_t hash_of(std::span<const std::byte> bytes) {
  return frame_hash({Instant{0}, 0, bytes}, 0) | 1;
}

// The link header plus IPv4 and TCP headers without options.
std::uint32_t headers_bytes(LinkType link) { return link == LinkType::ethernet ? 54 : 40; }

}  // namespace

AlterationWatch::AlterationWatch(const World& world)
    : link_(world.hosts.empty() ? LinkType::ethernet : world.hosts[0].config.link) {
  std::uint32_t flips = 0;
  for (const LaneFaultSpec& spec : world.lane_faults) {
    if (std::holds_alternative<Corrupt>(spec.fault)) {
      ++flips;
    }
    if (Substitute const* const rule = std::get_if<Substitute>(&spec.fault); rule != nullptr) {
      watching_ = true;
      headers_in_danger_ = headers_in_danger_ || rule->first_byte < headers_bytes(link_);
    }
  }
  // The checksum detects every single-bit error. Two flips, from two links or two faults, can
  // cancel out.
  bool const pairs = flips > 1 || (flips == 1 && world.links.size() > 1);
  watching_ = watching_ || pairs;
  headers_in_danger_ = headers_in_danger_ || pairs;
}

std::uint32_t AlterationWatch::place_of(std::uint64_t hash) const {
  auto const mask = static_cast<std::uint32_t>(hashes_.size() - 1);
  auto at = static_cast<std::uint32_t>(hash >> 32) & mask;
  while (hashes_[at] != 0 && hashes_[at] != hash) {
    at = (at + 1) & mask;
  }
  return at;
}

void AlterationWatch::grow() {
  std::vector<std::uint64_t> const old = hashes_;
  hashes_.assign(old.empty() ? 1'024 : old.size() * 2, 0);
  for (std::uint64_t hash : old) {
    if (hash != 0) {
      hashes_[place_of(hash)] = hash;
    }
  }
}

void AlterationWatch::sent(const Kernel&, const FrameNote& note) {
  if (!watching_) {
    return;
  }
  if ((std::uint64_t{used_} + 1) * 2 > hashes_.size()) {
    grow();
  }
  std::uint64_t const hash = hash_of(note.bytes);
  std::uint64_t& place = hashes_[place_of(hash)];
  used_ += place == 0 ? 1 : 0;
  place = hash;
}

void AlterationWatch::delivered(const Kernel&, const FrameNote& note) {
  if (!watching_ || altered_) {
    return;
  }
  std::uint64_t const hash = hash_of(note.bytes);
  if (!hashes_.empty() && hashes_[place_of(hash)] == hash) {
    return;
  }
  SegmentView view;
  altered_ = read_frame(link_, note.bytes, view) == FrameContent::tcp;
}

}  // namespace lockstep::sim
