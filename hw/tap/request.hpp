// An ioctl request that names an interface.
#pragma once

#include <net/if.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>

namespace lockstep::hw {

inline ifreq request_for(const std::string& name) {
  ifreq request{};
  std::memcpy(request.ifr_name, name.data(), std::min(name.size(), std::size_t{IFNAMSIZ - 1}));
  return request;
}

}  // namespace lockstep::hw
