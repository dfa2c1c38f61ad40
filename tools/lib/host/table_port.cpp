// Calls the functions of the table.
#include "tools/lib/host/table_port.hpp"

#include "core/units/check.hpp"

namespace lockstep::tools {
namespace {

// Slots begin at multiples of this. The IP header, 14 octets after the start of a frame, is then at
// an even address.
constexpr std::uint32_t slot_step = 64;

}  // namespace

TablePort::TablePort(const lockstep_driver& table, Bytes mtu)
    : table_(table),
      frame_max_(mtu.count + link_bytes),
      slot_bytes_((frame_max_ + slot_step - 1) / slot_step * slot_step),
      memory_(std::size_t{slot_bytes_} * (burst_max + 1)) {
  CHECK(table_.now != nullptr);
  CHECK(table_.poll != nullptr);
  CHECK(table_.send != nullptr);
}

Instant TablePort::now() {
  // A clock that goes back stands still instead.
  now_ = later(now_, Instant{table_.now(user())});
  return now_;
}

std::span<const Ingress> TablePort::receive() {
  std::uint32_t taken = 0;
  std::uint32_t tries = 0;
  for (; tries < burst_max; ++tries) {
    auto const into = slot(taken);
    std::size_t const length = table_.poll(user(), into.data(), into.size());
    if (length == 0) {
      break;
    }
    if (length <= into.size()) {  // longer: the driver's error, and the frame is lost
      burst_[taken] = {into.first(length), Checksum::unknown, now_};
      ++taken;
    }
  }
  full_ = tries == burst_max;
  return std::span(burst_).first(taken);
}

std::span<std::byte> TablePort::claim() {
  if (holds()) {
    push();
  }
  return holds() ? std::span<std::byte>{} : slot(burst_max);
}

void TablePort::commit(const Egress& egress) {
  CHECK(!holds());
  CHECK(egress.checksum_offset == 0);  // complete, as host.h says
  CHECK(egress.length <= frame_max_);
  pending_bytes_ = egress.length;
  push();
}

void TablePort::flush() {
  if (holds()) {
    push();
  }
}

void TablePort::push() {
  if (table_.send(user(), slot(burst_max).data(), pending_bytes_) != 0) {
    pending_bytes_ = 0;
  }
}

void TablePort::wait(const hw::WaitFor& what) {
  if (table_.wait != nullptr) {
    table_.wait(user(), what.until.ns, what.room ? 1 : 0);
  } else {
    hw::wait_for(what);
  }
}

}  // namespace lockstep::tools
