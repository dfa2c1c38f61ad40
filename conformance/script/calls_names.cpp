// Calls of a script: socket addresses, as records of the script and as C structures.
#include <arpa/inet.h>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>

#include "conformance/script/calls.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/base/text/units.hpp"

namespace lockstep::conformance::script {
namespace {

bool is_given(const Value* value) {
  return value != nullptr && value->kind != Value::Kind::ellipsis;
}

const Value* family_in(const Value& name) {
  return item(name, {"sa_family", "sin_family", "sin6_family"}, 0);
}
const Value* port_in(const Value& name) { return item(name, {"sin_port", "sin6_port"}, 1); }
const Value* address_in(const Value& name) { return item(name, {"sin_addr", "sin6_addr"}, 2); }

IpAddress address_of(const in6_addr& from) {
  IpAddress out;
  for (int i = 0; i < 16; ++i) {
    std::uint64_t& half = i < 8 ? out.high : out.low;
    half = half << 8 | from.s6_addr[i];
  }
  return out;
}

struct Named {
  int family = 0;
  Endpoint end;
};

Named read_name(const sockaddr_storage& bytes) {
  Named out;
  out.family = bytes.ss_family;
  if (bytes.ss_family == AF_INET) {
    sockaddr_in four{};
    std::memcpy(&four, &bytes, sizeof four);
    out.end = {IpAddress::from(Ipv4{ntohl(four.sin_addr.s_addr)}), Port{ntohs(four.sin_port)}};
  } else {
    sockaddr_in6 six{};
    std::memcpy(&six, &bytes, sizeof six);
    out.end = {address_of(six.sin6_addr), Port{ntohs(six.sin6_port)}};
  }
  return out;
}

}  // namespace

const Value* item(const Value& value, std::initializer_list<const char*> names, std::size_t at) {
  for (const char* const name : names) {
    if (const Value* const found = value.field(name, at)) {
      return found;
    }
  }
  return nullptr;
}

void Caller::refuse(Place at, const std::string& expected) const {
  throw tools::Failure(tools::ExitCode::bad_input,
                       fmt::format("{}:{}:{}: this argument of {} cannot be used, expected {}: "
                                   "correct the call",
                                   script_.file, at.line, at.column, call_->name, expected));
}

void Caller::check_names(const Value& record, std::initializer_list<std::string_view> names) const {
  for (std::size_t i = 0; i < record.names.size(); ++i) {
    if (std::find(names.begin(), names.end(), record.names[i]) == names.end()) {
      refuse(record.items[i],
             fmt::format("one of {} before '=', not {}", fmt::join(names, ", "), record.names[i]));
    }
    if (std::count(record.names.begin(), record.names.end(), record.names[i]) != 1) {
      refuse(record, fmt::format("{} once", record.names[i]));
    }
  }
}

IpAddress Caller::address_of(const Value& value) const {
  if (value.kind == Value::Kind::number && value.number >= 0 && value.number <= UINT32_MAX) {
    return IpAddress::from(Ipv4{static_cast<std::uint32_t>(value.number)});
  }
  auto const parsed =
      value.kind == Value::Kind::text ? tools::parse_address(value.text) : std::nullopt;
  if (!parsed) {
    refuse(value, "an address such as inet_addr(\"192.0.2.1\")");
  }
  return *parsed;
}

/// `...` is the peer's address or ours; otherwise {sa_family = ..., sin_port = ..., sin_addr =
/// ...}, of which each item may be `...` or absent.
Caller::Name Caller::name_of(const Value* value, bool remote) const {
  Head const& head = script_.head;
  bool const bare = is_given(value) && value->kind == Value::Kind::number;  // connect(3, AF_UNSPEC)
  bool const any = !is_given(value) || bare;
  if (!any) {
    if (value->kind != Value::Kind::record || value->names.size() != value->items.size()) {
      refuse(*value, "... or {sa_family = ..., sin_port = htons(N), sin_addr = inet_addr(...)}");
    }
    check_names(*value, {"sa_family", "sin_family", "sin6_family", "sin_port", "sin6_port",
                         "sin_addr", "sin6_addr"});
  }
  const Value* const family_given = any ? nullptr : family_in(*value);
  const Value* const port_given = any ? nullptr : port_in(*value);
  const Value* const address_given = any ? nullptr : address_in(*value);
  std::int64_t const family = bare                        ? number(*value)
                              : is_given(family_given)    ? number(*family_given)
                              : head.mode == IpMode::ipv4 ? AF_INET
                                                          : AF_INET6;
  std::int64_t const port = is_given(port_given) ? number(*port_given)
                            : remote             ? head.connect_port
                                                 : head.bind_port;
  if (port < 0 || port > 65535) {
    refuse(*port_given, "a port, 0 to 65535");
  }
  if (family < 0 || family > 65535) {
    refuse(*family_given, "a family such as AF_INET");
  }
  IpAddress const ip = is_given(address_given) ? address_of(*address_given)
                       : remote                ? plan_.remote
                                               : plan_.local;
  Name out;
  if (family != AF_INET6) {
    if (family == AF_INET && !ip.is_v4()) {
      refuse(address_given == nullptr ? *value : *address_given, "an address of IPv4 with AF_INET");
    }
    sockaddr_in name{};
    name.sin_family = static_cast<sa_family_t>(family);
    name.sin_port = htons(static_cast<std::uint16_t>(port));
    name.sin_addr.s_addr = htonl(ip.as_v4().value);
    std::memcpy(&out.bytes, &name, sizeof name);
    out.length = sizeof name;
    return out;
  }
  sockaddr_in6 name{};
  name.sin6_family = AF_INET6;
  name.sin6_port = htons(static_cast<std::uint16_t>(port));
  for (int i = 0; i < 16; ++i) {
    std::uint64_t const half = i < 8 ? ip.high : ip.low;
    name.sin6_addr.s6_addr[i] = static_cast<std::uint8_t>(half >> (56 - 8 * (i % 8)));
  }
  std::memcpy(&out.bytes, &name, sizeof name);
  out.length = sizeof name;
  return out;
}

Endpoint Caller::end_of(const Name& name) { return read_name(name.bytes).end; }

/// An address argument, followed by its length.
Caller::Name Caller::name_at(std::size_t at, bool remote) const {
  Name out = name_of(&argument(at), remote);
  if (is_given(&argument(at + 1))) {
    std::int64_t const length = number(at + 1);
    if (length < 0 || length > static_cast<std::int64_t>(sizeof out.bytes)) {
      refuse(argument(at + 1), fmt::format("a length, 0 to {}", sizeof out.bytes));
    }
    out.length = static_cast<socklen_t>(length);
  }
  return out;
}

/// Compares the address that a call returned with the one in the script.
void Caller::judge_name(const sockaddr_storage& got, socklen_t length, Given& out) const {
  if (out.result < 0) {
    return;
  }
  out.wrong = wrong_name(argument(1), got);
  out.wrong = out.wrong.empty() ? wrong_length(argument(2), length) : out.wrong;
}

/// How an address that a call returned differs from the one in the script; empty: they agree.
std::string Caller::wrong_name(const Value& wanted, const sockaddr_storage& got) const {
  if (!is_given(&wanted)) {
    return {};
  }
  Named const expected = read_name(name_of(&wanted, true).bytes);
  Named const actual = read_name(got);
  if (is_given(family_in(wanted)) && expected.family != actual.family) {
    return fmt::format("the address family is {}, not {}", actual.family, expected.family);
  }
  if (is_given(port_in(wanted)) && expected.end.port != actual.end.port) {
    return fmt::format("the port is {}, not {}", actual.end.port.value, expected.end.port.value);
  }
  if (is_given(address_in(wanted)) && expected.end.address != actual.end.address) {
    return fmt::format("the address is {}, not {}", tools::text_of(actual.end.address),
                       tools::text_of(expected.end.address));
  }
  return {};
}

/// The same for its length: N or [N].
std::string Caller::wrong_length(const Value& wanted, socklen_t got) const {
  bool const any = !is_given(&wanted) || (wanted.kind == Value::Kind::list &&
                                          wanted.items.size() == 1 && !is_given(&wanted.items[0]));
  return any || number(wanted) == got
             ? ""
             : fmt::format("the length is {}, not {}", got, number(wanted));
}

}  // namespace lockstep::conformance::script
