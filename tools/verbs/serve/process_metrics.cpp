// Read from /proc and getrusage(2) at each call.
#include "tools/verbs/serve/process_metrics.hpp"

#include <fmt/core.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "tools/base/process/version.hpp"

namespace lockstep::tools {
namespace {

void add_metric(std::string& out, std::string_view name, std::string_view type,
                std::string_view help, const std::string& value) {
  out += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n{0} {3}\n", name, help, type, value);
}

std::uint64_t clock_ns(clockid_t which) {
  timespec now{};
  clock_gettime(which, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

/// When the process began, in nanoseconds since 1970; 0 if /proc does not tell.
std::uint64_t begun_ns() {
  std::ifstream file("/proc/self/stat");
  std::string line;
  std::getline(file, line);
  // The name of the program, in parentheses, may contain blanks. The time is field 22.
  std::size_t at = line.rfind(')');
  for (int field = 2; field < 22 && at != std::string::npos; ++field) {
    at = line.find(' ', at + 1);
  }
  if (at == std::string::npos) {
    return 0;
  }
  auto const ticks = std::strtoull(line.c_str() + at, nullptr, 10);
  auto const tick_ns = 1'000'000'000 / static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
  return clock_ns(CLOCK_REALTIME) - (clock_ns(CLOCK_BOOTTIME) - ticks * tick_ns);
}

std::uint64_t open_descriptors() {
  std::error_code error;
  std::uint64_t count = 0;
  for (auto each = std::filesystem::directory_iterator("/proc/self/fd", error);
       !error && each != std::filesystem::directory_iterator(); each.increment(error)) {
    ++count;
  }
  return count == 0 ? 0 : count - 1;  // without the one that lists them
}

}  // namespace

std::string seconds_text(Duration time) {
  std::string out = fmt::format("{}.{:09}", time.ns / 1'000'000'000, time.ns % 1'000'000'000);
  while (out.ends_with('0') && !out.ends_with(".0")) {
    out.pop_back();
  }
  return out;
}

std::string process_metrics() {
  std::string out = fmt::format(
      "# HELP lockstep_build_info What was built, and by which compiler; always 1.\n"
      "# TYPE lockstep_build_info gauge\n"
      "lockstep_build_info{{version=\"{}\",compiler=\"{} {}\"}} 1\n",
      version,
#ifdef __clang__
      "clang", __clang_major__);
#else
      "gcc", __GNUC__);
#endif
  add_metric(out, "process_cpu_seconds_total", "counter",
             "Processor time of the process, in user space and kernel.",
             seconds_text({clock_ns(CLOCK_PROCESS_CPUTIME_ID)}));
  std::ifstream memory("/proc/self/statm");
  std::uint64_t whole = 0;
  std::uint64_t resident = 0;
  memory >> whole >> resident;
  auto const page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  add_metric(out, "process_virtual_memory_bytes", "gauge", "Virtual memory in octets.",
             std::to_string(whole * page));
  add_metric(out, "process_resident_memory_bytes", "gauge", "Resident memory in octets.",
             std::to_string(resident * page));
  add_metric(out, "process_start_time_seconds", "gauge", "Start of the process since 1970.",
             seconds_text({begun_ns()}));
  add_metric(out, "process_open_fds", "gauge", "Open file descriptors.",
             std::to_string(open_descriptors()));
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  add_metric(out, "process_max_fds", "gauge", "Limit of open file descriptors.",
             std::to_string(limit.rlim_cur));
  return out;
}

}  // namespace lockstep::tools
