// The calls of a script, made on sockets: arguments to values, results against what is expected.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "conformance/script/syntax.hpp"
#include "tools/sockets/sockets.hpp"

namespace lockstep::script {

/// How a call went: nothing yet if it `blocks`; else `fault` is empty or says what was not as
/// expected.
struct Called {
  bool blocks = false;
  std::string fault;
};

/// Makes calls. Descriptors of the script are its own numbers. Throws SyntaxError, with the place,
/// for a call, an argument or a name that is not known here: nothing is skipped.
class Caller {
 public:
  explicit Caller(tools::Sockets& sockets) : sockets_(sockets) {}

  /// Begins a call, or goes on with one that blocked (`again`).
  Called call(const Call& call, Place place, bool again);
  /// The last port that bind() or connect() named: packets of the script are of it.
  Port bound() const { return bound_; }

  static constexpr Port service{8080};           // of bind() and connect() with `...`
  static constexpr IpAddress local = IpAddress::v4(192, 168, 0, 1);
  static constexpr IpAddress remote = IpAddress::v4(192, 0, 2, 1);

 private:
  struct Outcome {
    tools::Result result = 0;
    std::string fault;        // of what was written through a pointer
    bool makes_descriptor = false;
  };

  Outcome make(const Call& call, Place place);
  Outcome open(const Call& call);
  Outcome name(const Call& call);
  Outcome transfer(const Call& call);
  Outcome option(const Call& call);
  Outcome poll(const Call& call);
  bool may_block(const Call& call);

  const Node& argument(const Call& call, std::size_t index) const;
  std::int64_t value(const Call& call, std::uint32_t node) const;
  std::int64_t number(const Call& call, std::size_t index) const;
  std::int64_t number_or(const Call& call, std::size_t index, std::int64_t otherwise) const;
  int descriptor(const Call& call, std::size_t index) const;
  sockaddr_storage address(const Call& call, std::size_t index) const;

  tools::Sockets& sockets_;
  std::map<std::int64_t, int> descriptors_;
  Port bound_ = service;
  std::uint64_t written_ = 0;  // of a write that blocks
};

}  // namespace lockstep::script
