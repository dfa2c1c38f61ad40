// Copies option values across the C boundary and checks their lengths.
#pragma once

#include <sys/socket.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/tcp/interface.hpp"

namespace lockstep::tools {

/// Copies as much of the value as *length allows and sets *length to that. 0, -EFAULT or -EINVAL.
std::int64_t write_value(const void* from, std::size_t size, void* value, socklen_t* length);

inline std::int64_t write_int(int from, void* value, socklen_t* length) {
  return write_value(&from, sizeof from, value, length);
}

inline int as_int(std::uint32_t value) { return static_cast<int>(value); }

/// A numeric option of level IPPROTO_TCP that is a setting of the connection: its range and its
/// unit.
struct NumberedOption {
  int name = 0;
  int least = 0;
  int most = 0;
  SettingKind kind{};
  std::uint64_t unit = 1;
};

/// 0, -EFAULT, or -EINVAL if the value is too short.
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
