// Giving up what a running server does not need: the user root, capabilities, system calls.
#pragma once

#include <span>
#include <string>

namespace lockstep::tools {

/// A user and a group to change to.
struct RunAs {
  unsigned user = 0;
  unsigned group = 0;
};

/// "nobody" or "www-data:adm". Throws Failure: bad input if there is no such user or group, or if
/// only root could change to it.
RunAs run_as(const std::string& text);

/// Changes all threads of this process to that user, without other groups and capabilities, for
/// good. Throws Failure (environment) if it fails.
void change_user(const RunAs& to);
/// Gives up the capabilities that a user other than root may have got from systemd; root keeps its
/// own. Only of this thread and those that it starts: call it before there are others.
void drop_capabilities();

/// From now on all threads of this process may make no system call but those in `served_calls()`;
/// others fail with EPERM. No thread gets new privileges from a program that it runs. Throws
/// Failure (environment) if the kernel refuses.
void confine_calls();
/// Whether this build may be confined: sanitizers need more calls.
bool can_confine();

/// A system call that a running server makes.
struct NamedCall {
  const char* name;
  int number;
};
std::span<const NamedCall> served_calls();

}  // namespace lockstep::tools
