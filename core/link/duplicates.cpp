// Duplicate address detection (RFC 4862 5.4) for our addresses.
#include <algorithm>
#include <bit>

#include "core/link/discovery.hpp"
#include "core/units/check.hpp"

namespace lockstep::link {
namespace {

constexpr Duration join_delay = Duration::seconds(1);
constexpr std::uint32_t announcements_most = 3;  // MAX_NEIGHBOR_ADVERTISEMENT of RFC 4861 10

}  // namespace

void Discovery::begin(Instant now) {
  for (std::uint32_t i = 0; i < identity_.addresses.size() && i < tests_max; ++i) {
    if (identity_.addresses[i].is_v4()) {
      continue;
    }
    Test& test = state_->tests[i];
    test.timer = wheel_.open({first_owner_.value + capacity() + i});
    CHECK(test.timer != nil);
    test.state = TestState::tentative;
    //= rfc4862#5.4
    //# 4862:DAD-1 every address is tested, configured ones too, unless tests are off
    if (config_.duplicate_tests.value == 0) {
      decide(i, TestState::usable, now);
      continue;
    }
    //= rfc4862#5.4.2
    //# 4862:DAD-6 a random delay, so that hosts that start together do not collide
    wheel_.set(test.timer, now + Duration{state_->random.below(join_delay.ns)});
  }
}

void Discovery::expire_test(std::uint32_t index, Instant now) {
  Test& test = state_->tests[index];
  if (test.state == TestState::usable) {
    announce(index, now);
    return;
  }
  CHECK(test.state == TestState::tentative);
  if (test.sent < config_.duplicate_tests.value) {
    state_->tests_pending |= 1u << index;
    return;
  }
  //= rfc4862#5.4
  //# 4862:DAD-11 no answer one interval after the last solicitation: the address is ours
  decide(index, TestState::usable, now);
}

void Discovery::decide(std::uint32_t index, TestState state, Instant now) {
  Test& test = state_->tests[index];
  test.state = state;
  state_->tests_pending &= ~(1u << index);
  state_->tests_changed |= 1u << index;
  wheel_.cancel(test.timer);
  IpAddress const ours = identity_.addresses[index];
  if (state == TestState::usable && ours.is_link_local()) {
    begin_soliciting(now);
  }
  if (state == TestState::usable) {
    announce(index, now);
  }
  //= rfc4862#5.4.5
  //# 4862:DAD-10 a duplicate is not assigned; if our link-local address is one, IPv6 is disabled
  if (state != TestState::duplicate || ours != link_local_of(identity_.mac)) {
    return;
  }
  for (std::uint32_t i = 0; i < tests_max; ++i) {
    Test& other = state_->tests[i];
    if (other.state == TestState::tentative || other.state == TestState::usable) {
      other.state = TestState::duplicate;
      state_->tests_changed |= 1u << i;
      wheel_.cancel(other.timer);
    }
  }
  state_->tests_pending = 0;
}

// Announces our link address to all nodes of the link.
//= rfc4861#7.2.6
//# 4861:ND-34 unsolicited, RetransTimer apart, at most MAX_NEIGHBOR_ADVERTISEMENT times
void Discovery::announce(std::uint32_t index, Instant now) {
  Test& test = state_->tests[index];
  std::uint32_t const wanted = std::min(config_.announcements.value, announcements_most);
  if (test.announced == wanted) {
    return;
  }
  Answer answer;
  answer.target = identity_.addresses[index];
  answer.to = all_nodes;
  answer.mac = group_mac(all_nodes);
  // If the queue of answers is full it is lost, as on the wire.
  static_cast<void>(answers_.push_back(answer));
  ++test.announced;
  if (test.announced != wanted) {
    wheel_.set(test.timer, now + state_->retransmission);
  }
}

Bytes Discovery::write_test(Instant now, std::span<std::byte> into) {
  auto const index = static_cast<std::uint32_t>(std::countr_zero(state_->tests_pending));
  state_->tests_pending &= state_->tests_pending - 1;
  Test& test = state_->tests[index];
  ++test.sent;
  wheel_.set(test.timer, now + state_->retransmission);
  wire::NdMessage message;
  message.target = identity_.addresses[index];
  //= rfc4862#5.4.2
  //# 4862:DAD-5 unspecified source, to the address's solicited-node group, one per interval
  IpAddress const to = message.target.solicited_node();
  return write_frame({IpAddress{}, to}, group_mac(to), message, into);
}

}  // namespace lockstep::link
