// The calls of a script, made on sockets: arguments to values, results against what is expected.
#include "conformance/script/calls.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "conformance/script/cursor.hpp"
#include "conformance/script/format.hpp"
#include "conformance/script/symbols.hpp"

namespace lockstep::script {
namespace {

using Kind = Node::Kind;
using tools::Result;

constexpr std::int64_t text_max = 1 << 24;  // of one read or write

[[noreturn]] void refuse(const Node& node, const std::string& expected) {
  Cursor::fail(node.place, fmt::format("expected {}", expected));
}

std::string name_of(Result result) {
  if (result >= 0) {
    return fmt::format("{}", result);
  }
  char const* const name = strerrorname_np(static_cast<int>(-result));
  return fmt::format("-1 {}", name == nullptr ? "(an unknown errno)" : name);
}

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

const Node& Caller::argument(const Call& call, std::size_t index) const {
  if (index >= call.arguments.size()) {
    Cursor::fail(call.nodes[call.result].place,
                 fmt::format("{} has too few arguments", call.name));
  }
  return call.nodes[call.arguments[index]];
}

// Numbers, names, and what | and ~ make of these.
std::int64_t Caller::value(const Call& call, std::uint32_t at) const {
  Node const& node = call.nodes[at];
  auto const plain = [&](const Node& one) {
    bool const inverted = one.kind == Kind::bits_not;
    Node const& atom = inverted ? call.nodes[one.children[0]] : one;
    std::int64_t out = atom.number;
    if (atom.kind == Kind::word && !atom.called) {
      auto const known = number_of(atom.word);
      if (!known) {
        Cursor::fail(atom.place, fmt::format("'{}' is no name that is known here", atom.word));
      }
      out = *known;
    } else if (atom.kind != Kind::number) {
      refuse(atom, "a number or a name");
    }
    return inverted ? ~out : out;
  };
  if (node.kind != Kind::bits_or) {
    return plain(node);
  }
  std::int64_t out = 0;
  for (std::uint32_t const child : node.children) {
    out |= plain(call.nodes[child]);
  }
  return out;
}

std::int64_t Caller::number(const Call& call, std::size_t index) const {
  static_cast<void>(argument(call, index));
  return value(call, call.arguments[index]);
}

std::int64_t Caller::number_or(const Call& call, std::size_t index,
                               std::int64_t otherwise) const {
  return argument(call, index).kind == Kind::ellipsis ? otherwise : number(call, index);
}

int Caller::descriptor(const Call& call, std::size_t index) const {
  auto const found = descriptors_.find(number(call, index));
  return found == descriptors_.end() ? -1 : found->second;
}

// `...`, or {sa_family = AF_INET, sin_port = htons(N), sin_addr = inet_addr("A")}.
sockaddr_storage Caller::address(const Call& call, std::size_t index) const {
  sockaddr_in out{};
  bool const to = call.name == "connect";
  out.sin_family = AF_INET;
  out.sin_port = htons(service.value);
  out.sin_addr.s_addr = to ? htonl(remote.as_v4().value) : INADDR_ANY;
  Node const& node = argument(call, index);
  if (node.kind == Kind::structure) {
    for (std::size_t i = 0; i < node.children.size(); ++i) {
      Node const& field = call.nodes[node.children[i]];
      std::string const name = node.names[i] == Node::no_name ? "" : call.nodes[node.names[i]].word;
      bool const called = field.kind == Kind::word && field.called && field.children.size() == 1;
      Node const& inner = called ? call.nodes[field.children[0]] : field;
      if (is_one_of(name, {"sa_family", "sin_family"})) {
        out.sin_family = static_cast<sa_family_t>(value(call, node.children[i]));
      } else if (name == "sin_port" && called && field.word == "htons") {
        out.sin_port = htons(static_cast<std::uint16_t>(value(call, field.children[0])));
      } else if (name == "sin_addr" && called && field.word == "inet_addr" &&
                 inner.kind == Kind::text &&
                 inet_pton(AF_INET, inner.word.c_str(), &out.sin_addr) == 1) {
        continue;
      } else {
        refuse(field, "sa_family=AF_INET, sin_port=htons(N), sin_addr=inet_addr(\"A.B.C.D\")");
      }
    }
  } else if (node.kind != Kind::ellipsis) {
    refuse(node, "an address in {}, or ...");
  }
  sockaddr_storage whole{};
  std::memcpy(&whole, &out, sizeof out);
  return whole;
}

Caller::Outcome Caller::open(const Call& call) {
  Outcome out;
  out.makes_descriptor = true;
  if (call.name == "socket") {
    out.result = sockets_.socket(static_cast<int>(number_or(call, 0, AF_INET)),
                                 static_cast<int>(number(call, 1)),
                                 static_cast<int>(number(call, 2)));
    return out;
  }
  for (std::size_t const index : {std::size_t{1}, std::size_t{2}}) {
    Node const& node = argument(call, index);
    if (node.kind != Kind::ellipsis && !(node.kind == Kind::number && node.number == 0)) {
      refuse(node, "... for the peer's address");
    }
  }
  int const flags = call.name == "accept4" ? static_cast<int>(number(call, 3)) : 0;
  out.result = sockets_.accept(descriptor(call, 0), nullptr, nullptr, flags);
  return out;
}

Caller::Outcome Caller::name(const Call& call) {
  sockaddr_storage const where = address(call, 1);
  sockaddr_in four{};
  std::memcpy(&four, &where, sizeof four);
  if (four.sin_port != 0) {
    bound_ = {ntohs(four.sin_port)};
  }
  tools::NameIn const in{reinterpret_cast<const sockaddr*>(&where),
                         static_cast<socklen_t>(number_or(call, 2, sizeof four))};
  int const fd = descriptor(call, 0);
  return {call.name == "bind" ? sockets_.bind(fd, in) : sockets_.connect(fd, in), "", false};
}

// read, recv, write, send: `...` or a text, a length, flags.
Caller::Outcome Caller::transfer(const Call& call) {
  bool const reads = is_one_of(call.name, {"read", "recv"});
  bool const flagged = is_one_of(call.name, {"recv", "send"});
  int const flags = flagged ? static_cast<int>(number(call, 3)) : 0;
  Node const& node = argument(call, 1);
  std::int64_t const size = number(call, 2);
  if (node.kind != Kind::ellipsis && node.kind != Kind::text) {
    refuse(node, "... or a text");
  }
  if (size < 0 || size > text_max) {
    refuse(argument(call, 2), fmt::format("a length up to {}", text_max));
  }
  std::string text = reads ? "" : node.word;
  text.resize(static_cast<std::size_t>(size));
  int const fd = descriptor(call, 0);
  if (reads) {
    iovec const part{text.data(), text.size()};
    Outcome out{sockets_.receive(fd, {&part, 1}, flags), "", false};
    auto const length = static_cast<std::size_t>(std::max<Result>(out.result, 0));
    std::string const got = text.substr(0, length);
    bool const same = node.open ? got.starts_with(node.word) : got == node.word;
    if (out.result >= 0 && node.kind == Kind::text && !same) {
      out.fault = "read " + quoted(got);
    }
    return out;
  }
  iovec const part{text.data() + written_, text.size() - written_};
  Result const taken = sockets_.send(fd, {&part, 1}, flags);
  bool const waits = (sockets_.control(fd, F_GETFL, 0) & O_NONBLOCK) == 0 && taken >= 0 &&
                     written_ + static_cast<std::uint64_t>(taken) < text.size();
  if (taken < 0) {
    return {taken, "", false};
  }
  written_ += static_cast<std::uint64_t>(taken);
  return {waits ? -EAGAIN : static_cast<Result>(written_), "", false};
}

// Options that are an int, in [N]; SO_LINGER as {onoff=1, linger=0}.
Caller::Outcome Caller::option(const Call& call) {
  int const fd = descriptor(call, 0);
  int const level = static_cast<int>(number(call, 1));
  int const name = static_cast<int>(number(call, 2));
  Node const& node = argument(call, 3);
  if (call.name == "setsockopt" && node.kind == Kind::structure && node.children.size() == 2) {
    struct linger value {
      static_cast<int>(this->value(call, node.children[0])),
      static_cast<int>(this->value(call, node.children[1]))
    };
    return {sockets_.set_option(fd, level, name, &value, sizeof value), "", false};
  }
  if (node.kind != Kind::list || node.children.size() != 1) {
    refuse(node, "[N]");
  }
  int in = static_cast<int>(value(call, node.children[0]));
  if (call.name == "setsockopt") {
    auto const length = static_cast<socklen_t>(number(call, 4));
    return {sockets_.set_option(fd, level, name, &in, std::min<socklen_t>(length, sizeof in)), "",
            false};
  }
  int got = 0;
  socklen_t length = sizeof got;
  Outcome out{sockets_.get_option(fd, level, name, &got, &length), "", false};
  if (out.result == 0 && got != in) {
    out.fault = fmt::format("the option is {}", got);
  }
  return out;
}

Caller::Outcome Caller::poll(const Call& call) {
  Node const& list = argument(call, 0);
  if (list.kind != Kind::list || number(call, 2) != 0) {
    refuse(list, "[{fd=N, events=E, revents=R}, ...], and a timeout of 0");
  }
  std::vector<pollfd> entries;
  std::vector<std::int64_t> expected;
  for (std::uint32_t const at : list.children) {
    Node const& each = call.nodes[at];
    pollfd entry{-1, 0, 0};
    expected.push_back(0);
    for (std::size_t i = 0; i < each.children.size(); ++i) {
      std::string const name = each.names.size() == each.children.size() &&
                                       each.names[i] != Node::no_name
                                   ? call.nodes[each.names[i]].word
                                   : "";
      std::int64_t const what = value(call, each.children[i]);
      if (name == "fd") {
        auto const found = descriptors_.find(what);
        entry.fd = found == descriptors_.end() ? static_cast<int>(what) : found->second;
      } else if (name == "events") {
        entry.events = static_cast<short>(what);
      } else if (name == "revents") {
        expected.back() = what;
      } else {
        refuse(each, "{fd=N, events=E, revents=R}");
      }
    }
    entries.push_back(entry);
  }
  Outcome out{sockets_.poll(entries), "", false};
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].revents != expected[i]) {
      out.fault += fmt::format("revents of entry {} is {:#x}, expected {:#x}; ", i,
                               entries[i].revents, expected[i]);
    }
  }
  return out;
}

