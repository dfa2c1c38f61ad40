// The system calls of kernel.hpp, with the numbers of Linux's generic table.
#include "tools/dev/tilegx/runtime/kernel.hpp"

#include <cstring>

namespace lockstep::tilegx {
namespace {

constexpr long call_write = 64;
constexpr long call_exit_group = 94;
constexpr long call_clock_gettime = 113;
constexpr long call_munmap = 215;
constexpr long call_mmap = 222;

constexpr long interrupted = -4;
constexpr long errors_from = -4095;

long address_of(const void* pointer) { return reinterpret_cast<long>(pointer); }

}  // namespace

bool write_all(int descriptor, const std::byte* octets, std::size_t count) {
  while (count > 0) {
    long const taken = lockstep_call(call_write, descriptor, address_of(octets),
                                     static_cast<long>(count), 0, 0, 0);
    if (taken == interrupted) {
      continue;
    }
    if (taken <= 0) {
      return false;
    }
    octets += taken;
    count -= static_cast<std::size_t>(taken);
  }
  return true;
}

std::byte* take_pages(std::size_t bytes) {
  constexpr long read_and_write = 3;
  constexpr long private_and_anonymous = 0x22;
  long const answer = lockstep_call(call_mmap, 0, static_cast<long>(bytes), read_and_write,
                                    private_and_anonymous, -1, 0);
  bool const refused = answer < 0 && answer >= errors_from;
  return refused ? nullptr : reinterpret_cast<std::byte*>(answer);
}

void give_pages_back(std::byte* pages, std::size_t bytes) {
  static_cast<void>(
      lockstep_call(call_munmap, address_of(pages), static_cast<long>(bytes), 0, 0, 0, 0));
}

void read_clock(int clock, timespec& time) {
  static_cast<void>(lockstep_call(call_clock_gettime, clock, address_of(&time), 0, 0, 0, 0));
}

void end_now(int code) {
  for (;;) {
    static_cast<void>(lockstep_call(call_exit_group, code, 0, 0, 0, 0, 0));
  }
}

void die(const char* what) {
  constexpr int standard_error = 2;
  constexpr int as_abort_does = 134;
  const char* const parts[] = {"runtime: ", what, "\n"};
  for (const char* part : parts) {
    write_all(standard_error, reinterpret_cast<const std::byte*>(part), std::strlen(part));
  }
  end_now(as_abort_does);
}

}  // namespace lockstep::tilegx
