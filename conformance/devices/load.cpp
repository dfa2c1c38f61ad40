// Finds and loads the shared libraries that hold a device.
#include "conformance/devices/load.hpp"

#include <dlfcn.h>
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string_view>
#include <system_error>

#include "tools/base/process/exec.hpp"
#include "tools/base/process/failure.hpp"

namespace lockstep::conformance {
namespace {

namespace fs = std::filesystem;
using tools::ExitCode;
using tools::Failure;

constexpr std::string_view symbol = "lockstep_device_entry";

[[noreturn]] void wrong(const fs::path& path, const std::string& what) {
  throw Failure(ExitCode::bad_input, fmt::format("{}: {}", path.string(), what));
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
      if (entry.path().extension() == ".so" && names.insert(entry.path().stem()).second) {
        here.push_back(entry.path());
      }
    }
    out.insert(out.end(), here.begin(), here.end());
  }
  std::ranges::sort(out, {}, [](const fs::path& path) { return path.stem(); });
  return out;
}

fs::path device_path(const std::string& name) {
  std::error_code none;
  if (name.find('/') != std::string::npos) {
    if (!fs::exists(name, none)) {
      wrong(name, "there is no such file: name the shared library of a device");
    }
    return name;
  }
  std::string known;
  for (const fs::path& path : found_devices()) {
    if (path.stem() == name) {
      return path;
    }
    known += (known.empty() ? "" : ", ") + path.stem().string();
  }
  throw Failure(ExitCode::bad_input,
                fmt::format("device {}: there is none of this name; choose {}, or write the path "
                            "of its shared library",
                            name, known.empty() ? "none" : known));
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
  return *calls;
}

std::string missing_calls(const lockstep_device_calls& calls) {
  std::string out;
  const auto note = [&](bool there, std::string_view name) {
    if (!there) {
      out += out.empty() ? "" : " ";
      out += name;
    }
  };
  note(calls.listen != nullptr, "listen");
  note(calls.unlisten != nullptr, "unlisten");
  note(calls.accept != nullptr, "accept");
  note(calls.connect != nullptr, "connect");
  note(calls.send != nullptr, "send");
  note(calls.receive != nullptr, "receive");
  note(calls.finish != nullptr, "finish");
  note(calls.close != nullptr, "close");
  note(calls.abort != nullptr, "abort");
  note(calls.urgent != nullptr, "urgent");
  note(calls.set != nullptr, "set");
  note(calls.get != nullptr, "get");
  note(calls.state != nullptr, "state");
  note(calls.events != nullptr, "events");
  return out;
}

}  // namespace lockstep::conformance
