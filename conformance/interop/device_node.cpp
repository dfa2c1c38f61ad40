// A device as a node of a simulated world.
#include "conformance/interop/device_node.hpp"

#include <fmt/core.h>

#include "core/units/check.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/base/text/units.hpp"

namespace lockstep::conformance {
namespace {

constexpr std::uint32_t packets_per_instant_max = 100'000;

}  // namespace

void DeviceNode::arrived(sim::StationDesk& desk, std::span<const std::byte> frame) {
  contain([&] { take(desk, frame); });
}

void DeviceNode::run(sim::StationDesk& desk) {
  contain([&] { work_at_deadline(desk); });
}

std::unique_ptr<sim::Station> DeviceNode::clone() const {
  constexpr bool can_be_copied = false;
  CHECK(can_be_copied);
  return nullptr;
}

void DeviceNode::contain(const std::function<void()>& call) {
  if (!fault_.empty()) {
    return;
  }
  try {
    call();
  } catch (const DeviceFault& fault) {
    fault_ = fault.what();
  } catch (const tools::Failure& failure) {
    fault_ = failure.what();
  }
}

DeviceAnswer DeviceNode::ask(lockstep_device_call call, std::uint64_t first, std::uint64_t second,
                             std::string_view octets) {
  DeviceAnswer answer = peer_->ask(call, first, second, octets);
  due_ = answer.deadline;
  return answer;
}

void DeviceNode::go_to(sim::StationDesk& desk) {
  for (std::uint32_t i = 0; i < packets_per_instant_max; ++i) {
    DeviceAnswer const answer = ask(LOCKSTEP_CALL_ADVANCE, desk.now().ns);
    put(desk, answer);
    if (answer.packets.empty()) {
      return;
    }
  }
  throw DeviceFault(fmt::format("device {}: advance: it sends without end at {}",
                                peer_->about().name, tools::text_of(desk.now().since(Instant{0}))));
}

Instant DeviceNode::device_due() const {
  return due_ == LOCKSTEP_DEVICE_NEVER ? Instant::never() : Instant{due_};
}

}  // namespace lockstep::conformance
