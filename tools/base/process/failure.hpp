// The error with which a verb ends early: one line for the user and an exit code.
#pragma once

#include <stdexcept>
#include <string>

namespace lockstep::tools {

/// Exit codes of every verb.
enum class ExitCode : int {
  fine = 0,         ///< the verb did its work and found nothing
  finding = 1,      ///< it did its work and found something wrong
  bad_input = 2,    ///< wrong usage, or a file that is not what it should be
  environment = 3,  ///< a file that cannot be read or written, a missing permission or program
};

/// Thrown by a verb that cannot go on. The message is one line that names the file and line, what
/// was expected, and the mend; main() prints it after "lockstep: " and exits with the code.
/// Throw it before anything is written.
class Failure : public std::runtime_error {
 public:
  Failure(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

}  // namespace lockstep::tools
