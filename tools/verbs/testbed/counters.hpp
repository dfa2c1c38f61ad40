// The kernel's counters: nft tables that count frames by flow, and drop counters.
#pragma once

#include <string>
#include <vector>

#include "tools/verbs/testbed/account.hpp"
#include "tools/verbs/testbed/process.hpp"

namespace lockstep::tools {

inline constexpr const char* table_name = "lockstep_testbed";

/// An nft table that counts the frames that an end sends and receives on these interfaces.
std::string counting_rules(const std::vector<std::string>& interfaces);
/// An nft table that drops `part` of 10^9 frames that arrive on these interfaces.
std::string losing_rules(const std::vector<std::string>& interfaces, std::uint32_t part);

/// Frames sent and received on `interface`, from nft's JSON of the table.
Tally offered_of(const std::string& nft_json, const std::string& interface);
Tally delivered_of(const std::string& nft_json, const std::string& interface);

/// The drop counters of nft rules that drop or reject. Only our own rule counts by flow.
std::vector<Cause> rule_causes(const std::string& nft_json);
/// The drop counters of queues, from `tc -s -j qdisc`.
std::vector<Cause> queue_causes(const std::string& tc_json, const std::string& side);
/// The drop counters of interfaces, from `ip -s -j link`. At an end only outwards: arriving frames
/// were counted before.
enum class LinkDirections : unsigned char { both, outwards };
std::vector<Cause> link_causes(const std::string& ip_json, const std::string& side,
                               LinkDirections directions);
/// The drop counters of IP, from /proc/net/snmp and /proc/net/netstat.
std::vector<Cause> internet_causes(const std::string& text);

}  // namespace lockstep::tools
