// Reads the states of the addresses from the stack.
#include "tools/verbs/serve/address_watch.hpp"

#include <fmt/core.h>

#include "tools/base/text/units.hpp"

namespace lockstep::tools {
namespace {

constexpr Duration between_lines = Duration::seconds(10);

template <class Each>
void visit_addresses(const Stack& stack, const Each& each) {
  Config const& config = stack.config();
  for (std::uint32_t i = 0; i < config.address_count.value; ++i) {
    if (config.addresses[i].address.is_v4()) {
      each(config.addresses[i].address, stack.address_state(config.addresses[i].address));
    }
  }
}

}  // namespace

bool AddressWatch::decided() {
  if (!decided_) {
    decided_ = true;
    visit_addresses(stack_, [this](const IpAddress&, AddressState state) {
      decided_ = decided_ && state != AddressState::tentative;
    });
  }
  return decided_;
}

std::string AddressWatch::duplicates() const {
  std::string out;
  visit_addresses(stack_, [&out](const IpAddress& address, AddressState state) {
    if (state == AddressState::duplicate) {
      out += (out.empty() ? "" : " and ") + text_of(address);
    }
  });
  if (!out.empty()) {
    out += fmt::format(": the host {} has this address already: choose another one",
                       text_of(stack_.last_conflict().other));
  }
  return out;
}

std::string AddressWatch::news(Instant now) {
  AddressConflict const conflict = stack_.last_conflict();
  if (conflict.count == told_ || now < next_) {
    return {};
  }
  told_ = conflict.count;
  next_ = now + between_lines;
  return fmt::format("{}: the host {} uses this address, too: give one of the two another",
                     text_of(conflict.address), text_of(conflict.other));
}

}  // namespace lockstep::tools
