// Copies option values across the C boundary and checks their lengths.
#pragma once

#include <sys/socket.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace lockstep::tools {

/// Copies as much of the value as *length allows and sets *length to that. 0, -EFAULT or -EINVAL.
std::int64_t write_value(const void* from, std::size_t size, void* value, socklen_t* length);

inline std::int64_t write_int(int from, void* value, socklen_t* length) {
  return write_value(&from, sizeof from, value, length);
}

inline int as_int(std::uint32_t value) { return static_cast<int>(value); }

/// 0, -EFAULT, or -EINVAL if `length` is too short.
template <class T>
std::int64_t read_value(const void* value, socklen_t length, T& out) {
  if (value == nullptr) {
    return -EFAULT;
  }
  if (length < sizeof out) {
    return -EINVAL;
  }
  std::memcpy(&out, value, sizeof out);
  return 0;
}

}  // namespace lockstep::tools
