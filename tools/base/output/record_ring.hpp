// Records from one thread to another, without locks and in bounded memory.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "core/units/check.hpp"

namespace lockstep::tools {

/// One thread puts, another takes. A record for which there is no room is refused, and nothing of
/// it is stored.
class RecordRing {
 public:
  /// `octets` is a power of two. Each record takes four octets more.
  explicit RecordRing(std::size_t octets)
      : octets_(octets), bytes_(std::make_unique<std::byte[]>(octets)) {
    CHECK(std::has_single_bit(octets));
  }

  /// Stores both parts as one record.
  bool put(std::span<const std::byte> head, std::span<const std::byte> rest) {
    std::uint64_t const end = end_.load(std::memory_order_relaxed);
    auto const length = static_cast<std::uint32_t>(head.size() + rest.size());
    std::uint64_t const wanted = sizeof length + head.size() + rest.size();
    if (end + wanted - begin_seen_ > octets_) {
      begin_seen_ = begin_.load(std::memory_order_acquire);
      if (end + wanted - begin_seen_ > octets_) {
        return false;
      }
    }
    copy_in(end, std::as_bytes(std::span(&length, 1)));
    copy_in(end + sizeof length, head);
    copy_in(end + sizeof length + head.size(), rest);
    end_.store(end + wanted, std::memory_order_release);
    return true;
  }

  /// The next record; false if there is none. It stays in the ring until drop().
  bool look(std::vector<std::byte>& into) const {
    std::uint64_t const begin = begin_.load(std::memory_order_relaxed);
    if (end_.load(std::memory_order_acquire) == begin) {
      return false;
    }
    std::uint32_t length = 0;
    copy_out(begin, std::as_writable_bytes(std::span(&length, 1)));
    into.resize(length);
    copy_out(begin + sizeof length, into);
    return true;
  }
  /// Removes the record that look() gave last.
  void drop(const std::vector<std::byte>& looked_at) {
    std::uint64_t const begin = begin_.load(std::memory_order_relaxed);
    begin_.store(begin + sizeof(std::uint32_t) + looked_at.size(), std::memory_order_release);
  }
  /// Takes all records that are there now, until `take` returns false. Of those that are put
  /// meanwhile it takes a ring's octets at most: who puts as fast keeps no other ring waiting.
  template <class Take>
  void take_round(std::vector<std::byte>& buffer, Take take) {
    bool more = true;
    for (std::size_t taken = 0; more && taken < octets_ && look(buffer);) {
      taken += sizeof(std::uint32_t) + buffer.size();
      more = take(std::span(buffer));
      drop(buffer);
    }
  }

 private:
  void copy_in(std::uint64_t at, std::span<const std::byte> from) {
    std::size_t const place = at & (octets_ - 1);
    std::size_t const first = std::min(from.size(), octets_ - place);
    if (!from.empty()) {
      std::memcpy(bytes_.get() + place, from.data(), first);
      std::memcpy(bytes_.get(), from.data() + first, from.size() - first);
    }
  }
  void copy_out(std::uint64_t at, std::span<std::byte> to) const {
    std::size_t const place = at & (octets_ - 1);
    std::size_t const first = std::min(to.size(), octets_ - place);
    if (!to.empty()) {
      std::memcpy(to.data(), bytes_.get() + place, first);
      std::memcpy(to.data() + first, bytes_.get(), to.size() - first);
    }
  }

  std::size_t octets_;
  std::unique_ptr<std::byte[]> bytes_;
  std::uint64_t begin_seen_ = 0;                     // the putting thread's copy of begin_
  alignas(64) std::atomic<std::uint64_t> end_{0};    // written by the putting thread
  alignas(64) std::atomic<std::uint64_t> begin_{0};  // written by the taking thread
};

}  // namespace lockstep::tools
