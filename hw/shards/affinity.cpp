// Uses sched_setaffinity(2) on the calling thread.
#include "hw/shards/affinity.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

namespace lockstep::hw {
namespace {

Trouble not_cpus(const std::string& text) {
  return {TroubleKind::bad_input,
          "'" + text + "' is not a list of processors: write it like 0,2-3, each once"};
}

bool read_number(const char*& at, const char* end, std::uint32_t& out) {
  auto const [stopped, error] = std::from_chars(at, end, out);
  bool const good = error == std::errc{} && out < CPU_SETSIZE;
  at = stopped;
  return good;
}

}  // namespace

Trouble parse_cpus(const std::string& text, std::vector<Cpu>& into) {
  into.clear();
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at <= end) {
    std::uint32_t first = 0;
    if (!read_number(at, end, first)) {
      return not_cpus(text);
    }
    std::uint32_t last = first;
    if (at != end && *at == '-') {
      ++at;
      if (!read_number(at, end, last) || last < first) {
        return not_cpus(text);
      }
    }
    for (std::uint32_t number = first; number <= last; ++number) {
      if (std::find(into.begin(), into.end(), Cpu{number}) != into.end()) {
        return not_cpus(text);
      }
      into.push_back({number});
    }
    if (at == end) {
      return {};
    }
    if (*at != ',') {
      return not_cpus(text);
    }
    ++at;
  }
  return not_cpus(text);
}

std::vector<Cpu> allowed_cpus() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  std::vector<Cpu> out;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
    for (std::uint32_t number = 0; number < CPU_SETSIZE; ++number) {
      if (CPU_ISSET(number, &allowed)) {
        out.push_back({number});
      }
    }
  }
  return out;
}

std::uint32_t memory_nodes() {
  std::uint32_t found = 0;
  while (access(("/sys/devices/system/node/node" + std::to_string(found)).c_str(), F_OK) == 0) {
    ++found;
  }
  return found == 0 ? 1 : found;
}

Trouble pin_to(Cpu cpu) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu.number, &one);
  if (sched_setaffinity(0, sizeof one, &one) == 0) {
    return {};
  }
  return {errno == EINVAL ? TroubleKind::bad_input : TroubleKind::environment,
          "processor " + std::to_string(cpu.number) + ": " + std::strerror(errno) +
              ": name those that this program may run on (`taskset -cp $$`)"};
}

}  // namespace lockstep::hw
