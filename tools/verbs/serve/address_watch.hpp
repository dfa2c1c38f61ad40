// Watches the addresses of a server: whether they are tested, and whether another host has one.
#pragma once

#include <string>

#include "core/stack/stack.hpp"

namespace lockstep::tools {

/// One per shard. O(addresses).
class AddressWatch {
 public:
  explicit AddressWatch(const Stack& stack) : stack_(stack) {}

  /// Whether each IPv4 address is usable or a duplicate. IPv6 addresses are not waited for.
  bool decided();
  /// The duplicates, with the link address of the other host; empty if there are none.
  std::string duplicates() const;
  /// A line about another host that began to use an address of ours; empty if there is none, or if
  /// such a line was returned in the last ten seconds.
  std::string news(Instant now);

 private:
  const Stack& stack_;
  bool decided_ = false;
  std::uint64_t told_ = 0;  // conflicts
  Instant next_;            // no line before
};

}  // namespace lockstep::tools
