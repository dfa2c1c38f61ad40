// The table of connections, and the same as JSON.
#include "tools/lib/journal/inspection.hpp"

#include <fmt/core.h>

#include "tools/base/capture/decode.hpp"
#include "tools/base/output/table.hpp"
#include "tools/base/text/units.hpp"

namespace lockstep::journal {
namespace {

/// Octets between SND.UNA and SND.NXT.
std::uint32_t flight_of(const ConnectionInfo& info) {
  return info.send.nxt.value - info.send.una.value;
}

/// "-" before the first loss, when it is larger than any window (RFC 5681 3.1).
std::string ssthresh_of(const ConnectionInfo& info) {
  constexpr std::uint64_t window_max = std::uint64_t{65'535} << 14;
  return info.ssthresh.count > window_max ? "-" : fmt::format("{}", info.ssthresh.count);
}

}  // namespace

std::string table_of(const std::vector<ConnectionInfo>& connections, std::size_t width) {
  using tools::TextTable;
  TextTable table({{"local", TextTable::Align::left},
                   {"remote", TextTable::Align::left},
                   {"state", TextTable::Align::left},
                   {"cwnd"},
                   {"ssthresh"},
                   {"in flight"},
                   {"queued"},
                   {"unread"},
                   {"peer's window"},
                   {"srtt"},
                   {"rto"},
                   {"resent"}});
  for (ConnectionInfo const& info : connections) {
    table.add({tools::text_of(info.tuple.local), tools::text_of(info.tuple.remote),
               std::string(tcp::name_of(info.state)), fmt::format("{}", info.cwnd.count),
               ssthresh_of(info), fmt::format("{}", flight_of(info)),
               fmt::format("{}", info.send.queued.count),
               fmt::format("{}", info.receive.unread.count), fmt::format("{}", info.send.wnd.count),
               tools::text_of(info.srtt), tools::text_of(info.rto),
               fmt::format("{}", info.retransmissions)});
  }
  return table.text(width);
}

nlohmann::ordered_json json_of(const std::vector<ConnectionInfo>& connections) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (ConnectionInfo const& info : connections) {
    out.push_back({{"local", tools::text_of(info.tuple.local)},
                   {"remote", tools::text_of(info.tuple.remote)},
                   {"state", tcp::name_of(info.state)},
                   {"cwnd", info.cwnd.count},
                   {"ssthresh", info.ssthresh.count},
                   {"flight", flight_of(info)},
                   {"queued", info.send.queued.count},
                   {"unread", info.receive.unread.count},
                   {"send_window", info.send.wnd.count},
                   {"srtt_ns", info.srtt.ns},
                   {"rto_ns", info.rto.ns},
                   {"retransmissions", info.retransmissions}});
  }
  return out;
}

}  // namespace lockstep::journal
