// Writes rules for nft, and parses the output of nft, tc, ip and /proc.
#include "tools/verbs/testbed/counters.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>

#include "tools/base/output/json.hpp"

namespace lockstep::tools {
namespace {

using json = nlohmann::ordered_json;

constexpr std::string_view flow_words = "ip saddr . tcp sport . ip daddr . tcp dport";
constexpr std::uint32_t flows_max = 65'535;

std::string flow_set(const std::string& name) {
  return fmt::format("  set {} {{ typeof {}; flags dynamic; size {}; }}\n", name, flow_words,
                     flows_max);
}

std::string chain(const std::string& name, std::string_view hook, const std::string& interface,
                  int priority, const std::string& rule) {
  return fmt::format(
      "  chain {} {{ type filter hook {} device \"{}\" priority {}; policy accept;\n"
      "    {}\n  }}\n",
      name, hook, interface, priority, rule);
}

std::string count_in(const std::string& set) {
  return fmt::format("meta l4proto tcp counter update @{} {{ {} counter }}", set, flow_words);
}

/// Escapes the characters of an interface name that a set's name cannot have.
std::string set_name(std::string_view what, const std::string& interface) {
  std::string out(what);
  for (char const letter : interface) {
    bool const plain = std::isalnum(static_cast<unsigned char>(letter)) != 0;
    out +=
        plain ? std::string(1, letter) : fmt::format("_{:02x}", static_cast<unsigned char>(letter));
  }
  return out;
}

template <class Visit>
void visit(const json& shown, const char* what, Visit&& each) {
  for (const json& item : shown.at("nftables")) {
    if (item.contains(what)) {
      each(item.at(what));
    }
  }
}

FramesByFlow flows_in(const json& shown, const std::string& table, const std::string& set) {
  FramesByFlow flows;
  visit(shown, "set", [&](const json& each) {
    if (each.at("table") != table || each.at("name") != set || !each.contains("elem")) {
      return;
    }
    for (const json& entry : each.at("elem")) {
      const json& element = entry.at("elem");
      const json& key = element.at("val").at("concat");
      auto const end = [&](std::size_t at) {
        return fmt::format("{}:{}", key.at(at).get<std::string>(),
                           key.at(at + 1).get<std::uint32_t>());
      };
      flows[{end(0), end(2)}] = element.at("counter").at("packets").get<std::uint64_t>();
    }
  });
  return flows;
}

Tally tally_of(const std::string& nft_json, const std::string& name) {
  json const shown = parse_json(nft_json);
  Tally tally{.flows = flows_in(shown, table_name, name)};
  visit(shown, "rule", [&](const json& rule) {
    if (rule.at("chain") != name) {
      return;
    }
    for (const json& part : rule.at("expr")) {
      if (part.contains("counter")) {
        tally.frames += part.at("counter").at("packets").get<std::uint64_t>();
      }
    }
  });
  return tally;
}

std::uint64_t number_in(const json& object, const char* name) {
  return object.contains(name) ? object.at(name).get<std::uint64_t>() : 0;
}

}  // namespace

std::string counting_rules(const std::vector<std::string>& interfaces) {
  std::string out = fmt::format("table netdev {} {{\n", table_name);
  for (const std::string& each : interfaces) {
    std::string const offered = set_name("offered_", each);
    std::string const delivered = set_name("delivered_", each);
    out += flow_set(offered) + flow_set(delivered);
    // Counts what leaves as late as possible, and what arrives as early as possible.
    out += chain(offered, "egress", each, 10'000, count_in(offered));
    out += chain(delivered, "ingress", each, -10'000, count_in(delivered));
  }
  return out + "}\n";
}

std::string losing_rules(const std::vector<std::string>& interfaces, std::uint32_t part) {
  std::string out = fmt::format("table netdev {} {{\n{}", table_name, flow_set("lost"));
  for (const std::string& each : interfaces) {
    out += chain(set_name("lose_", each), "ingress", each, -5'000,
                 fmt::format("meta l4proto tcp numgen random mod 1000000000 < {} update @lost "
                             "{{ {} counter }} counter drop",
                             part, flow_words));
  }
  return out + "}\n";
}

Tally offered_of(const std::string& nft_json, const std::string& interface) {
  return tally_of(nft_json, set_name("offered_", interface));
}

Tally delivered_of(const std::string& nft_json, const std::string& interface) {
  return tally_of(nft_json, set_name("delivered_", interface));
}

std::vector<Cause> rule_causes(const std::string& nft_json) {
  json const shown = parse_json(nft_json);
  Cause ours{"dropped by --lose", 0, flows_in(shown, table_name, "lost")};
  std::vector<Cause> out;
  visit(shown, "rule", [&](const json& rule) {
    std::uint64_t counted = 0;
    bool ends = false;
    for (const json& part : rule.at("expr")) {
      if (part.contains("counter") && part.at("counter").is_object()) {
        counted += number_in(part.at("counter"), "packets");
      }
      ends = ends || part.contains("drop") || part.contains("reject");
    }
    if (!ends) {
      return;
    }
    if (rule.at("table") == table_name) {
      ours.frames += counted;
      return;
    }
    std::string const place =
        fmt::format("{} {} {}", rule.at("family").get<std::string>(),
                    rule.at("table").get<std::string>(), rule.at("chain").get<std::string>());
    std::string const which = rule.contains("comment")
                                  ? rule.at("comment").get<std::string>()
                                  : fmt::format("handle {}", number_in(rule, "handle"));
    out.push_back({fmt::format("rule of {}: {}", place, which), counted, {}});
  });
  out.insert(out.begin(), std::move(ours));
  return out;
}

std::vector<Cause> queue_causes(const std::string& tc_json, const std::string& side) {
  std::vector<Cause> out;
  for (const json& queue : parse_json(tc_json)) {
    out.push_back({fmt::format("queue {} of {} {}", queue.at("kind").get<std::string>(), side,
                               queue.at("dev").get<std::string>()),
                   number_in(queue, "drops"),
                   {}});
  }
  return out;
}

std::vector<Cause> link_causes(const std::string& ip_json, const std::string& side,
                               LinkDirections directions) {
  std::vector<Cause> out;
  for (const json& link : parse_json(ip_json)) {
    for (const char* const direction : {"tx", "rx"}) {
      if (directions == LinkDirections::outwards && direction[0] == 'r') {
        continue;
      }
      const json& counted = link.at("stats64").at(direction);
      for (const char* const what : {"dropped", "errors"}) {
        out.push_back({fmt::format("{} {} {} of {}", side, direction, what,
                                   link.at("ifname").get<std::string>()),
                       number_in(counted, what),
                       {}});
      }
    }
  }
  return out;
}

std::vector<Cause> internet_causes(const std::string& text) {
  constexpr std::array<std::string_view, 9> losing{
      "InHdrErrors", "InAddrErrors", "InUnknownProtos", "InDiscards",     "OutDiscards",
      "OutNoRoutes", "FragFails",    "InNoRoutes",      "InTruncatedPkts"};
  std::vector<Cause> out;
  std::istringstream lines(text);
  std::string names, numbers;
  // For each protocol a line of names, then a line of numbers.
  while (std::getline(lines, names) && std::getline(lines, numbers)) {
    std::istringstream left(names), right(numbers);
    std::string protocol, name, number;
    left >> protocol;
    right >> number;
    while (left >> name && right >> number) {
      bool const ip = protocol == "Ip:" || protocol == "IpExt:";
      bool const loses = std::find(losing.begin(), losing.end(), name) != losing.end();
      if (ip && loses) {
        out.push_back({"the box's IP: " + name, std::stoull(number), {}});
      }
    }
  }
  return out;
}

}  // namespace lockstep::tools
