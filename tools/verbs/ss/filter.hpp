// Filters of `lockstep ss`, in the notation of Linux's ss.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/units/address.hpp"

namespace lockstep::tools {

/// What a filter looks at.
struct Filtered {
  std::string state;  ///< as RFC 9293 writes it, like ESTABLISHED
  Endpoint local;
  Endpoint remote;
};

/// `state established and ( sport = :80 or dst 10.0.0.0/8 )`. Terms without a word between them
/// must all hold, as with `and`, which binds closer than `or`; `not` negates a term.
class Filter {
 public:
  /// Words of the command line; no words: everything passes. Throws Failure (bad input).
  static Filter read(const std::vector<std::string>& words);
  bool passes(const Filtered& row) const;

  struct Node;

 private:
  std::shared_ptr<const Node> root_;
};

}  // namespace lockstep::tools
