// Congestion controllers in shared objects: `--controller FILE.so`.
#pragma once

#include <string>

#include "core/tcp/config.hpp"
#include "core/tcp/congestion/state.hpp"
#include "sim/kernel/kernel.hpp"

namespace lockstep::tools {

/// Adds the controller that the file exports (core/tcp/congestion/controller.h), for the life of
/// this process. Returns its name. The same file twice is added once. Throws Failure, in one line
/// with the file's name, if it cannot be used.
std::string load_controller(const std::string& file);

/// The same as a value of Config.
tcp::Congestion congestion_of(const std::string& file);

/// The same for a structure lockstep_controller; `origin` says where it is from, in messages.
void add_controller_of(const std::string& origin, const void* controller);

/// The line for a stack whose controller has set a window out of range; `where`: "on lock0" or the
/// like. Empty: it has not.
std::string controller_fault_of(const tcp::ControllerFault& fault, tcp::Congestion congestion,
                                const std::string& where);

/// The line for the first host of a run whose controller has set a window out of range; empty: none
/// has.
std::string controller_fault_of(const sim::Kernel& kernel);

}  // namespace lockstep::tools
