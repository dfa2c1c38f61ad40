// The state of a server as octets, and back.
#include <cstring>
#include <type_traits>

#include "tools/lib/http/server.hpp"

namespace lockstep::http {
namespace {

template <class Value>
void append(std::vector<std::byte>& out, const Value& value) {
  static_assert(std::is_trivially_copyable_v<Value>);
  auto const bytes = std::as_bytes(std::span(&value, 1));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

template <class Value>
void take(std::span<const std::byte>& from, Value& value) {
  static_assert(std::is_trivially_copyable_v<Value>);
  std::memcpy(&value, from.data(), sizeof value);
  from = from.subspan(sizeof value);
}

}  // namespace

std::vector<std::byte> Server::snapshot() const {
  std::vector<std::byte> out;
  Rest rest;
  rest.slots = slots_.size();
  rest.listener = listener_;
  rest.counters = counters_;
  rest.open = open_;
  rest.dying = dying_;
  rest.ready_first = ready_first_;
  rest.ready_count = ready_count_;
  rest.stopping = stopping_;
  for (const Slot& slot : slots_) {
    rest.slots_in_use += slot.phase == Phase::none ? 0 : 1;
  }
  append(out, rest);
  waiting_.append_to(out);
  auto const ready = std::as_bytes(std::span(ready_));
  out.insert(out.end(), ready.begin(), ready.end());
  for (std::uint32_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].phase != Phase::none) {
      append(out, i);
      append(out, slots_[i]);
    }
  }
  return out;
}

std::uint64_t Server::snapshot_bytes_max(Count connections) {
  constexpr std::uint64_t lists_and_links = 64;
  return 4096 + connections.value * (sizeof(Slot) + lists_and_links);
}

bool Server::restore(std::span<const std::byte> from) {
  Rest rest;
  if (from.size() < sizeof rest) {
    return false;
  }
  take(from, rest);
  std::size_t const ready_octets = ready_.size() * sizeof ready_.front();
  constexpr std::size_t slot_octets = sizeof(std::uint32_t) + sizeof(Slot);
  if (rest.layout != sizeof(Slot) || rest.slots != slots_.size() ||
      rest.slots_in_use > slots_.size() ||
      from.size() != waiting_.octets() + ready_octets + rest.slots_in_use * slot_octets) {
    return false;
  }
  waiting_.take_from(from);
  from = from.subspan(waiting_.octets());
  std::memcpy(ready_.data(), from.data(), ready_octets);
  from = from.subspan(ready_octets);
  for (Slot& slot : slots_) {
    slot.phase = Phase::none;
    slot.ready = false;
  }
  while (!from.empty()) {
    std::uint32_t index = 0;
    take(from, index);
    if (index >= slots_.size()) {
      return false;
    }
    take(from, slots_[index]);
  }
  listener_ = rest.listener;
  counters_ = rest.counters;
  open_ = rest.open;
  dying_ = rest.dying;
  clients_.clear();
  for (const Slot& slot : slots_) {
    if (slot.phase != Phase::none && slot.counted) {
      clients_.add(slot.client);
    }
  }
  ready_first_ = rest.ready_first;
  ready_count_ = rest.ready_count;
  stopping_ = rest.stopping;
  return true;
}

}  // namespace lockstep::http
