// Makes a plan from URLs, the workload and the options that change it.
#include "tools/verbs/load/plan.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "tools/base/process/failure.hpp"
#include "tools/base/text/units.hpp"
#include "tools/lib/http/request.hpp"
#include "tools/lib/http/site.hpp"
#include "tools/lib/load/message.hpp"
#include "tools/verbs/load/page_sizes.hpp"
#include "tools/verbs/load/workloads.hpp"

namespace lockstep::tools {
namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw Failure(ExitCode::bad_input, message);
}

struct Scheme {
  std::string_view text;
  load::Protocol protocol;
  std::uint16_t port;
};

constexpr std::array<Scheme, 3> schemes{{{"http://", load::Protocol::http, 80},
                                         {"echo://", load::Protocol::echo, 7},
                                         {"memcached://", load::Protocol::memcached, 11'211}}};

template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number value{};
  auto const [stopped, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  bool const whole = error == std::errc{} && stopped == text.data() + text.size();
  return whole ? std::optional(value) : std::nullopt;
}

/// The parts of a URL.
struct Url {
  load::Protocol protocol = load::Protocol::http;
  load::Target target;
  std::string path;
};

[[noreturn]] void refuse_url(const std::string& text) {
  refuse(
      fmt::format("{}: expected http://ADDRESS[:PORT]/PATH, echo://ADDRESS[:PORT] or "
                  "memcached://ADDRESS[:PORT], with an IPv4 address or an IPv6 one in brackets: "
                  "correct it",
                  text));
}

Url url_in(const std::string& text) {
  Url url;
  const Scheme* scheme = nullptr;
  for (const Scheme& each : schemes) {
    scheme = text.starts_with(each.text) ? &each : scheme;
  }
  if (scheme == nullptr) {
    refuse_url(text);
  }
  url.protocol = scheme->protocol;
  std::string_view rest = std::string_view(text).substr(scheme->text.size());
  std::size_t const slash = std::min(rest.find('/'), rest.size());
  url.path = rest.substr(slash);
  rest = rest.substr(0, slash);
  url.target.authority = rest;
  std::size_t const bracket = rest.starts_with('[') ? rest.find(']') : std::string_view::npos;
  std::size_t const colon = rest.find(':', bracket == std::string_view::npos ? 0 : bracket);
  std::string_view host = rest.substr(0, colon);
  host = bracket == std::string_view::npos ? host : rest.substr(1, bracket - 1);
  auto const address = parse_address(host);
  auto const port = colon == std::string_view::npos
                        ? std::optional(scheme->port)
                        : number_in<std::uint16_t>(rest.substr(colon + 1));
  bool const named = url.protocol == load::Protocol::http;
  if (!address || !port || *port == 0 || (!named && url.path.size() > 1) ||
      text.find_first_of(" \r\n\t") != std::string::npos) {
    refuse_url(text);
  }
  url.target.endpoint = {*address, Port{*port}};
  return url;
}

load::Item item_of(const std::string& path) {
  load::Item item;
  item.name = path.empty() ? "/" : path;
  if (item.name.size() > load::Composer::name_max) {
    refuse(fmt::format("the path has {} octets, and at most {} can be sent: shorten it",
                       item.name.size(), load::Composer::name_max));
  }
  constexpr std::string_view generated = "/bytes/";
  if (item.name.starts_with(generated)) {
    if (auto const length =
            number_in<std::uint64_t>(std::string_view(item.name).substr(generated.size()))) {
      item.length = *length;
      item.is_pattern = true;
    }
  }
  return item;
}

void read_time(const std::string& option, const std::string& text, Duration& into) {
  if (text.empty()) {
    return;
  }
  auto const time = parse_duration(text);
  if (!time) {
    refuse(fmt::format("{} {}: expected a time with a unit, like 10s or 500ms: correct it", option,
                       text));
  }
  into = *time;
}

template <class From, class To>
void take(const std::optional<From>& from, To& into) {
  if (from) {
    into = *from;
  }
}

void read_urls(const LoadOptions& options, Asking asking, load::LoadPlan& plan) {
  bool is_first = true;
  for (const std::string& text : options.urls) {
    Url const url = url_in(text);
    if (is_first && options.workload.empty()) {
      plan.protocol = url.protocol;
    }
    if (url.protocol != plan.protocol) {
      refuse(fmt::format("{}: {} speaks another protocol: give every target the same scheme", text,
                         options.workload.empty() ? "the first URL" : options.workload));
    }
    is_first = false;
    plan.targets.push_back(url.target);
    if (plan.protocol == load::Protocol::http && asking == Asking::the_url) {
      plan.catalogue.items.push_back(item_of(url.path));
    }
  }
}

void add_generated(std::uint64_t octets, load::LoadPlan& plan) {
  plan.catalogue.items.push_back({fmt::format("/bytes/{}", octets), octets, true});
}

/// The answer expected from the sink for this many octets of the pattern.
std::string sink_answer(std::uint64_t octets) {
  http::Site const site;
  http::Sha256 hash;
  for (std::uint64_t left = octets; left != 0;) {
    std::uint64_t const run = std::min<std::uint64_t>(left, site.pattern().size());
    hash.add(site.pattern().first(static_cast<std::size_t>(run)));
    left -= run;
  }
  auto const hex = hash.hex();
  return fmt::format("{} {}\n", octets, std::string_view(hex.data(), hex.size()));
}

void read_upload(const LoadOptions& options, load::LoadPlan& plan) {
  if (!options.upload) {
    return;
  }
  if (plan.protocol != load::Protocol::http || !options.workload.empty()) {
    refuse("--upload: it needs an http:// URL and excludes --workload: leave one of them out");
  }
  plan.upload = options.upload;
  for (load::Item& item : plan.catalogue.items) {
    item.length = load::Item::unknown;
    item.is_pattern = false;
    item.text = item.name == http::sink_path ? sink_answer(*plan.upload) : std::string{};
  }
}

void fill_catalogue(Asking asking, load::LoadPlan& plan) {
  if (asking == Asking::pages) {
    for (std::uint32_t const octets : page_sizes) {
      add_generated(octets, plan);
    }
  } else if (asking == Asking::files) {
    for (const FileClass& each : file_classes()) {
      add_generated(each.octets, plan);
      plan.catalogue.weights.push_back(each.weight);
    }
  }
}

void add_keys(load::LoadPlan& plan) {
  for (std::uint32_t i = 0; i < keys; ++i) {
    plan.catalogue.items.push_back({fmt::format("lockstep-{:08}", i)});
  }
}

/// Applies a workload to the plan, and returns the requests that it makes.
Asking take_workload(const std::string& id, load::LoadPlan& plan) {
  const Workload* const known = workload_named(id);
  if (known == nullptr) {
    std::string names;
    for (const Workload& each : workloads) {
      names += fmt::format("{}{}", names.empty() ? "" : ", ", each.id);
    }
    refuse(fmt::format("--workload {}: there are {}: choose one", id, names));
  }
  plan.protocol = known->protocol;
  plan.connections = known->connections;
  plan.requests_a_connection = known->requests_a_connection;
  plan.rate = known->rate;
  plan.connects_a_second = known->connects_a_second;
  plan.silent_percent = known->silent_percent;
  plan.slow = known->slow;
  plan.think = known->think;
  plan.close_mode = known->close_mode;
  plan.message = known->message;
  plan.updates_percent = known->updates_percent;
  fill_catalogue(known->asking, plan);
  return known->asking;
}

void read_farewell(const std::string& text, load::LoadPlan& plan) {
  if (text.empty()) {
    if (plan.protocol != load::Protocol::http && plan.close_mode == load::CloseMode::server) {
      plan.close_mode = load::CloseMode::client;  // only HTTP can ask the server to close
    }
    return;
  }
  plan.close_mode = text == "server"   ? load::CloseMode::server
                    : text == "client" ? load::CloseMode::client
                                       : load::CloseMode::reset;
}

}  // namespace

std::uint64_t seed_of(const std::string& text) {
  auto const seed = number_in<std::uint64_t>(text);
  if (!seed) {
    refuse(fmt::format("--seed {}: expected a number from 0 to 18446744073709551615: correct it",
                       text));
  }
  return *seed;
}

load::LoadPlan load_plan_of(const LoadOptions& options) {
  load::LoadPlan plan;
  Asking const asking =
      options.workload.empty() ? Asking::the_url : take_workload(options.workload, plan);
  read_urls(options, asking, plan);
  take(options.connections, plan.connections);
  take(options.requests_a_connection, plan.requests_a_connection);
  take(options.pipeline, plan.pipeline);
  take(options.rate, plan.rate);
  take(options.connects_a_second, plan.connects_a_second);
  take(options.idle_share, plan.silent_percent);
  take(options.updates, plan.updates_percent);
  read_upload(options, plan);
  if (plan.protocol == load::Protocol::memcached) {
    add_keys(plan);
  }
  if (options.message) {
    plan.message = Bytes{*options.message};
  }
  plan.is_poisson = options.poisson;
  plan.requests = options.requests;
  read_time("--duration", options.duration, plan.duration);
  read_time("--warm-up", options.warm_up, plan.warm_up);
  read_time("--timeout", options.timeout, plan.timeout);
  read_time("--think", options.think, plan.think);
  read_time("--time-wait", options.time_wait, plan.time_wait);
  if (plan.timeout.ns == 0) {
    refuse("--timeout 0: no answer could arrive in time: give a longer one");
  }
  read_farewell(options.close_mode, plan);
  plan.seed = seed_of(options.seed);
  if (plan.requests != 0 && !options.duration.empty()) {
    refuse("--requests and --duration exclude each other: give one of them");
  }
  if (plan.requests == 0 && plan.duration.ns == 0) {
    refuse("--duration 0: there would be no time to measure: give a longer one");
  }
  if (plan.rate != 0 && plan.silent_percent != 0 && plan.requests_a_connection != 0) {
    refuse(
        "--idle-share: with --rate, connections must stay open: leave out "
        "--requests-per-connection");
  }
  if (load::silent_of(plan) == plan.connections) {
    refuse(
        fmt::format("--idle-share {}: none of {} connections would send requests: choose fewer "
                    "percent, or more --connections",
                    plan.silent_percent, plan.connections));
  }
  return plan;
}

void fit_pools(tcp::Config& tcp, const load::LoadPlan& plan) {
  // A closed connection may linger in the pools when its successor is opened.
  std::uint32_t const connections = plan.connections + plan.connections / 4 + 64;
  auto const at_least = [](Count& pool, std::uint64_t wanted) {
    pool = Count{std::max(pool.value, static_cast<std::uint32_t>(wanted))};
  };
  at_least(tcp.connections_max, connections);
  at_least(tcp.active_max, connections);
  // A number above the stack's own maximum would only keep TIME-WAIT longer.
  at_least(tcp.time_wait_max, std::min<std::uint64_t>(std::uint64_t{connections} * 4, 4'000'000));
  at_least(tcp.owed_max, connections);
  at_least(tcp.pieces_max, std::uint64_t{connections} * (2 + plan.pipeline));
  at_least(tcp.blocks_max, std::uint64_t{connections} * 2 + 1024);
}

}  // namespace lockstep::tools
