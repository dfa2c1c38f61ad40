// A script back to text, in one way of writing it.
#include "conformance/script/format.hpp"

#include <fmt/core.h>


namespace lockstep::script {
namespace {

std::string seconds(Duration time) {
  std::uint64_t const whole = time.ns / 1'000'000'000;
  std::string fraction = fmt::format("{:09}", time.ns % 1'000'000'000);
  fraction.erase(fraction.find_last_not_of('0') + 1);
  return fraction.empty() ? fmt::format("{}", whole) : fmt::format("{}.{}", whole, fraction);
}

std::string hex(const std::vector<std::uint8_t>& octets) {
  std::string out;
  for (std::uint8_t const octet : octets) {
    out += fmt::format("{:02x}", octet);
  }
  return out;
}

std::string format(const Option& option) {
  using Kind = Option::Kind;
  switch (option.kind) {
    case Kind::mss:
      return fmt::format("mss {}", option.numbers[0]);
    case Kind::window_scale:
      return fmt::format("wscale {}", option.numbers[0]);
    case Kind::sack_permitted:
      return "sackOK";
    case Kind::sack: {
      std::string out = "sack";
      for (std::size_t i = 0; i + 1 < option.numbers.size(); i += 2) {
        out += fmt::format(" {}:{}", option.numbers[i], option.numbers[i + 1]);
      }
      return out;
    }
    case Kind::timestamps:
      return fmt::format("TS val {} ecr {}", option.numbers[0], option.numbers[1]);
    case Kind::nop:
      return "nop";
    case Kind::end:
      return "eol";
    case Kind::fast_open:
    case Kind::fast_open_old: {
      std::string const name = option.kind == Kind::fast_open ? "FO" : "FOEXP";
      return option.octets.empty() ? name : name + " " + hex(option.octets);
    }
  }
  return "";
}

std::string format(const Sequences& text) {
  return fmt::format("{}:{}({})", text.first, text.end, text.length);
}

std::string format(const TcpPacket& tcp) {
  std::string out = (tcp.flags.empty() ? "-" : tcp.flags) + " " + format(tcp.text);
  out += tcp.ack ? fmt::format(" ack {}", *tcp.ack) : "";
  out += tcp.window ? fmt::format(" win {}", *tcp.window) : "";
  out += tcp.urgent ? fmt::format(" urg {}", *tcp.urgent) : "";
  if (tcp.any_options) {
    return out + " <...>";
  }
  for (std::size_t i = 0; i < tcp.options.size(); ++i) {
    out += (i == 0 ? " <" : ",") + format(tcp.options[i]);
  }
  return out + (tcp.options.empty() ? "" : ">");
}

std::string format(const IcmpPacket& icmp) {
  std::string out = (icmp.v6 ? "icmpv6 " : "icmp ") + icmp.type;
  out += icmp.code.empty() ? "" : " " + icmp.code;
  out += icmp.mtu ? fmt::format(" mtu {}", *icmp.mtu) : "";
  out += icmp.quoted ? " [" + format(*icmp.quoted) + "]" : "";
  return out;
}

// What stands before, between and behind the children of a node.
struct Frame {
  std::string_view begin, between, end;
};

Frame frame_of(const Node& node) {
  switch (node.kind) {
    case Node::Kind::list:
      return {"[", ", ", "]"};
    case Node::Kind::structure:
      return {"{", ", ", "}"};
    case Node::Kind::bits_or:
      return {"", " | ", ""};
    case Node::Kind::bits_not:
      return {"~", "", ""};
    case Node::Kind::word:
      return node.called ? Frame{"(", ", ", ")"} : Frame{};
    default:
      return {};
  }
}

std::string atom(const Node& node) {
  switch (node.kind) {
    case Node::Kind::ellipsis:
      return "...";
    case Node::Kind::number:
      return fmt::format("{}", node.number);
    case Node::Kind::word:
      return node.word;
    case Node::Kind::text:
      return quoted(node.word) + (node.open ? "..." : "");
    default:
      return "";
  }
}

// Without recursion: what is still to be written stands on a stack, nodes and the text between.
std::string format_node(const Call& call, std::uint32_t root) {
  struct Step {
    std::uint32_t node = Node::no_name;  // no_name: `text` alone
    std::string_view text;
  };
  std::string out;
  std::vector<Step> steps{{root, ""}};
  while (!steps.empty()) {
    Step const step = steps.back();
    steps.pop_back();
    if (step.node == Node::no_name) {
      out += step.text;
      continue;
    }
    Node const& node = call.nodes[step.node];
    Frame const frame = frame_of(node);
    out += atom(node);
    out += frame.begin;
    steps.push_back({Node::no_name, frame.end});
    for (std::size_t i = node.children.size(); i-- != 0;) {
      steps.push_back({node.children[i], ""});
      if (!node.names.empty() && node.names[i] != Node::no_name) {
        steps.push_back({Node::no_name, "="});
        steps.push_back({node.names[i], ""});
      }
      if (i != 0) {
        steps.push_back({Node::no_name, frame.between});
      }
    }
  }
  return out;
}

std::string format(const Event& event) {
  std::string out = format(event.when) + " ";
  if (auto const* packet = std::get_if<Packet>(&event.what)) {
    return out + format(*packet);
  }
  if (auto const* call = std::get_if<Call>(&event.what)) {
    return out + format(*call);
  }
  if (auto const* code = std::get_if<Code>(&event.what)) {
    return out + "%{" + code->text + "}%";
  }
  return out + "`" + std::get<Command>(event.what).text + "`";
}

}  // namespace

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char const c : text) {
    if (c == '"' || c == '\\') {
      out += std::string("\\") + c;
    } else if (c >= ' ' && c < 127) {
      out += c;
    } else {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return out + "\"";
}

std::string format(const When& when) {
  if (when.kind == When::Kind::any) {
    return "*";
  }
  std::string const sign = when.kind == When::Kind::relative ? "+" : "";
  std::string out = sign + seconds(when.at);
  out += when.latest ? "~" + sign + seconds(*when.latest) : "";
  return out + (when.returns ? "..." + seconds(*when.returns) : "");
}

std::string format(const Packet& packet) {
  std::string out = packet.inbound ? "< " : "> ";
  switch (packet.ecn) {
    case Ecn::unsaid:
      break;
    case Ecn::none:
      out += "[noecn] ";
      break;
    case Ecn::ect0:
      out += "[ect0] ";
      break;
    case Ecn::ect1:
      out += "[ect1] ";
      break;
    case Ecn::ce:
      out += "[ce] ";
      break;
  }
  auto const* tcp = std::get_if<TcpPacket>(&packet.what);
  return out + (tcp != nullptr ? format(*tcp) : format(std::get<IcmpPacket>(packet.what)));
}

std::string format(const Call& call) {
  std::string out = call.name + "(";
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    out += (i == 0 ? "" : ", ") + format_node(call, call.arguments[i]);
  }
  out += ") = " + format_node(call, call.result);
  return out + (call.error.empty() ? "" : " " + call.error);
}

std::string format(const Script& script) {
  std::string out;
  for (Setting const& setting : script.settings) {
    bool const plain = setting.value.find_first_of(" \t\"") == std::string::npos;
    out += "--" + setting.name;
    out += setting.value.empty() ? "" : "=" + (plain ? setting.value : quoted(setting.value));
    out += "\n";
  }
  out += script.first ? "`" + script.first->text + "`\n" : "";
  for (Event const& event : script.events) {
    out += format(event) + "\n";
  }
  return out;
}

}  // namespace lockstep::script
