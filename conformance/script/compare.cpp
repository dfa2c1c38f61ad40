// Compares an expected packet with the one sent: field by field, in the script's numbers.
#include "conformance/script/compare.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace lockstep::conformance::script {
namespace {

constexpr std::uint8_t fin = 0x01, syn = 0x02, rst = 0x04, psh = 0x08, ack = 0x10, urg = 0x20;

void add(std::vector<Row>& rows, std::string field, std::string expected, std::string actual) {
  bool const differs = expected != actual;
  rows.push_back({std::move(field), std::move(expected), std::move(actual), differs});
}

template <class T>
void add_if(std::vector<Row>& rows, std::string field, const std::optional<T>& expected,
            std::uint64_t actual) {
  if (expected) {
    add(rows, std::move(field), fmt::format("{}", *expected), fmt::format("{}", actual));
  }
}

std::string text_of(const Endpoint& local, const Endpoint& remote) {
  return fmt::format("{:x}:{:x}:{} to {:x}:{:x}:{}", local.address.high, local.address.low,
                     local.port.value, remote.address.high, remote.address.low, remote.port.value);
}

void compare_ip(const IpFields& ip, const Live& live, std::vector<Row>& rows) {
  constexpr std::string_view names[] = {"noecn", "ect1", "ect0", "ce", "ect0 or ect1"};
  std::uint8_t const ecn = live.traffic_class & 3;
  if (ip.ecn) {
    bool const either = *ip.ecn == 4 && (ecn == 1 || ecn == 2);
    add(rows, "ecn", std::string(names[either ? ecn : *ip.ecn]), std::string(names[ecn]));
  }
  add_if(rows, "tos", ip.tos, live.traffic_class);
  add_if(rows, "dscp", ip.dscp, live.traffic_class >> 2);
  add_if(rows, "ttl", ip.ttl, live.ttl);
  add_if(rows, "flowlabel", ip.flow_label, live.flow_label);
}

void set_word(Option& option, std::size_t at, std::uint32_t value) {
  for (std::size_t i = 0; i < 4; ++i) {
    option.data[at + i] = static_cast<std::uint8_t>(value >> (24 - 8 * i));
  }
}

/// The options sent, in the script's numbers. Without `stamps`, and where the script has `...`, a
/// timestamp is replaced by the expected one, so that it is not compared.
std::vector<Option> in_script(const Live& live, const TcpPacket& expected, const Flow& flow,
                              bool stamps) {
  std::vector<Option> out = live.options;
  const auto wanted = std::find_if(expected.options.begin(), expected.options.end(), is_stamp);
  for (Option& option : out) {
    for (std::size_t at = 0; option.kind == 5 && at + 4 <= option.data.size(); at += 4) {
      set_word(option, at, flow.peer_to_script(option_word(option, at)));
    }
    if (!is_stamp(option) || wanted == expected.options.end()) {
      continue;
    }
    option.any_value = wanted->any_value;
    option.any_echo = wanted->any_echo;
    if (wanted->any_echo) {
      set_word(option, 4, option_word(*wanted, 4));
    }
    if (wanted->any_value || (!stamps && !flow.stamps.empty())) {
      set_word(option, 0, option_word(*wanted, 0));
    } else if (!flow.stamps.empty()) {
      set_word(option, 0,
               option_word(option, 0) - flow.stamps.front().live + flow.stamps.front().script);
    }
  }
  return out;
}

std::string quoted_text(const std::optional<SequenceRange>& quoted) {
  return quoted ? fmt::format("{}:{}({})", quoted->begin, quoted->begin + quoted->length,
                              quoted->length)
                : "nothing";
}

void compare_icmp(const Packet& expected, const Live& live, const Flow& flow,
                  std::vector<Row>& rows) {
  if (live.source.address != flow.local.address ||
      live.destination.address != flow.remote.address) {
    add(rows, "addresses", text_of({flow.local.address, {}}, {flow.remote.address, {}}),
        text_of(live.source, live.destination));
  }
  const auto text = [](const IcmpPacket& icmp) {
    return fmt::format("{} {} mtu {} id {}", icmp.type, icmp.code, icmp.mtu, icmp.id.value_or(0));
  };
  add(rows, "icmp", text(expected.icmp), text(live.icmp));
  if (expected.icmp.quoted) {
    add(rows, "quoted", quoted_text(expected.icmp.quoted), quoted_text(live.icmp.quoted));
  }
}

/// A flag without a number stands for the number 0, and a number may stand without its flag.
void compare_ack(const TcpPacket& tcp, const Live& live, const Flow& flow, std::vector<Row>& rows) {
  bool const flag = (tcp.flags & ack) != 0;
  bool const live_flag = (live.flags & ack) != 0;
  std::string const expected = tcp.ack ? fmt::format("{}", *tcp.ack) : flag ? "0" : "-";
  bool const bare = tcp.ack && !flag;
  std::uint32_t const actual = bare && live.ack == 0 ? 0 : flow.peer_to_script(live.ack);
  add(rows, "ack", expected, live_flag || bare ? fmt::format("{}", actual) : "-");
}

}  // namespace