Caller::Outcome Caller::make(const Call& call, Place place) {
  std::string const& name = call.name;
  if (is_one_of(name, {"socket", "accept", "accept4"})) {
    return open(call);
  }
  if (is_one_of(name, {"bind", "connect"})) {
    return this->name(call);
  }
  if (is_one_of(name, {"read", "recv", "write", "send"})) {
    return transfer(call);
  }
  if (is_one_of(name, {"setsockopt", "getsockopt"})) {
    return option(call);
  }
  if (name == "poll") {
    return poll(call);
  }
  int const fd = is_one_of(name, {"listen", "shutdown", "close", "fcntl", "ioctl"})
                     ? descriptor(call, 0)
                     : -1;
  if (name == "listen") {
    return {sockets_.listen(fd, static_cast<int>(number(call, 1))), "", false};
  }
  if (name == "shutdown") {
    return {sockets_.shutdown(fd, static_cast<int>(number(call, 1))), "", false};
  }
  if (name == "close") {
    return {sockets_.close(fd), "", false};
  }
  if (name == "fcntl") {
    int const argument = call.arguments.size() > 2 ? static_cast<int>(number(call, 2)) : 0;
    return {sockets_.control(fd, static_cast<int>(number(call, 1)), argument), "", false};
  }
  if (name == "ioctl") {
    Node const& list = argument(call, 2);
    if (list.kind != Kind::list || list.children.size() != 1) {
      refuse(list, "[N]");
    }
    int got = 0;
    Outcome out{sockets_.query(fd, static_cast<unsigned long>(number(call, 1)), &got), "", false};
    if (out.result == 0 && got != value(call, list.children[0])) {
      out.fault = fmt::format("the answer is {}", got);
    }
    return out;
  }
  Cursor::fail(place, fmt::format("'{}' is no call that can be made here", name));
}

