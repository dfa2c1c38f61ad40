// The kernel's counters: tables of nft that count frames by flow, and what loses frames.
#pragma once

#include <string>
#include <vector>

#include "tools/verbs/testbed/account.hpp"
#include "tools/verbs/testbed/process.hpp"

namespace lockstep::tools {

inline constexpr const char* table_name = "lockstep_testbed";

/// The text of a table that counts what an end offers on an interface, and what arrives there.
std::string counting_rules(const std::vector<std::string>& interfaces);
/// The text of a table by which the box loses so many of 10^9 frames that arrive on these.
std::string losing_rules(const std::vector<std::string>& interfaces, std::uint32_t part);

/// What was offered on `interface` and what was delivered there, of the table as nft shows it.
Tally offered_of(const std::string& nft_json, const std::string& interface);
Tally delivered_of(const std::string& nft_json, const std::string& interface);

/// What rules of nft's have dropped or rejected, as far as they count it. Ours knows flows.
std::vector<Cause> rule_causes(const std::string& nft_json);
/// What queues have lost, by `tc -s -j qdisc`.
std::vector<Cause> queue_causes(const std::string& tc_json, const std::string& side);
/// What interfaces have lost, by `ip -s -j link`. At an end what arrives has been counted before.
enum class LinkDirections : unsigned char { both, outwards };
std::vector<Cause> link_causes(const std::string& ip_json, const std::string& side,
                               LinkDirections directions);
/// What IP has lost, by the text of /proc/net/snmp and /proc/net/netstat.
std::vector<Cause> internet_causes(const std::string& text);

}  // namespace lockstep::tools
