// The error that ends a verb early: one line for the user and an exit code.
#pragma once

#include <stdexcept>
#include <string>

namespace lockstep::tools {

/// Exit codes of every verb.
enum class ExitCode : int {
  fine = 0,         ///< the verb completed and found nothing wrong
  finding = 1,      ///< the verb completed and found something wrong
  bad_input = 2,    ///< wrong usage, or an invalid file
  environment = 3,  ///< an unreadable or unwritable file, a missing permission or program
};

/// Thrown by a verb that cannot go on, before it writes anything. The message is one line that
/// names the file and line, what was expected, and the mend; main() prints it after "lockstep: "
/// and exits with the code.
class Failure : public std::runtime_error {
 public:
  Failure(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

}  // namespace lockstep::tools
