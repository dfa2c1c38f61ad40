// What the runtime asks the Linux kernel of a TILE-Gx for, by the numbers of its system calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>

namespace lockstep::tilegx {

extern "C" long lockstep_call(long number, long first, long second, long third, long fourth,
                              long fifth, long sixth);

/// Writes all octets to the descriptor; false if the kernel would not take them.
bool write_all(int descriptor, const std::byte* octets, std::size_t count);

/// Pages of zeros, or nullptr when there are no more. `bytes` is a multiple of the page.
std::byte* take_pages(std::size_t bytes);
void give_pages_back(std::byte* pages, std::size_t bytes);

/// The time of one of the kernel's clocks; nothing is written where there is no such clock.
void read_clock(int clock, timespec& time);

[[noreturn]] void end_now(int code);

/// Writes `runtime: what` and ends as abort() does.
[[noreturn]] void die(const char* what);

/// A page of the kernel of a TILE-Gx, whose least is 64 KiB.
inline constexpr std::size_t page_bytes = 65536;

}  // namespace lockstep::tilegx
