// Congestion controllers in shared objects: `--controller FILE.so`.
#include "tools/lib/controllers/load.hpp"

#include <dlfcn.h>
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "core/tcp/congestion/added.hpp"
#include "tools/base/process/failure.hpp"

namespace lockstep::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char* symbol = "lockstep_controller_of";

[[noreturn]] void refuse(const std::string& file, const std::string& what) {
  throw Failure(ExitCode::bad_input, fmt::format("{}: {}", file, what));
}

/// What was added: by name, where it came from.
std::map<std::string, std::string>& origins() {
  static std::map<std::string, std::string> all;
  return all;
}

/// The controller of each loaded object.
std::map<const void*, std::string>& loaded() {
  static std::map<const void*, std::string> all;
  return all;
}

}  // namespace

void add_controller_of(const std::string& origin, const void* controller) {
  const auto* const added = static_cast<const lockstep_controller*>(controller);
  const std::string_view reason = tcp::add_controller(*added);
  if (!reason.empty()) {
    refuse(origin, fmt::format("not a congestion controller that can be used: {}", reason));
  }
  origins().emplace(added->name, origin);
}

std::string load_controller(const std::string& file) {
  std::error_code failed;
  if (!fs::is_regular_file(file, failed)) {
    refuse(file, "there is no such file: name a shared object with a congestion controller");
  }
  // With a folder in front, so that it is not sought elsewhere.
  void* const object = dlopen(fs::absolute(file).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (object == nullptr) {
    const std::string error = dlerror();
    refuse(file, fmt::format("cannot be loaded: {}: compile it with cc -shared -fPIC", error));
  }
  void* const found = dlsym(object, symbol);
  if (found == nullptr) {
    refuse(file,
           fmt::format("exports no {}(): core/tcp/congestion/controller.h declares it", symbol));
  }
  const auto* const controller = reinterpret_cast<lockstep_controller_function*>(found)();
  if (controller == nullptr) {
    refuse(file, fmt::format("{}() returned no controller", symbol));
  }
  const auto known = loaded().find(controller);
  if (known != loaded().end()) {
    return known->second;
  }
  add_controller_of(file, controller);
  loaded().emplace(controller, controller->name);
  return controller->name;
}

tcp::Congestion congestion_of(const std::string& file) {
  const std::string name = load_controller(file);
  const auto words = tcp::congestion_words();
  return static_cast<tcp::Congestion>(std::ranges::find(words, name) - words.begin());
}

std::string controller_fault_of(const tcp::ControllerFault& fault, tcp::Congestion congestion,
                                const std::string& where) {
  if (!fault.found) {
    return {};
  }
  const std::string name(tcp::congestion_words()[static_cast<std::size_t>(congestion)]);
  return fmt::format(
      "{}: controller {} {} set cwnd to {} at {}.{:09} s of its clock: 1 to {} octets are possible",
      origins()[name], name, where, fault.cwnd, fault.at.ns / 1'000'000'000,
      fault.at.ns % 1'000'000'000, LOCKSTEP_CONTROLLER_CWND_MAX);
}

std::string controller_fault_of(const sim::Kernel& kernel) {
  for (std::uint32_t i = 0; i < kernel.host_count(); ++i) {
    const sim::Host& host = kernel.host({i});
    std::string line =
        controller_fault_of(host.stack().controller_fault(), host.spec().config.tcp.congestion,
                            fmt::format("of host {}", host.spec().name.view()));
    if (!line.empty()) {
      return line;
    }
  }
  return {};
}

}  // namespace lockstep::tools