bool Caller::may_block(const Call& call) {
  if (!is_one_of(call.name, {"accept", "accept4", "connect", "read", "recv", "write", "send"})) {
    return false;
  }
  Result const flags = sockets_.control(descriptor(call, 0), F_GETFL, 0);
  return flags >= 0 && (flags & O_NONBLOCK) == 0;
}

Called Caller::call(const Call& call, Place place, bool again) {
  written_ = again ? written_ : 0;
  bool const blocks = may_block(call);
  Outcome const out = make(call, place);
  bool const waits = out.result == -EAGAIN || out.result == -EINPROGRESS || out.result == -EALREADY;
  if (blocks && waits) {
    return {true, ""};
  }
  Node const& expected = call.nodes[call.result];
  if (out.makes_descriptor && out.result >= 0 && expected.kind == Kind::number) {
    descriptors_[expected.number] = static_cast<int>(out.result);
    return {false, expected.number < 0 ? fmt::format("{} gave a descriptor", call.name) : ""};
  }
  if (call.name == "close" && out.result == 0) {
    descriptors_.erase(number(call, 0));
  }
  if (!out.fault.empty()) {
    return {false, fmt::format("{}: {}", call.name, out.fault)};
  }
  if (expected.kind == Kind::ellipsis) {
    return {};
  }
  std::int64_t const wanted = value(call, call.result);
  bool const error_fits = call.error.empty() || name_of(out.result) == "-1 " + call.error;
  if (wanted == std::max<Result>(out.result, -1) && error_fits) {
    return {};
  }
  std::string const error = call.error.empty() ? "" : " " + call.error;
  return {false, fmt::format("{} gave {}, expected {}{}", call.name, name_of(out.result), wanted,
                             error)};
}

}  // namespace lockstep::script
