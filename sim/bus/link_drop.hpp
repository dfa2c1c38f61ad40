// The named reasons for which a frame is dropped between two hosts.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/units/listed_enum.hpp"

namespace lockstep::sim {

// X(name, what happened). The order is stable: counters and fingerprints follow it.
#define LOCKSTEP_LINK_DROPS(X)                                                  \
  X(queue_full, "the link's queue is full")                                     \
  X(mtu_exceeded, "the frame exceeds the link's MTU")                           \
  X(lost, "lost at random")                                                     \
  X(burst_lost, "lost in a burst")                                              \
  X(masked, "lost by the mask")                                                 \
  X(partitioned, "the link is partitioned")                                     \
  X(receive_ring_full, "the receiving host has no free descriptor")             \
  X(switch_filtered, "the destination is on the port of arrival")               \
  X(switch_malformed, "too short, or from a group address")                     \
  X(early_dropped, "the queue discipline dropped it before the queue was full") \
  X(no_route, "a router has no route or no host for the destination")           \
  X(hops_exceeded, "a router counted its hops down to zero")                    \
  X(not_forwarded, "for a router, damaged, or to a group")

enum class LinkDrop : std::uint8_t {
  LOCKSTEP_LINK_DROPS(LOCKSTEP_ENUMERATOR) none,
};

inline constexpr std::uint32_t link_drop_count = static_cast<std::uint32_t>(LinkDrop::none);

constexpr std::string_view name_of(LinkDrop drop) {
  constexpr std::array<std::string_view, link_drop_count + 1> names{
      LOCKSTEP_LINK_DROPS(LOCKSTEP_NAME) "none"};
  return names[static_cast<std::uint32_t>(drop)];
}

constexpr std::string_view text_of(LinkDrop drop) {
  constexpr std::array<std::string_view, link_drop_count + 1> texts{
      LOCKSTEP_LINK_DROPS(LOCKSTEP_TEXT) "the frame was not dropped"};
  return texts[static_cast<std::uint32_t>(drop)];
}

}  // namespace lockstep::sim
