// A Refusal of the core as an exception, which Python sees as lockstep.Refused.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "core/tcp/interface.hpp"

namespace lockstep::tools::python {

class Refused : public std::runtime_error {
 public:
  Refused(Refusal refusal, const std::string& call)
      : std::runtime_error(call + " was refused: " + std::string(name_of(refusal))),
        refusal_(refusal) {}
  Refusal refusal() const { return refusal_; }

 private:
  Refusal refusal_;
};

inline void refuse_unless_none(Refusal refusal, const char* call) {
  if (refusal != Refusal::none) {
    throw Refused(refusal, call);
  }
}

/// The number of bytes accepted; 0 if there is no room now, which is not a failure.
inline std::uint32_t taken_or_refused(const Taken& taken, const char* call) {
  if (taken.refusal != Refusal::no_room && taken.bytes.empty()) {
    refuse_unless_none(taken.refusal, call);
  }
  return taken.bytes.count;
}

}  // namespace lockstep::tools::python
