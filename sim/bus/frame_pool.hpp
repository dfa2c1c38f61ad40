// The memory of frames in flight: fixed-size buffers, allocated last in, first out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "core/units/check.hpp"

namespace lockstep::sim {

// Identifies a frame from take() until give().
struct FrameId {
  std::uint32_t value = 0xffff'ffff;
  constexpr bool operator==(const FrameId&) const = default;
};

// Grows by chunks, so that a frame never moves in memory. A plain value: a copy is a snapshot.
class FramePool {
 public:
  // `frame_bytes`: the largest frame, link header included.
  explicit FramePool(std::uint32_t frame_bytes) : stride_((frame_bytes + 63) / 64 * 64) {}

  FrameId take() {
    if (free_.empty()) {
      grow();
    }
    FrameId const id{free_.back()};
    free_.pop_back();
    metas_[id.value].handed = false;
    return id;
  }

  void give(FrameId id) {
    CHECK(id.value < metas_.size());
    free_.push_back(id.value);
  }

  // The whole buffer of a frame.
  std::span<std::byte> room(FrameId id) {
    auto& chunk = chunks_[id.value / chunk_frames];
    return {chunk.data() + std::size_t{id.value % chunk_frames} * stride_, stride_};
  }
  std::span<const std::byte> room(FrameId id) const {
    auto const& chunk = chunks_[id.value / chunk_frames];
    return {chunk.data() + std::size_t{id.value % chunk_frames} * stride_, stride_};
  }
  // The frame itself.
  std::span<std::byte> bytes(FrameId id) { return room(id).first(metas_[id.value].length); }
  std::span<const std::byte> bytes(FrameId id) const {
    return room(id).first(metas_[id.value].length);
  }
  void set_length(FrameId id, std::uint32_t length) {
    CHECK(length <= stride_);
    metas_[id.value].length = length;
  }
  std::uint32_t length(FrameId id) const { return metas_[id.value].length; }

  // The lane on which the frame travels.
  void set_lane(FrameId id, std::uint32_t lane) { metas_[id.value].lane = lane; }
  std::uint32_t lane(FrameId id) const { return metas_[id.value].lane; }

  // Marks a frame that one shard of a host forwards to another, as opposed to one from the wire.
  void set_handed(FrameId id) { metas_[id.value].handed = true; }
  bool handed(FrameId id) const { return metas_[id.value].handed; }

  FrameId copy(FrameId of) {
    FrameId const made = take();
    std::uint32_t const length = metas_[of.value].length;
    std::memcpy(room(made).data(), room(of).data(), length);
    metas_[made.value] = metas_[of.value];
    return made;
  }

  std::uint64_t in_use() const { return metas_.size() - free_.size(); }

 private:
  static constexpr std::uint32_t chunk_frames = 64;

  struct Meta {
    std::uint32_t length = 0;
    std::uint32_t lane = 0;
    bool handed = false;
  };

  void grow() {
    auto const first = static_cast<std::uint32_t>(metas_.size());
    chunks_.emplace_back(std::size_t{chunk_frames} * stride_);
    metas_.resize(metas_.size() + chunk_frames);
    for (std::uint32_t i = chunk_frames; i > 0; --i) {
      free_.push_back(first + i - 1);
    }
  }

  std::uint32_t stride_;
  std::vector<std::vector<std::byte>> chunks_;
  std::vector<Meta> metas_;
  std::vector<std::uint32_t> free_;
};

}  // namespace lockstep::sim
