// Builds the Config of the stack from a script and the command line.
#include "conformance/script/settings.hpp"
#include "conformance/devices/load.hpp"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <map>

#include "conformance/script/cursor.hpp"
#include "conformance/script/sysctl.hpp"
#include "core/stack/config_fields.hpp"
#include "core/units/random.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/base/text/field_names.hpp"
#include "tools/base/text/suggestion.hpp"
#include "tools/base/text/units.hpp"

namespace lockstep::conformance::script {
namespace {

[[noreturn]] void refuse(const Script& script, Place at, const std::string& what) {
  throw tools::Failure(tools::ExitCode::bad_input,
                       fmt::format("{}:{}:{}: {}", script.file, at.line, at.column, what));
}

IpAddress address_of(const Script& script, const std::string& text, bool v6) {
  in6_addr six{};
  in_addr four{};
  if (!v6 && inet_pton(AF_INET, text.c_str(), &four) == 1) {
    return IpAddress::from(Ipv4{ntohl(four.s_addr)});
  }
  if (v6 && inet_pton(AF_INET6, text.c_str(), &six) == 1) {
    IpAddress out;
    for (int i = 0; i < 16; ++i) {
      (i < 8 ? out.high : out.low) = (i < 8 ? out.high : out.low) << 8 | six.s6_addr[i];
    }
    return out;
  }
  refuse(script, {},
         fmt::format("'{}' was found in --local_ip or --remote_ip, expected an address "
                     "of {}: correct it",
                     text, v6 ? "IPv6" : "IPv4"));
}

/// Small pools for a stack with a few connections, because they are quick to set up.
void shrink_pools(Config& config) {
  tcp::Config& tcp = config.tcp;
  tcp.connections_max = Count{64};
  tcp.active_max = Count{64};
  tcp.time_wait_max = Count{64};
  tcp.listeners_max = Count{8};
  tcp.extents_max = Count{256};
  tcp.pieces_max = Count{4096};
  tcp.blocks_max = Count{2048};
  tcp.owed_max = Count{256};
  tcp.sent_max = Count{2048};
  tcp.marks_max = Count{2048};
  tcp.fast_open_cache_max = Count{16};
  tcp.accounts = true;
  config.paths_max = Count{16};
  config.neighbours_max = Count{4};
  config.regions_max = Count{1};
  config.reassembly_datagrams = Count{std::min(config.reassembly_datagrams.value, 4u)};
  config.reply_bytes = Bytes{16384};
  // The response to a segment must not depend on when it arrives.
  tcp.challenge_jitter = false;
}

void assign(Count& field, std::uint64_t value) { field.value = static_cast<std::uint32_t>(value); }
void assign(Bytes& field, std::uint64_t value) { field.count = static_cast<std::uint32_t>(value); }
void assign(Duration& field, std::uint64_t value) { field.ns = value; }
void assign(bool& field, std::uint64_t value) { field = value != 0; }
void assign(std::uint8_t& field, std::uint64_t value) { field = static_cast<std::uint8_t>(value); }
void assign(Sequence& field, std::uint64_t value) {
  field.value = static_cast<std::uint32_t>(value);
}
void assign(Port& field, std::uint64_t value) { field.value = static_cast<std::uint16_t>(value); }

std::optional<std::uint64_t> number_in(const std::string& text, Unit unit) {
  if (unit == Unit::duration) {
    auto const time = tools::parse_duration(text);
    return time ? std::optional(time->ns) : std::nullopt;
  }
  if (unit == Unit::boolean && (text == "true" || text == "false")) {
    return text == "true" ? 1 : 0;
  }
  auto const number = parse_number(text);
  if (number && *number >= 0) {
    return static_cast<std::uint64_t>(*number);
  }
  return unit == Unit::bytes ? tools::parse_bytes(text) : std::nullopt;
}

/// Sets one field of Config, named as in `lockstep profiles`.
void set_field(const Script& script, const Assignment& one, Config& config) {
  bool known = false;
  visit_fields(config, [&](std::string_view name, Unit unit, FieldRange range, auto& field) {
    if (name != one.name) {
      return;
    }
    known = true;
    auto const value = number_in(one.value, unit);
    if (!value || *value < range.least || *value > range.most) {
      refuse(
          script, one.place,
          fmt::format("'{}' was found for {}, expected {} to {}{}: correct it", one.value, name,
                      range.least, range.most, unit == Unit::duration ? " ns, with a unit" : ""));
    }
    assign(field, *value);
  });
  visit_choices(config, [&](std::string_view name, auto words, auto& field) {
    if (name != one.name) {
      return;
    }
    for (std::uint32_t i = 0; i < words.size(); ++i) {
      if (words[i] == one.value) {
        field = static_cast<std::remove_reference_t<decltype(field)>>(i);
        known = true;
      }
    }
    if (!known) {
      refuse(script, one.place,
             fmt::format("'{}' was found for {}, expected one of {}: correct it", one.value, name,
                         fmt::join(words, ", ")));
    }
  });
  if (!known) {
    refuse(script, one.place,
           fmt::format("Config has no field {}{}, expected one that 'lockstep "
                       "profiles' lists: correct the name",
                       one.name, tools::suggestion(one.name, tools::field_names())));
  }
}

void set_addresses(const Script& script, Plan& plan) {
  Head const& head = script.head;
  bool const v6 = head.mode == IpMode::ipv6;
  std::string const local = v6 ? "fd3d:a0b:17d6::1" : "192.168.0.1";
  std::string const remote = v6 ? "2001:db8::1" : "192.0.2.1";
  plan.local = address_of(script, head.local_ip.empty() ? local : head.local_ip, v6);
  plan.remote = address_of(script, head.remote_ip.empty() ? remote : head.remote_ip, v6);
  // All other hosts are on-link: no gateway is needed.
  plan.config.addresses[0] = {plan.local, 0};
  plan.config.address_count = Count{1};
  if (head.mode == IpMode::mapped) {
    plan.config.addresses[1] = {IpAddress{0xfd3d'0a0b'17d6'0000, 1}, 64};
    plan.config.address_count = Count{2};
  }
}

/// The sysctls of all commands: those before the first other event become part of the Config; of
/// the others it is known that they can be set.
class Commands {
 public:
  Commands(const Script& script, bool lenient, Plan& plan)
      : script_(script), lenient_(lenient), plan_(plan) {}

  void take() {
    std::size_t at = 0;
    for (; at < script_.events.size() && opens(script_.events[at]); ++at) {
      for (Assignment const& one : script_.events[at].shell.set) {
        take_one(one, plan_.config);
      }
    }
    plan_.first_event = at;
    Config later = plan_.config;
    later_ = true;
    for (; at < script_.events.size(); ++at) {
      for (Assignment const& one : script_.events[at].shell.set) {
        take_one(one, later);
      }
    }
  }

 private:
  static bool opens(const Event& event) {
    return event.kind == Event::Kind::left_out ||
           (event.kind == Event::Kind::command && event.shell.checks.empty());
  }
  void take_one(const Assignment& one, Config& config) {
    std::string const text = one.name + "=" + one.value;
    if (plan_.original) {
      take_raw(one, config);
      return;
    }
    if (is_neutral(one.name, one.value)) {
      plan_.notes.push_back({one.place, text, "this stack has no such setting", false});
      return;
    }
    std::string wrong = set_sysctl(one.name, one.value, config);
    if (LaterOption option; wrong.empty() && later_ && is_socket_default(one.name)) {
      wrong = set_later(one.name, one.value, option);
    }
    if (!wrong.empty() && !lenient_) {
      refuse(script_, one.place, wrong);
    }
    if (!wrong.empty()) {
      plan_.notes.push_back({one.place, text, wrong, true});
    }
  }

  /// The original takes the settings itself; the size of packets is also the simulation's.
  void take_raw(const Assignment& one, Config& config) {
    if (one.name.starts_with("route.")) {
      Config aside = config;
      std::string const wrong =
          set_sysctl(one.name, one.value, one.name == "route.mtu" ? config : aside);
      if (!wrong.empty()) {
        refuse(script_, one.place, wrong);
      }
    }
    if (!later_) {
      plan_.raw.push_back(one);
    }
  }

  const Script& script_;
  bool lenient_;
  Plan& plan_;
  bool later_ = false;
};

std::string duration_text(std::uint64_t ns) {
  return ns % 1'000'000 == 0 ? fmt::format("{}ms", ns / 1'000'000) : fmt::format("{}ns", ns);
}

/// The fields of Config by name, as a device is told them.
std::map<std::string, std::string> fields_of(const Config& config) {
  std::map<std::string, std::string> out;
  visit_fields(config, [&out](std::string_view name, Unit unit, FieldRange, const auto& field) {
    std::uint64_t const value = number_of(field);
    out.emplace(name, unit == Unit::duration  ? duration_text(value)
                      : unit == Unit::boolean ? std::string(value == 0 ? "false" : "true")
                                              : fmt::format("{}", value));
  });
  visit_choices(config, [&out](std::string_view name, auto words, const auto& field) {
    out.emplace(name, words[static_cast<std::size_t>(field)]);
  });
  return out;
}

std::vector<std::string> changes(const Config& before, const Config& after) {
  std::vector<std::string> out;
  auto const old = fields_of(before);
  for (auto const& [name, value] : fields_of(after)) {
    if (old.at(name) != value) {
      out.push_back(name + "=" + value);
    }
  }
  return out;
}

/// By the name of the library, not of its file.
bool is_linux(const std::filesystem::path& device) {
  return device.extension() == ".so" &&
         std::string_view(load_device(device).name).starts_with("linux");
}

}  // namespace

std::string apply_sysctl(const Assignment& one, Config& config) {
  return is_neutral(one.name, one.value) ? "" : set_sysctl(one.name, one.value, config);
}

Plan plan_of(const Script& script, const Overrides& overrides) {
  Plan plan;
  Head const& head = script.head;
  std::string const profile = !overrides.profile.empty() ? overrides.profile
                              : !head.profile.empty()    ? head.profile
                                                         : "default";
  auto const config = tools::profile_by_name(profile);
  if (!config) {
    refuse(script, {},
           fmt::format("there is no profile '{}', expected default, rfc, linux or "
                       "freebsd: correct the name",
                       profile));
  }
  plan.profile = profile;
  plan.original = profile == "linux" && is_linux(overrides.device);
  plan.config = *config;
  plan.config.link = LinkType::ip;
  shrink_pools(plan.config);
  set_addresses(script, plan);
  set_mtu(plan.config, Bytes{head.mtu.value_or(1500)});
  Config const before = plan.config;
  Commands(script, overrides.lenient, plan).take();
  for (Assignment const& one : head.config) {
    set_field(script, one, plan.config);
    plan.fields.push_back(one.name);
  }
  plan.changed = changes(before, plan.config);
  draw_keys(plan.config, entropy_of(Random(0).fork("script")));
  if (std::string_view const fault = fault_of(plan.config); !fault.empty()) {
    refuse(script, {},
           fmt::format("the settings do not fit together, expected another {}: correct "
                       "the head of the script",
                       fault));
  }
  return plan;
}

}  // namespace lockstep::conformance::script
