// Other programs, each in a network namespace, which end with this one however it ends.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "hw/poll/descriptor.hpp"

namespace lockstep::tools {

/// A network namespace without a name: it is gone with the last descriptor and process in it.
class Netspace {
 public:
  /// Throws Failure (environment) without the right to make one.
  static Netspace make();
  /// That of this process.
  static Netspace own();
  int number() const { return descriptor_.number(); }
  /// As `ip link set ... netns` takes it, from any process.
  std::string path() const;

 private:
  explicit Netspace(hw::Descriptor descriptor) : descriptor_(std::move(descriptor)) {}
  hw::Descriptor descriptor_;
};

using Words = std::vector<std::string>;

/// A program that runs beside this one. What it writes is kept.
class Child {
 public:
  /// Its descriptor 3 is `report`, for a file that it is to write.
  static constexpr const char* report_path = "/dev/fd/3";

  /// Throws Failure (environment) if no process can be started.
  Child(const Netspace& where, Words words);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void send(int signal) const;
  /// Reads what has come from any of them, for a while at most. False: all have closed everything.
  static bool attend(const std::vector<Child*>& children, std::chrono::milliseconds patience);
  bool is_over() const { return open_ == 0; }
  /// Waits for its end, having read everything: its exit code, or 128 and the signal's number.
  int wait();

  const std::string& out() const { return heard_[0]; }
  const std::string& errors() const { return heard_[1]; }
  const std::string& report() const { return heard_[2]; }
  const std::string& name() const { return name_; }

 private:
  static constexpr std::size_t pipes = 3;
  void hear(std::size_t which);

  std::string name_;
  pid_t pid_ = 0;
  std::optional<int> code_;
  hw::Descriptor ends_[pipes];
  std::string heard_[pipes];
  std::size_t open_ = pipes;
};

/// Runs a command once this program is gone, or this object, whichever is first.
class Afterwards {
 public:
  explicit Afterwards(const std::string& shell_command);
  ~Afterwards();
  Afterwards(const Afterwards&) = delete;
  Afterwards& operator=(const Afterwards&) = delete;

 private:
  hw::Descriptor held_;  ///< whose closing the process waits for
  pid_t pid_ = 0;
};

/// What a program came to that is waited for.
struct Said {
  int code = 0;
  std::string out;
  std::string errors;  ///< its first line
};

/// Throws Failure (environment) if it is not there.
Said run(const Netspace& where, const Words& words);
/// The same of one that has to go well; what it wrote. Throws Failure (environment) with its error.
std::string demand(const Netspace& where, const Words& words);

}  // namespace lockstep::tools
