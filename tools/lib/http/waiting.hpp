// Timeouts of connections: one list for each kind of waiting, ordered by expiry.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "core/units/check.hpp"
#include "core/units/time.hpp"

namespace lockstep::http {

/// All connections of a list wait equally long, so appending keeps the list ordered by expiry.
/// Nothing is searched, and nothing is allocated after construction.
class WaitingLists {
 public:
  static constexpr std::uint32_t none = 0xffff'ffff;
  static constexpr std::uint32_t lists_max = 5;

  explicit WaitingLists(std::uint32_t connections) : links_(connections) {}

  void set_patience(std::uint32_t list, Duration patience) { lists_[list].patience = patience; }

  /// Starts waiting at `now` in this list; leaves any other list.
  void wait(std::uint32_t connection, std::uint32_t list, Instant now) {
    leave(connection);
    Link& link = links_[connection];
    link = {now + lists_[list].patience, lists_[list].last, none, list};
    (link.before == none ? lists_[list].first : links_[link.before].next) = connection;
    lists_[list].last = connection;
  }
  void leave(std::uint32_t connection) {
    Link& link = links_[connection];
    if (link.list == none) {
      return;
    }
    List& list = lists_[link.list];
    (link.before == none ? list.first : links_[link.before].next) = link.next;
    (link.next == none ? list.last : links_[link.next].before) = link.before;
    link.list = none;
  }
  /// Removes and returns the first connection whose time is over; `none` if there is none.
  std::uint32_t pop_due(std::uint32_t list, Instant now) {
    std::uint32_t const first = lists_[list].first;
    if (first == none || links_[first].due > now) {
      return none;
    }
    leave(first);
    return first;
  }
  /// The connection that has waited longest in this list; `none` if it is empty.
  std::uint32_t first(std::uint32_t list) const { return lists_[list].first; }
  /// Since when it has waited; it must be in a list.
  Instant since(std::uint32_t connection) const {
    return links_[connection].due - lists_[links_[connection].list].patience;
  }
  /// The earliest expiry of all lists.
  Instant deadline() const {
    Instant due = Instant::never();
    for (const List& list : lists_) {
      due = list.first == none ? due : earlier(due, links_[list.first].due);
    }
    return due;
  }
  /// Its state as octets, and restored from the front of `from`, which must be long enough. Both
  /// need the same number of connections.
  void append_to(std::vector<std::byte>& out) const {
    auto const links = std::as_bytes(std::span(links_));
    auto const lists = std::as_bytes(std::span(lists_));
    out.insert(out.end(), links.begin(), links.end());
    out.insert(out.end(), lists.begin(), lists.end());
  }
  std::size_t octets() const { return links_.size() * sizeof(Link) + sizeof lists_; }
  void take_from(std::span<const std::byte> from) {
    std::memcpy(links_.data(), from.data(), links_.size() * sizeof(Link));
    std::memcpy(lists_.data(), from.data() + links_.size() * sizeof(Link), sizeof lists_);
  }

  std::uint32_t list_of(std::uint32_t connection) const { return links_[connection].list; }

 private:
  struct Link {
    Instant due;
    std::uint32_t before = none;
    std::uint32_t next = none;
    std::uint32_t list = none;
  };
  struct List {
    Duration patience;
    std::uint32_t first = none;
    std::uint32_t last = none;
  };

  std::vector<Link> links_;
  std::array<List, lists_max> lists_{};
};

}  // namespace lockstep::http
