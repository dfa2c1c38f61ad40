// Finds and loads the shared libraries that hold a device.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "conformance/devices/device.h"

namespace lockstep::conformance {

/// The folders in which devices are found by name, in order: those of LOCKSTEP_DEVICES, separated
/// by colons; the build's; the installation's.
std::vector<std::filesystem::path> device_folders();

/// The paths of the devices in these folders, by name; of two with one name the first. A device is
/// NAME.so, or the program NAME/device.
std::vector<std::filesystem::path> found_devices();

/// Whether the path of a device is that of a program, not of a shared library.
bool is_program(const std::filesystem::path& path);
/// The name of a device by its path.
std::string device_name(const std::filesystem::path& path);

/// The path of a device: `name` itself if it has a slash, otherwise the one found by that name.
/// Throws Failure (bad_input), naming those that there are.
std::filesystem::path device_path(const std::string& name);

/// Loads the library, which stays loaded, and checks that it has this version of the interface and
/// the calls that it requires. Throws Failure (bad_input) with the path and what is wrong.
const lockstep_device_calls& load_device(const std::filesystem::path& path);

/// Answers the requests of the standard input on the standard output until the input ends; what the
/// device prints goes to the standard error. Throws Failure as load_device(), and (finding) if the
/// device or a request is wrong.
void serve_library(const std::filesystem::path& path);

/// The names of the optional calls that a device does not have, separated by spaces.
std::string missing_calls(const lockstep_device_calls& calls);

}  // namespace lockstep::conformance
