// Finds and loads the shared libraries that hold a device.
#include "conformance/devices/load.hpp"

#include <dlfcn.h>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>
#include <string_view>
#include <system_error>

#include "conformance/devices/program.h"
#include "tools/base/process/exec.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/base/text/suggestion.hpp"

namespace lockstep::conformance {
namespace {

namespace fs = std::filesystem;
using tools::ExitCode;
using tools::Failure;

constexpr std::string_view symbol = "lockstep_device_entry";

[[noreturn]] void wrong(const fs::path& path, const std::string& what) {
  throw Failure(ExitCode::bad_input, fmt::format("{}: {}", path.string(), what));
}

/// An optional call.
struct Function {
  std::string_view name;
  const void* address;
};

std::array<Function, 14> functions_of(const lockstep_device_calls& calls) {
  const auto at = [](auto* function) { return reinterpret_cast<const void*>(function); };
  return {{{"listen", at(calls.listen)},
           {"unlisten", at(calls.unlisten)},
           {"accept", at(calls.accept)},
           {"connect", at(calls.connect)},
           {"send", at(calls.send)},
           {"receive", at(calls.receive)},
           {"finish", at(calls.finish)},
           {"close", at(calls.close)},
           {"abort", at(calls.abort)},
           {"urgent", at(calls.urgent)},
           {"set", at(calls.set)},
           {"get", at(calls.get)},
           {"state", at(calls.state)},
           {"events", at(calls.events)}}};
}

/// A function that is not static and has the name of one of the C library, as listen(), is replaced
/// by that one when the device is loaded.
void expect_own(const fs::path& path, const lockstep_device_calls& calls) {
  for (const auto& [name, function] : functions_of(calls)) {
    Dl_info info{};
    if (function == nullptr || dladdr(function, &info) == 0 || info.dli_sname == nullptr) {
      continue;
    }
    if (name == info.dli_sname && fs::path(info.dli_fname).filename() != path.filename()) {
      wrong(path, fmt::format("its {}() is that of {}: make it static, or link with "
                              "-Wl,-Bsymbolic",
                              name, info.dli_fname));
    }
  }
}

}  // namespace

std::vector<fs::path> device_folders() {
  std::vector<fs::path> out;
  const char* const named = std::getenv("LOCKSTEP_DEVICES");
  std::string_view rest = named == nullptr ? "" : named;
  while (!rest.empty()) {
    const std::string_view next = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(next.size() + 1, rest.size()));
    if (!next.empty()) {
      out.emplace_back(next);
    }
  }
  const fs::path own = tools::program_folder();
  out.push_back(own / "devices");
  out.push_back(own.parent_path() / "lib" / "lockstep" / "devices");
  return out;
}

std::vector<fs::path> found_devices() {
  std::vector<fs::path> out;
  std::set<std::string> names;
  for (const fs::path& folder : device_folders()) {
    std::vector<fs::path> here;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(folder, none)) {
      const fs::path program = entry.path() / "device";
      const bool runs = fs::is_regular_file(program, none);
      const bool is_device = runs || entry.path().extension() == ".so";
      if (is_device && names.insert(entry.path().stem()).second) {
        here.push_back(runs ? program : entry.path());
      }
    }
    out.insert(out.end(), here.begin(), here.end());
  }
  std::ranges::sort(out, {}, device_name);
  return out;
}

bool is_program(const fs::path& path) { return path.extension() != ".so"; }

std::string device_name(const fs::path& path) {
  return path.filename() == "device" ? path.parent_path().filename().string()
                                     : path.stem().string();
}

fs::path device_path(const std::string& name) {
  std::error_code none;
  if (name.find('/') != std::string::npos) {
    if (!fs::exists(name, none)) {
      wrong(name, "there is no such file: name the shared library of a device");
    }
    return name;
  }
  std::vector<std::string> known;
  for (const fs::path& path : found_devices()) {
    if (device_name(path) == name) {
      return path;
    }
    known.push_back(device_name(path));
  }
  throw Failure(ExitCode::bad_input,
                fmt::format("device {}: there is none of this name{}; choose {}, or write the path "
                            "of its shared library",
                            name, tools::suggestion(name, known),
                            known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", "))));
}

const lockstep_device_calls& load_device(const fs::path& path) {
  void* const library = dlopen(fs::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    wrong(path, fmt::format("it cannot be loaded: {}", dlerror()));
  }
  void* const found = dlsym(library, symbol.data());
  if (found == nullptr) {
    wrong(path, fmt::format("it does not export {}(): see conformance/devices/device.h", symbol));
  }
  const auto enter = reinterpret_cast<const lockstep_device_calls* (*)()>(found);
  const lockstep_device_calls* const calls = enter();
  if (calls == nullptr || calls->version != LOCKSTEP_DEVICE_VERSION) {
    wrong(path, fmt::format("its interface has version {}, expected {}: compile it again",
                            calls == nullptr ? 0 : calls->version, LOCKSTEP_DEVICE_VERSION));
  }
  if (calls->name == nullptr || calls->stack == nullptr || calls->abilities == nullptr) {
    wrong(path, "name, stack or abilities is NULL: write a word");
  }
  if (calls->create == nullptr || calls->destroy == nullptr || calls->advance == nullptr ||
      calls->deadline == nullptr || calls->packet_in == nullptr || calls->packet_out == nullptr) {
    wrong(path,
          "create, destroy, advance, deadline, packet_in or packet_out is NULL: each device "
          "has them");
  }
  expect_own(path, *calls);
  return *calls;
}

void serve_library(const fs::path& path) {
  const lockstep_device_calls& calls = load_device(path);
  const int out = dup(STDOUT_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  if (const char* const wrong = lockstep_device_serve(&calls, STDIN_FILENO, out)) {
    throw Failure(ExitCode::finding, fmt::format("device {}: {}", calls.name, wrong));
  }
}

std::string missing_calls(const lockstep_device_calls& calls) {
  std::string out;
  for (const auto& [name, function] : functions_of(calls)) {
    if (function == nullptr) {
      out += out.empty() ? "" : " ";
      out += name;
    }
  }
  return out;
}

}  // namespace lockstep::conformance
