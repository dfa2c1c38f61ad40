// Opens a TAP by the ioctls of /dev/net/tun and of the interface.
#include "hw/tap/setup.hpp"

#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "hw/interface.hpp"
#include "hw/shards/steering.hpp"
#include "hw/tap/request.hpp"
#include "hw/virtio_header.hpp"

namespace lockstep::hw {
namespace {

constexpr const char* tun_path = "/dev/net/tun";

bool control(const Descriptor& socket, unsigned request_number, ifreq& request) {
  return ioctl(socket.number(), request_number, &request) == 0;
}

Trouble not_open(int error) {
  if (error == ENOENT || error == ENODEV || error == ENXIO) {
    return environment(std::string(tun_path) +
                       " is missing: load the kernel's module (modprobe tun)");
  }
  if (error == EACCES || error == EPERM) {
    return environment(std::string("no right to open ") + tun_path +
                       ": run as root, or where you are root (unshare -Urn)");
  }
  if (error == EMFILE || error == ENFILE) {
    return environment(std::string(tun_path) + ": " + std::strerror(error) +
                       ": each shard opens it once: raise `ulimit -n`, or take fewer shards");
  }
  return environment(std::string(tun_path) + ": " + std::strerror(error));
}

Trouble not_attached(const std::string& name, int error) {
  if (error == EPERM || error == EACCES) {
    return environment("no right to make the interface " + name +
                       ": run as root, or with CAP_NET_ADMIN");
  }
  if (error == EBUSY) {
    return environment(name + " is in use by another program: choose another name, or end it");
  }
  if (error == EINVAL) {
    return bad_input(name +
                     " exists and is not a TAP of that many queues: " + "choose another name");
  }
  return environment(name + ": " + std::strerror(error));
}

// On an interface made here only we are at the other end, and our addresses were compared already.
// Without duplicate address detection the kernel's IPv6 addresses are usable at once instead of a
// second later.
void skip_duplicate_tests(const std::string& name) {
  Descriptor const setting(
      ::open(("/proc/sys/net/ipv6/conf/" + name + "/accept_dad").c_str(), O_WRONLY | O_CLOEXEC));
  if (setting.is_open()) {
    static_cast<void>(!write(setting.number(), "0", 1));
  }
}

}  // namespace

Trouble TapInterface::open(const TapSettings& settings) {
  if (!is_interface_name(settings.name)) {
    return bad_input("'" + settings.name +
                     "' is not an interface name: 1 to 15 letters, digits or dashes are");
  }
  name_ = settings.name;
  control_ = Descriptor(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!control_.is_open()) {
    return environment(std::string("socket: ") + std::strerror(errno));
  }
  before_ = TapBefore::of(name_);
  Trouble trouble = attach(settings);
  if (!trouble) {
    trouble = configure(settings);
  }
  if (trouble) {
    put_back();
    devices_.clear();
  }
  return trouble;
}

Trouble TapInterface::attach(const TapSettings& settings) {
  devices_.clear();
  for (std::uint32_t i = 0; i < settings.queues.value; ++i) {
    Trouble trouble = attach_queue(settings, devices_.emplace_back());
    if (trouble) {
      if (before_ && !before_->has_device()) {
        before_.reset();  // it was not changed
      }
      return trouble;
    }
  }
  if (settings.queues.value > 1) {
    steer(settings.queues);
  }
  return {};
}

Trouble TapInterface::attach_queue(const TapSettings& settings, Descriptor& into) {
  into = Descriptor(::open(tun_path, O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!into.is_open()) {
    return not_open(errno);
  }
  ifreq request = request_for(name_);
  int const several = settings.queues.value > 1 ? IFF_MULTI_QUEUE : 0;
  request.ifr_flags = static_cast<short>(IFF_TAP | IFF_NO_PI | IFF_VNET_HDR | several);
  if (ioctl(into.number(), TUNSETIFF, &request) != 0) {
    return not_attached(name_, errno);
  }
  if (before_ && !before_->has_device()) {
    before_->note_device(into);
  }
  int header_bytes = VirtioHeader::bytes;
  int little_endian = 1;
  unsigned const offloads = settings.offload_checksums ? TUN_F_CSUM : 0;
  bool const set = ioctl(into.number(), TUNSETVNETHDRSZ, &header_bytes) == 0 &&
                   ioctl(into.number(), TUNSETVNETLE, &little_endian) == 0 &&
                   ioctl(into.number(), TUNSETOFFLOAD, offloads) == 0;
  return set ? Trouble{}
             : environment(name_ + ": " + std::strerror(errno) +
                           ": a kernel of 4.0 or later is needed");
}

// Without steering, frames reach their shard by a ring from the shard that received them.
void TapInterface::steer(Count queues) {
  Descriptor program;
  not_steered_ = load_steering({queues.value}, program);
  int number = program.number();
  if (!not_steered_ && ioctl(devices_.front().number(), TUNSETSTEERINGEBPF, &number) != 0) {
    not_steered_ = environment(std::string("the kernel does not steer frames of a TAP: ") +
                               std::strerror(errno));
  }
}

Trouble TapInterface::configure(const TapSettings& settings) {
  if (!before_) {
    skip_duplicate_tests(name_);
  }
  ifreq request = request_for(name_);
  request.ifr_mtu = static_cast<int>(settings.mtu.count);
  if (!control(control_, SIOCSIFMTU, request)) {
    return bad_input(name_ + ": the kernel refuses an MTU of " +
                     std::to_string(settings.mtu.count) + ": " + std::strerror(errno));
  }
  for (const HostAddress& host : settings.hosts) {
    Trouble trouble = give_address(host);
    if (trouble) {
      return trouble;
    }
  }
  request = request_for(name_);
  bool up = control(control_, SIOCGIFFLAGS, request);
  request.ifr_flags = static_cast<short>(request.ifr_flags | IFF_UP | IFF_RUNNING);
  up = up && control(control_, SIOCSIFFLAGS, request);
  return up ? Trouble{} : environment(name_ + " cannot be set up: " + std::strerror(errno));
}

Trouble TapInterface::give_address(const HostAddress& host) {
  ifreq request = request_for(name_);
  if (!control(control_, SIOCGIFINDEX, request) || !add_address(request.ifr_ifindex, host)) {
    return environment(name_ + " refuses the kernel's address: " + std::strerror(errno));
  }
  if (before_) {
    before_->given(host);
  }
  return {};
}

void TapInterface::put_back() {
  if (before_) {
    before_->put_back();
    before_.reset();
  }
}

}  // namespace lockstep::hw
