// The descriptors that a script sees: real ones, so that the host's own close() works on them.
#include "conformance/packetdrill/live.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace lockstep::tools::packetdrill {
namespace {

constexpr int none_of_ours = 0x7fff'ffff;

}  // namespace

Live::~Live() {
  for (auto const& [fd, thing] : things_) {
    if (thing.kind != Thing::Kind::socket) {
      ::close(fd);
    }
  }
}

Result Live::open(const Thing& thing, Thing& stale) {
  int const fd = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (fd < 0) {
    return -errno;
  }
  stale = find(fd);
  things_[fd] = thing;
  return fd;
}

Thing Live::find(int fd) const {
  auto const found = things_.find(fd);
  return found == things_.end() ? Thing{} : found->second;
}

Thing* Live::look(int fd) {
  auto const found = things_.find(fd);
  return found == things_.end() ? nullptr : &found->second;
}

void Live::drop(int fd) {
  things_.erase(fd);
  ::close(fd);
}

int Live::ours(int fd) const {
  Thing const thing = find(fd);
  return thing.ours >= 0 ? thing.ours : none_of_ours;
}

std::uint32_t Live::make_pipe() {
  pipes_.emplace_back();
  return static_cast<std::uint32_t>(pipes_.size() - 1);
}

}  // namespace lockstep::tools::packetdrill
