// The client of a control socket.
#pragma once

#include <string>
#include <vector>

namespace lockstep::control {

/// All that a socket sent.
struct Answer {
  std::string head;                ///< the first line
  std::vector<std::string> lines;  ///< one for each connection
};

/// The sockets in the default folder on which a program answers. Those that killed programs left
/// are removed.
std::vector<std::string> running_sockets();

/// Asks for the list. Throws Failure (environment) if nobody answers within ten seconds, or the
/// list is cut off.
Answer list_of(const std::string& path);

}  // namespace lockstep::control
