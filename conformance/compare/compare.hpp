// Finds where devices break a rule: plays inputs on all, and makes each finding small.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "conformance/compare/contained.hpp"

namespace lockstep::conformance::compare {

struct CompareOptions {
  std::vector<std::filesystem::path> devices;  ///< as of device_path()
  std::filesystem::path ours;  ///< our own stack as a device, for scripts; empty: no scripts
  std::uint64_t first_seed = 0, seeds = 0;  ///< 0: until `goes_on` says no
  /// Asked between batches, with the inputs played so far.
  std::function<bool(std::uint64_t)> goes_on;
  /// Called while findings are made small.
  std::function<void(const std::string&)> shrinks;
};

/// One rule that one device breaks.
struct CompareFinding {
  std::string device;
  std::size_t rule = 0;
  std::string line;          ///< what exactly, of the smallest input
  std::uint64_t inputs = 0;  ///< in which it was seen
  std::uint64_t seed = 0;    ///< the first of them
  Input smallest;
  std::string script;              ///< empty: there is none ...
  std::string why_no_script;       ///< ... because of this
  std::vector<std::byte> capture;  ///< of the script on the device, as pcapng
};

struct ComparedDevice {
  std::string name;
  std::string left_out;  ///< why it was not asked; empty: it was
  std::uint64_t inputs = 0;
  double seconds = 0;           ///< of processor time
  std::uint64_t differing = 0;  ///< inputs whose outcome differs from the first device's, without a
                                ///< finding on either
};

struct CompareResult {
  std::vector<ComparedDevice> devices;
  std::vector<CompareFinding> findings;  ///< by device, then by rule
};

/// Runs all. Throws Failure if a device cannot be loaded or created.
CompareResult compare_devices(const CompareOptions& options);

/// A script of at most so many lines.
inline constexpr std::size_t script_lines_most = 15;

}  // namespace lockstep::conformance::compare
