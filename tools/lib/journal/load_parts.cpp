// Converts a plan to JSON and back: numbers as they are, times in ns, addresses as text.
#include "tools/lib/journal/load_parts.hpp"

#include "tools/base/text/units.hpp"

namespace lockstep::journal {
namespace {

using nlohmann::ordered_json;

/// Calls visit(name, field) for each numeric field of a plan.
template <class MaybeConstPlan, class Visit>
void visit_numbers(MaybeConstPlan& plan, Visit&& visit) {
  visit("connections", plan.connections);
  visit("connecting_max", plan.connecting_max);
  visit("connects_a_second", plan.connects_a_second);
  visit("requests_a_connection", plan.requests_a_connection);
  visit("pipeline", plan.pipeline);
  visit("rate", plan.rate);
  visit("is_poisson", plan.is_poisson);
  visit("silent_percent", plan.silent_percent);
  visit("slow_percent", plan.slow.users_percent);
  visit("slow_think_ns", plan.slow.think.ns);
  visit("think_ns", plan.think.ns);
  visit("message", plan.message.count);
  visit("updates_percent", plan.updates_percent);
  visit("requests", plan.requests);
  visit("duration_ns", plan.duration.ns);
  visit("warm_up_ns", plan.warm_up.ns);
  visit("timeout_ns", plan.timeout.ns);
  visit("time_wait_ns", plan.time_wait.ns);
  visit("seed", plan.seed);
}

IpAddress address_in(const ordered_json& json) {
  if (auto const found = tools::parse_address(json.get<std::string>())) {
    return *found;
  }
  throw ordered_json::other_error::create(501, "no address", nullptr);
}

load::Catalogue catalogue_from(const ordered_json& json) {
  load::Catalogue out;
  for (auto const& each : json.at("items")) {
    out.items.push_back({text_from(each.at(0)), each.at(1).get<std::uint64_t>(),
                         each.at(2).get<bool>(), text_from(each.at(3))});
  }
  out.weights = json.at("weights").get<std::vector<std::uint32_t>>();
  return out;
}

/// A value of an enumeration whose last value is `last`.
template <class Enumeration>
Enumeration choice_from(const ordered_json& json, Enumeration last) {
  auto const number = json.get<std::uint32_t>();
  if (number > static_cast<std::uint32_t>(last)) {
    throw ordered_json::other_error::create(501, "no such choice", nullptr);
  }
  return static_cast<Enumeration>(number);
}

/// Whether a client can be constructed from the plan, with no more memory than a real run could
/// use.
bool makes_sense(const load::LoadPlan& plan, Count connections_max) {
  bool const fits = plan.connections <= connections_max.value && plan.pipeline <= 1'024;
  bool const asks = plan.protocol == load::Protocol::echo || !plan.catalogue.items.empty();
  bool const weighed = plan.catalogue.weights.empty() ||
                       plan.catalogue.weights.size() == plan.catalogue.items.size();
  return fits && asks && weighed && !plan.targets.empty() && plan.connections != 0 &&
         plan.pipeline != 0;
}

ordered_json json_of(Port port, const Backlog& backlog) {
  return {{"port", port.value},
          {"pending", backlog.pending.value},
          {"admitted", backlog.admitted.value}};
}

void listen_from(const ordered_json& json, Port& port, Backlog& backlog) {
  port = Port{json.at("port").get<std::uint16_t>()};
  backlog = {Count{json.at("pending").get<std::uint32_t>()},
             Count{json.at("admitted").get<std::uint32_t>()}};
}

void write_server(Writer& writer, ordered_json begin, const ordered_json& server) {
  begin["server"] = server;
  write_begin(writer, begin);
  writer.flush();
}

/// Calls `read`; refuses the journal if the JSON is not what it expects.
template <class Read>
auto read_members(const Reader& reader, const Read& read) {
  try {
    return read();
  } catch (const nlohmann::json::exception&) {
    refuse_parts(reader, "the first record is no JSON of this version");
  }
}

}  // namespace

void write_parts(Writer& writer, const Run& run, const load::LoadPlan& plan) {
  ordered_json begin = begin_of(run, load_application);
  auto& out = begin["plan"];
  out["protocol"] = static_cast<std::uint32_t>(plan.protocol);
  out["close_mode"] = static_cast<std::uint32_t>(plan.close_mode);
  visit_numbers(plan, [&](const char* name, auto value) { out[name] = value; });
  out["upload"] = plan.upload ? ordered_json(*plan.upload) : ordered_json(nullptr);
  out["targets"] = ordered_json::array();
  for (const load::Target& each : plan.targets) {
    out["targets"].push_back({tools::text_of(each.endpoint.address), each.endpoint.port.value,
                              json_of_text(each.authority)});
  }
  out["sources"] = ordered_json::array();
  for (IpAddress const each : plan.sources) {
    out["sources"].push_back(tools::text_of(each));
  }
  out["items"] = ordered_json::array();
  for (const load::Item& each : plan.catalogue.items) {
    out["items"].push_back(
        {json_of_text(each.name), each.length, each.is_pattern, json_of_text(each.text)});
  }
  out["weights"] = plan.catalogue.weights;
  write_begin(writer, begin);
  writer.flush();
}

void write_parts(Writer& writer, const Run& run, const load::EchoSettings& server) {
  write_server(writer, begin_of(run, echo_application), json_of(server.port, server.backlog));
}

void write_parts(Writer& writer, const Run& run, const load::CacheSettings& server) {
  ordered_json json = json_of(server.port, server.backlog);
  json["keys"] = server.keys.value;
  json["value_max"] = server.value_max.count;
  write_server(writer, begin_of(run, memcached_application), json);
}

load::LoadPlan read_plan(const Reader& reader, const Begin& begin) {
  load::LoadPlan const out = read_members(reader, [&] {
    const ordered_json& json = begin.json.at("plan");
    load::LoadPlan plan;
    plan.protocol = choice_from(json.at("protocol"), load::Protocol::memcached);
    plan.close_mode = choice_from(json.at("close_mode"), load::CloseMode::reset);
    visit_numbers(plan, [&](const char* name, auto& value) { json.at(name).get_to(value); });
    if (!json.at("upload").is_null()) {
      plan.upload = json.at("upload").get<std::uint64_t>();
    }
    for (auto const& each : json.at("targets")) {
      plan.targets.push_back(
          {{address_in(each.at(0)), Port{each.at(1).get<std::uint16_t>()}}, text_from(each.at(2))});
    }
    for (auto const& each : json.at("sources")) {
      plan.sources.push_back(address_in(each));
    }
    plan.catalogue = catalogue_from(json);
    return plan;
  });
  if (!makes_sense(out, begin.run.config.tcp.connections_max)) {
    refuse_parts(reader, "the plan of the load is invalid");
  }
  return out;
}

load::EchoSettings read_echo(const Reader& reader, const Begin& begin) {
  return read_members(reader, [&] {
    load::EchoSettings out;
    listen_from(begin.json.at("server"), out.port, out.backlog);
    return out;
  });
}

load::CacheSettings read_cache(const Reader& reader, const Begin& begin) {
  return read_members(reader, [&] {
    const ordered_json& json = begin.json.at("server");
    load::CacheSettings out;
    listen_from(json, out.port, out.backlog);
    out.keys = Count{json.at("keys").get<std::uint32_t>()};
    out.value_max = Bytes{json.at("value_max").get<std::uint32_t>()};
    return out;
  });
}

}  // namespace lockstep::journal
