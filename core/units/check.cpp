// The process-wide handler of failed CHECKs.
#include "core/units/check.hpp"

namespace lockstep {
namespace {

CheckHandler handler_of_process = nullptr;

}  // namespace

CheckHandler set_check_handler(CheckHandler handler) noexcept {
  CheckHandler const previous = handler_of_process;
  handler_of_process = handler;
  return previous;
}

void check_failed(const CheckSite& site) noexcept {
  if (handler_of_process != nullptr) {
    handler_of_process(site);
  }
  __builtin_trap();
}

}  // namespace lockstep
