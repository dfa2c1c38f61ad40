// The process-wide handler of failed CHECKs.
#include "core/units/check.hpp"

#include <array>
#include <cstdio>

namespace lockstep {
namespace {

// A bare machine (TILE-Gx) has fputs but no printf.
void print_site(const CheckSite& site) {
  std::array<char, 12> digits{};
  char* line = digits.end() - 1;
  for (int rest = site.line; rest > 0; rest /= 10) {
    *--line = static_cast<char>('0' + rest % 10);
  }
  for (const char* part : {"lockstep: stopped at ", site.file, ":", static_cast<const char*>(line),
                           ": ", site.condition, "\n"}) {
    static_cast<void>(std::fputs(part, stderr));
  }
}

CheckHandler handler_of_process = print_site;

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
