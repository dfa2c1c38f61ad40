// Two stacks joined by a wire in memory, in virtual time, each with its sockets.
#include "tools/lib/sockets/pair.hpp"
#include "core/stack/testing/test_keys.hpp"

#include <new>

namespace lockstep::tools {
namespace {

constexpr Bytes frame_max{1536};

}  // namespace

Config pair_config(bool right) {
  Config config;
  std::uint8_t const own = right ? 2 : 1;
  config.link = LinkType::ip;
  config.addresses[0] = {IpAddress::v4(10, 0, 0, own), 24};
  config.addresses[1] = {IpAddress{0xfd00'0000'0000'0000, own}, 64};
  config.address_count = Count{2};
  config.tcp.accounts = true;
  return test_keys(config);
}

SocketPair::SocketPair(const PairOf& of)
    : to_right_(frame_max),
      to_left_(frame_max),
      left_arena_(Stack::arena_bytes(of.left)),
      right_arena_(Stack::arena_bytes(of.right)),
      left_stack_(of.left, left_arena_.bytes()),
      right_stack_(of.right, right_arena_.bytes()),
      left_port_(to_left_, to_right_, clock_),
      right_port_(to_right_, to_left_, clock_),
      left(left_stack_, of.left_sockets),
      right(right_stack_, of.right_sockets) {}

bool SocketPair::turn_both() {
  Outcome const first = turn(left_stack_, left_port_, left);
  Outcome const second = turn(right_stack_, right_port_, right);
  return first != Outcome::idle || second != Outcome::idle;
}

bool SocketPair::step() {
  bool const worked = turn_both();
  clock_ = clock_ + Duration::microseconds(1);
  return worked;
}

void SocketPair::run(Duration by) {
  Instant const end = clock_ + by;
  while (clock_ < end) {
    if (!step()) {
      Instant const next = earlier(earlier(left_stack_.deadline(), right_stack_.deadline()),
                                   earlier(left.deadline(), right.deadline()));
      clock_ = earlier(end, later(clock_, next));
    }
  }
  // Runs what is due at the end itself, and sets both stacks' clocks.
  turn_both();
}

}  // namespace lockstep::tools

lockstep_pair* lockstep_pair_new(void) { return new (std::nothrow) lockstep_pair; }

void lockstep_pair_free(lockstep_pair* pair) { delete pair; }

lockstep_sockets* lockstep_pair_left(lockstep_pair* pair) { return pair->self.left.c(); }

lockstep_sockets* lockstep_pair_right(lockstep_pair* pair) { return pair->self.right.c(); }

void lockstep_pair_run(lockstep_pair* pair, uint64_t ns) { pair->self.run(lockstep::Duration{ns}); }