void number(const Live& live, std::uint32_t first, Flow& flow) {
  constexpr std::uint8_t refuses = rst | ack;
  if (live.readable && !live.is_icmp) {
    bool const opens = (live.flags & syn) != 0 && flow.opening;
    bool const refused = (live.flags & refuses) == refuses && live.sequence == 0;
    flow.shift = opens ? live.sequence - first : refused ? 0 : flow.shift;
  }
}

void learn(const Packet& expected, const Live& live, Flow& flow) {
  if (expected.is_icmp || !live.readable || live.is_icmp) {
    return;
  }
  number(live, expected.tcp.sequence.begin, flow);
  bool const opens = (live.flags & syn) != 0 && flow.opening;
  if (opens) {
    // Only an active open draws a port, and it starts without an ACK.
    if (!flow.local_known && flow.active && (live.flags & ack) == 0) {
      flow.local = live.source;
      flow.remote = flow.remote_known ? flow.remote : live.destination;
      flow.local_known = true;
    }
    flow.stamps.clear();
    // A retransmitted SYN has the same sequence number.
    flow.opening = false;
  }
  flow.last_sent = live.sequence;
  const auto theirs = std::find_if(live.options.begin(), live.options.end(), is_stamp);
  auto const& options = expected.tcp.options;
  const auto ours = std::find_if(options.begin(), options.end(), is_stamp);
  if (theirs != live.options.end() && ours != options.end() && !ours->any_value) {
    flow.stamps.push_back({option_word(*ours, 0), option_word(*theirs, 0)});
  }
}

std::vector<Row> compare(const Packet& expected, const Live& live, const Flow& flow, bool stamps) {
  std::vector<Row> rows;
  if (!live.readable) {
    add(rows, "packet", "well-formed", live.complaint);
    return rows;
  }
  compare_ip(expected.ip, live, rows);
  if (expected.is_icmp || live.is_icmp) {
    add(rows, "protocol", expected.is_icmp ? "ICMP" : "TCP", live.is_icmp ? "ICMP" : "TCP");
    if (expected.is_icmp && live.is_icmp) {
      compare_icmp(expected, live, flow, rows);
    }
    return rows;
  }
  TcpPacket const& tcp = expected.tcp;
  if (live.source != flow.local || live.destination != flow.remote) {
    add(rows, "addresses", text_of(flow.local, flow.remote),
        text_of(live.source, live.destination));
  }
  add(rows, "flags", flags_text(tcp.flags), flags_text(live.flags));
  if (!tcp.any_sequence) {
    add(rows, "sequence", fmt::format("{}", tcp.sequence.begin),
        fmt::format("{}", flow.to_script(live.sequence)));
  }
  add(rows, "length", fmt::format("{}", tcp.sequence.length), fmt::format("{}", live.length));
  if (!tcp.any_ack) {
    compare_ack(tcp, live, flow, rows);
  }
  add_if(rows, "window", tcp.window, live.window);
  if (tcp.urgent || (live.flags & urg) != 0) {
    add(rows, "urgent", fmt::format("{}", tcp.urgent.value_or(0)), fmt::format("{}", live.urgent));
  }
  if (!tcp.any_options) {
    add(rows, "options", options_text(tcp.options),
        options_text(in_script(live, tcp, flow, stamps)));
  }
  return rows;
}

bool differ(const std::vector<Row>& rows) {
  return std::any_of(rows.begin(), rows.end(), [](const Row& row) { return row.differs; });
}

bool join(Live& whole, const Live& next, std::uint32_t segment_bytes) {
  constexpr std::uint8_t ending = psh | fin;
  bool const plain = next.readable && !next.is_icmp && next.length > 0 &&
                     next.length <= segment_bytes && (whole.flags & (ending | syn)) == 0;
  bool const follows = next.sequence == whole.sequence + whole.length && next.ack == whole.ack &&
                       next.source == whole.source && next.destination == whole.destination;
  bool const alike = (next.flags & ~ending) == (whole.flags & ~ending) &&
                     next.window == whole.window && next.urgent == whole.urgent &&
                     next.options == whole.options;
  bool const same_ip = next.traffic_class == whole.traffic_class && next.ttl == whole.ttl &&
                       next.flow_label == whole.flow_label;
  if (!plain || !follows || !alike || !same_ip) {
    return false;
  }
  whole.length += next.length;
  whole.flags = next.flags;
  return true;
}

namespace {

std::string without_push(std::string flags) {
  std::erase(flags, 'P');
  return flags;
}

}  // namespace

void allow_push(std::vector<Row>& rows) {
  for (Row& row : rows) {
    bool const push =
        row.field == "flags" && without_push(row.expected) == without_push(row.actual);
    row.differs = row.differs && !push;
  }
}

void allow_choices(std::vector<Row>& rows) {
  for (Row& row : rows) {
    bool const window = row.field == "window" && row.expected != "0" && row.actual != "0";
    bool const push =
        row.field == "flags" && without_push(row.expected) == without_push(row.actual);
    row.differs = row.differs && !window && !push;
  }
}

}  // namespace lockstep::conformance::script
