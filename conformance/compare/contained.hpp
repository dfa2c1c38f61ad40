// Plays inputs in child processes, so that a device that crashes or hangs ends nothing else.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "conformance/compare/input.hpp"
#include "conformance/compare/rules.hpp"

namespace lockstep::conformance::compare {

/// What one input showed.
struct Seen {
  RuleSet broken;
  std::uint64_t outcome = 0;
};

struct Batch {
  std::vector<Seen> seen;  ///< of each input, in order
  double seconds = 0;      ///< of processor time, in the children
};

/// One device. It must exist as long as it plays.
class ContainedDevice {
 public:
  /// `patience`: how long one input may take by the clock on the wall.
  explicit ContainedDevice(std::filesystem::path path,
                           std::chrono::milliseconds patience = std::chrono::seconds(10));

  const std::string& name() const { return name_; }
  const std::filesystem::path& path() const { return path_; }
  bool is_ours() const { return ours_; }
  /// Why it cannot be compared; empty: it can. Throws Failure if it cannot be loaded.
  std::string why_left_out() const;

  /// Plays `count` inputs that `input_of` makes from their index. Throws Failure if the device
  /// cannot be created.
  Batch play(std::uint32_t count, const std::function<Input(std::uint32_t)>& input_of) const;

  /// One input, and what exactly is wrong by a rule: one line, empty if nothing is.
  struct Detail {
    Seen seen;
    std::string line;
  };
  Detail play_one(const Input& input, std::size_t rule) const;

 private:
  struct Page;
  class Sheet;
  struct Work;
  void play_part(const Work& work, Sheet& sheet) const;
  [[noreturn]] void serve(const Work& work) const;
  int run(const Work& work) const;
  std::string ending_of(const Page& page, int status, int printed) const;

  std::filesystem::path path_;
  std::string name_;
  std::chrono::milliseconds patience_;
  bool ours_;
};

}  // namespace lockstep::conformance::compare
