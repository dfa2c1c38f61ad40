// Chooses the path of the socket.
#include "tools/verbs/serve/control.hpp"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/base/process/failure.hpp"
#include "tools/verbs/serve/refuse.hpp"

namespace lockstep::tools {

Control::Control(const ServePlan& plan) {
  if (plan.control == "none") {
    return;
  }
  control::Identity const who{plan.role, plan.interface, plan.shards};
  refuse(listing_.open(plan.shards));
  if (!plan.control.empty()) {
    socket_ = std::make_unique<control::Socket>(plan.control, who, listing_);
    return;
  }
  std::string const folder = control::default_folder();
  if (folder.empty()) {
    return;
  }
  mkdir(folder.c_str(), 0700);
  try {
    socket_ = std::make_unique<control::Socket>(fmt::format("{}/{}.sock", folder, getpid()), who,
                                                listing_);
  } catch (const Failure&) {
    // The run does not depend on it, and nobody asked for it: `lockstep ss` says where it looks.
    socket_ = nullptr;
  }
}

void Control::start() {
  if (socket_) {
    socket_->start();
  }
}

}  // namespace lockstep::tools
