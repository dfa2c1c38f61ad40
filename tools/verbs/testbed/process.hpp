// Runs programs in network namespaces; they end when this program ends, however it ends.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "hw/poll/descriptor.hpp"

namespace lockstep::tools {

/// An unnamed network namespace, which exists as long as a descriptor or a process in it.
class Netspace {
 public:
  /// Throws Failure (environment) without the permission to create one.
  static Netspace make();
  /// The namespace of this process.
  static Netspace own();
  int number() const { return descriptor_.number(); }
  /// A path that `ip link set ... netns` accepts, from any process.
  std::string path() const;

 private:
  explicit Netspace(hw::Descriptor descriptor) : descriptor_(std::move(descriptor)) {}
  hw::Descriptor descriptor_;
};

using Words = std::vector<std::string>;

/// A program that runs in parallel. Its output is collected.
class Child {
 public:
  /// Path of the child's descriptor 3, which is `report`: a file for it to write.
  static constexpr const char* report_path = "/dev/fd/3";

  /// Throws Failure (environment) if the process cannot be started.
  Child(const Netspace& where, Words words);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void send(int signal) const;
  /// Reads available output of all children, waiting at most `patience`. False: all have closed
  /// their pipes.
  static bool attend(const std::vector<Child*>& children, std::chrono::milliseconds patience);
  bool is_over() const { return open_ == 0; }
  /// Reads to the end and waits; returns the exit code, or 128 plus the signal's number.
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

/// Runs a command when this program ends or the object is destroyed, whichever is first.
class Afterwards {
 public:
  explicit Afterwards(const std::string& shell_command);
  ~Afterwards();
  Afterwards(const Afterwards&) = delete;
  Afterwards& operator=(const Afterwards&) = delete;

 private:
  hw::Descriptor held_;  ///< the helper process waits until this is closed
  pid_t pid_ = 0;
};

/// The result of a program that has ended.
struct Said {
  int code = 0;
  std::string out;
  std::string errors;  ///< first line of its errors
};

/// Throws Failure (environment) if the program does not exist.
Said run(const Netspace& where, const Words& words);
/// The same for a program that must succeed; returns its output. Throws Failure (environment) with
/// its error.
std::string demand(const Netspace& where, const Words& words);
/// The text up to its first line break.
std::string first_line(const std::string& text);

}  // namespace lockstep::tools
