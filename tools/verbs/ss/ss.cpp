// Asks each socket, filters here, and prints.
#include "tools/verbs/ss/ss.hpp"

#include <fmt/core.h>

#include "tools/base/output/json.hpp"
#include "tools/base/output/table.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/base/text/units.hpp"
#include "tools/lib/control/socket.hpp"

namespace lockstep::tools {
namespace {

using Json = nlohmann::ordered_json;

Endpoint end_of(const Json& row, const char* address, const char* port) {
  return {parse_address(row.at(address).get<std::string>()).value_or(IpAddress{}),
          Port{row.at(port).get<std::uint16_t>()}};
}

/// A duration that is measured, else a dash.
std::string time_text(const Json& row, const char* key) {
  std::uint64_t const ns = row.value(key, std::uint64_t{0});
  return ns == 0 ? "-" : text_of(Duration{ns});
}

std::string number_text(const Json& row, const char* key) {
  return !row.contains(key) || row[key].is_null() ? "-" : row[key].dump();
}

std::string timer_text(const Json& timer) {
  if (timer.is_null()) {
    return "-";
  }
  return fmt::format("{},{},{}", timer.at("name").get<std::string>(),
                     text_of(Duration{timer.at("left_ns").get<std::uint64_t>()}),
                     timer.at("count").dump());
}

std::string end_text(const Json& row, const char* address, const char* port) {
  std::string const host = row.at(address).get<std::string>();
  bool const any = host == "::" || host == "0.0.0.0";
  std::string const number = row.at(port).get<int>() == 0 ? "*" : row.at(port).dump();
  return fmt::format("{}:{}",
                     any                                   ? "*"
                     : host.find(':') == std::string::npos ? host
                                                           : "[" + host + "]",
                     number);
}

std::string pacing_text(const Json& row) {
  std::uint64_t const rate = row.value("pacing_octets_a_second", std::uint64_t{0});
  return rate == 0 ? "-" : grouped(rate);
}

}  // namespace

Listed listed_of(const std::string& path, const control::Answer& answer, const Filter& filter) {
  try {
    Listed out{parse_json(answer.head), {}};
    for (const std::string& line : answer.lines) {
      Json row = parse_json(line);
      if (filter.passes({row.at("state").get<std::string>(), end_of(row, "local", "local_port"),
                         end_of(row, "remote", "remote_port")})) {
        out.connections.push_back(std::move(row));
      }
    }
    return out;
  } catch (const Json::exception&) {
    throw Failure(ExitCode::environment,
                  path +
                      ": it sent what no lockstep of this version sends: name the control "
                      "socket of a lockstep that was built from the same source");
  }
}

std::string ss_text(const std::vector<Listed>& programs, std::size_t width) {
  std::string out;
  for (const Listed& each : programs) {
    using Align = TextTable::Align;
    TextTable table({{"state", Align::left},
                     {"recv-q"},
                     {"send-q"},
                     {"local", Align::left},
                     {"peer", Align::left},
                     {"cwnd"},
                     {"ssthresh"},
                     {"srtt"},
                     {"resent"},
                     {"pacing/s"},
                     {"timer", Align::left}});
    for (const Json& row : each.connections) {
      table.add({row.at("state").get<std::string>(), number_text(row, "recv_q"),
                 number_text(row, "send_q"), end_text(row, "local", "local_port"),
                 end_text(row, "remote", "remote_port"), number_text(row, "cwnd"),
                 number_text(row, "ssthresh"), time_text(row, "srtt_ns"),
                 number_text(row, "retransmissions"), pacing_text(row),
                 timer_text(row.at("timer"))});
    }
    out +=
        fmt::format("{} on {}, process {}: {} shown\n{}", each.head.at("role").get<std::string>(),
                    each.head.at("interface").get<std::string>(), each.head.at("pid").dump(),
                    grouped(each.connections.size()), table.text(width));
  }
  return out;
}

std::string ss_json(const std::vector<Listed>& programs) {
  Json out = Json::array();
  for (const Listed& each : programs) {
    Json program = each.head;
    program["connections"] = each.connections;
    out.push_back(std::move(program));
  }
  return json_text(out);
}

int run_ss(const SsOptions& options) {
  Filter const filter = Filter::read(options.filter);
  std::vector<std::string> paths;
  if (!options.control.empty()) {
    paths.push_back(options.control);
  } else {
    paths = control::running_sockets();
  }
  if (paths.empty()) {
    std::string const folder = control::default_folder();
    throw Failure(
        ExitCode::environment,
        fmt::format("no control socket in {}: start `lockstep serve` or `lockstep load` as this "
                    "user, or name its socket with --control",
                    folder.empty() ? "$XDG_RUNTIME_DIR, which is not set" : folder));
  }
  std::vector<Listed> programs;
  for (const std::string& path : paths) {
    programs.push_back(listed_of(path, control::list_of(path), filter));
  }
  fmt::print("{}", options.json ? ss_json(programs) : ss_text(programs, terminal_columns()));
  return static_cast<int>(ExitCode::fine);
}

}  // namespace lockstep::tools
