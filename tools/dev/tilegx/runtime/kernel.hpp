// The system calls that the runtime needs of the Linux kernel of a TILE-Gx.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>

namespace lockstep::tilegx {

extern "C" long lockstep_call(long number, long first, long second, long third, long fourth,
                              long fifth, long sixth);

/// Writes all octets to the descriptor; false on an error.
bool write_all(int descriptor, const std::byte* octets, std::size_t count);

/// Zeroed pages, or nullptr if there are no more. `bytes` is a multiple of the page size.
std::byte* take_pages(std::size_t bytes);
void give_pages_back(std::byte* pages, std::size_t bytes);

/// The time of one of the kernel's clocks; `time` is unchanged if there is no such clock.
void read_clock(int clock, timespec& time);

[[noreturn]] void end_now(int code);

/// Writes `runtime: what` and aborts.
[[noreturn]] void die(const char* what);

/// The smallest page of a TILE-Gx kernel, 64 KiB.
inline constexpr std::size_t page_bytes = 65536;

}  // namespace lockstep::tilegx
