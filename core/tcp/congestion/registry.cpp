// The list of added controllers.
#include <algorithm>

#include "core/tcp/congestion/added.hpp"
#include "core/units/check.hpp"

namespace lockstep::tcp {
namespace {

constexpr std::uint32_t words_max = congestion_count + added_max;
constexpr std::size_t name_max = 15;  // as Linux limits it: TCP_CA_NAME_MAX less the final zero

struct AddedControllers {
  std::array<std::string_view, words_max> words{};
  std::array<const lockstep_controller*, added_max> controllers{};
  std::uint32_t count = 0;
};

// Its initial value is a constant: controllers are added before main() begins, in any order of
// files.
constinit AddedControllers list = [] {
  AddedControllers fresh;
  std::ranges::copy(congestion_names, fresh.words.begin());
  return fresh;
}();

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= name_max && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

}  // namespace

std::string_view add_controller(const lockstep_controller& controller) {
  if (controller.version != LOCKSTEP_CONTROLLER_VERSION) {
    return "it has another version of the interface (LOCKSTEP_CONTROLLER_VERSION): compile it "
           "with this version's controller.h";
  }
  if (controller.name == nullptr || !is_name(controller.name)) {
    return "its name must have 1 to 15 lower-case letters, digits, '_' and '-'";
  }
  if (controller.state_words > LOCKSTEP_CONTROLLER_STATE_MAX) {
    return "its state is too large: at most 64 words of 64 bits";
  }
  if ((controller.flags & ~(LOCKSTEP_CONTROLLER_OWNS_WINDOW | LOCKSTEP_CONTROLLER_PACES)) != 0) {
    return "it has a flag that this version does not know";
  }
  if (controller.on_ack == nullptr || controller.reduced == nullptr) {
    return "it needs the functions on_ack and reduced";
  }
  if (std::ranges::find(congestion_words(), controller.name) != congestion_words().end()) {
    return "its name is taken by another controller";
  }
  if (list.count == added_max) {
    return "29 controllers have been added: no more are possible";
  }
  list.words[congestion_count + list.count] = controller.name;
  list.controllers[list.count] = &controller;
  ++list.count;
  return {};
}

AddedController::AddedController(const lockstep_controller& controller) {
  std::string_view const reason = add_controller(controller);
  if (!reason.empty()) {
    // A zero-terminated literal, which is printed in place of a condition.
    check_failed({reason.data(), __FILE__, __LINE__});
  }
}

std::span<const std::string_view> congestion_words() {
  return std::span(list.words).first(congestion_count + list.count);
}

const lockstep_controller* added_controller(Congestion congestion) {
  std::uint32_t const at = static_cast<std::uint32_t>(congestion) - congestion_count;
  return is_added(congestion) && at < list.count ? list.controllers[at] : nullptr;
}

bool is_paced(const Config& config) {
  lockstep_controller const* const added = added_controller(config.congestion);
  return config.pacing || (added != nullptr && (added->flags & LOCKSTEP_CONTROLLER_PACES) != 0);
}

}  // namespace lockstep::tcp
