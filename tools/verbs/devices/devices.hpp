// The verb `lockstep devices`: which TCPs can be tested, and one of them for another process.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace lockstep::tools {

/// A device that was found. `wrong` is why it cannot be used, or empty.
struct DeviceRow {
  std::string name;
  std::string stack;
  std::string abilities;
  std::string missing;  ///< calls that it does not have
  std::string path;
  std::string wrong;
  bool program = false;  ///< not a shared library
};

/// One row for each device, by name.
std::vector<DeviceRow> device_rows();

/// A text table of at most `width` columns (0: any width).
std::string devices_text(const std::vector<DeviceRow>& rows, std::size_t width);
/// {"devices": [{"name": ..., "stack": ..., "abilities": [...], "missing": [...], "path": ...}]};
/// a program also has "program": true.
std::string devices_json(const std::vector<DeviceRow>& rows);

/// Serves a device, by name or path, on standard input and output, as program.h says. Throws
/// Failure (bad_input) if there is no such device, Failure (finding) for what it did wrong.
int serve_device(const std::string& device);

}  // namespace lockstep::tools
