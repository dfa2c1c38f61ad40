// Assertions that are on in every build: our own bug, never a peer's or an application's.
#pragma once

namespace lockstep {

// Where a CHECK failed. The strings are literals and live for ever.
struct CheckSite {
  const char* condition;
  const char* file;
  int line;
};

// Called once, on the failing thread, before the program stops. Until one is installed the site is
// printed on standard error. It may print (the simulator prints the seed and the instant); if it
// returns, the program traps all the same.
using CheckHandler = void (*)(const CheckSite&);

// Installs the handler of the whole process and returns the previous one. Install it before the
// first Stack is made: the handler is a plain pointer, not an atomic.
CheckHandler set_check_handler(CheckHandler handler) noexcept;

// Never returns.
[[noreturn]] void check_failed(const CheckSite& site) noexcept;

}  // namespace lockstep

// One condition each. Peer input must never reach a false one (law 4).
#define CHECK(condition)                                          \
  do {                                                            \
    if (!(condition)) [[unlikely]] {                              \
      ::lockstep::check_failed({#condition, __FILE__, __LINE__}); \
    }                                                             \
  } while (false)
