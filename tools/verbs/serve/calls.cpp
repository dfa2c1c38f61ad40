// Runs a stack on a TAP, and executes the calls that it reads as lines of JSON.
#include "tools/verbs/serve/calls.hpp"

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "core/stack/turn.hpp"
#include "hw/tap/port.hpp"
#include "hw/tap/setup.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/lib/calls/calls.hpp"
#include "tools/lib/calls/configure.hpp"

namespace lockstep::tools {
namespace {

constexpr std::uint32_t turns_max = 10'000;  // until no event is left at this instant
constexpr std::size_t line_max = 1u << 20;   // of one call
constexpr std::uint32_t number_max = 1u << 24;

struct Line {
  alignas(64) std::array<std::byte, 64> bytes;
};

/// The error of a refused call.
struct Refused {
  std::string why;
};

void accept_or_throw(Refusal refusal) {
  if (refusal != Refusal::none) {
    throw Refused{std::string(name_of(refusal))};
  }
}

nlohmann::json variables(const ConnectionInfo& info) {
  nlohmann::json out;
  for (const auto& [name, value] : python::variables_of(info)) {
    out[std::string(name)] = value;
  }
  return out;
}

/// The name of an event.
std::string word_of(const Event& event) {
  std::string word(name_of(event.kind));
  if (event.kind == EventKind::closed || event.kind == EventKind::soft_error) {
    word += ':' + std::string(name_of(event.cause));
  }
  return word;
}

/// The application on the host: its connections, numbered in the order in which it learned of them.
class Program {
 public:
  Program(Stack& stack, IpAddress remote) : stack_(stack), remote_(remote) {}

  // The interface that turn() expects of an application.
  void on_event(Stack&, const Event& event) {
    told_[{event.id.slot, event.id.generation}].push_back(word_of(event));
    if (event.kind == EventKind::accepted) {
      accepted_.push_back(event.id);
    }
  }
  void run(Stack&, Instant) {}

  /// Executes a call, an array of a name and its arguments, and returns its answer.
  nlohmann::json answer(const nlohmann::json& call) {
    const std::string name = call.at(0).get<std::string>();
    if (name == "listen") {
      Local local;
      local.port = port(call.at(1));
      if (listens_) {
        throw Refused{"already listening: unlisten first"};
      }
      accept_or_throw(stack_.listen(local, Backlog{}, listener_));
      listens_ = true;
      return nullptr;
    }
    if (name == "unlisten") {
      if (listens_) {
        accept_or_throw(stack_.unlisten(listener_));
      }
      listens_ = false;
      return nullptr;
    }
    if (name == "connect") {
      Open open;
      open.local = {stack_.config().addresses[0].address, port(call.at(1))};
      open.remote = {remote_, port(call.at(2))};
      ConnectionId id;
      accept_or_throw(stack_.connect(open, id));
      return keep(id);
    }
    if (name == "accept") {
      if (accepted_.empty()) {
        return nullptr;
      }
      const ConnectionId id = accepted_.front();
      accepted_.pop_front();
      return keep(id);
    }
    if (name == "state") {
      const Endpoint local{stack_.config().addresses[0].address, port(call.at(1))};
      return std::string(tcp::name_of(stack_.state_of({local, {remote_, port(call.at(2))}})));
    }
    return of_connection(name, call);
  }

 private:
  nlohmann::json of_connection(const std::string& name, const nlohmann::json& call) {
    const auto number = call.at(1).get<std::size_t>();
    if (number == 0 || number > known_.size()) {
      throw Refused{fmt::format("unknown connection {}", number)};
    }
    const ConnectionId id = known_[number - 1];
    if (name == "write") {
      const std::vector<std::byte> bytes = from_hex(call.at(2).get<std::string>());
      // A partial write is normal. If nothing is written, the call is refused; no_room is EAGAIN.
      const Taken taken = stack_.write(id, bytes);
      accept_or_throw(taken.refusal);
      return taken.bytes.count;
    }
    if (name == "read") {
      return read(id, call.at(2).get<std::uint32_t>());
    }
    if (name == "events") {
      return told_[{id.slot, id.generation}];
    }
    if (name == "inspect") {
      const ConnectionInfo info = stack_.inspect(id);
      return info.exists ? variables(info) : throw Refused{"the connection is over"};
    }
    if (name == "finish") {
      accept_or_throw(stack_.finish(id));
    } else if (name == "close") {
      accept_or_throw(stack_.close(id));
    } else if (name == "abort") {
      stack_.abort(id);
    } else if (name == "urgent") {
      accept_or_throw(stack_.urgent(id));
    } else if (name == "set") {
      const SettingKind kind = python::setting_named(call.at(2).get<std::string>());
      accept_or_throw(stack_.set(id, {kind, call.at(3).get<std::uint64_t>()}));
    } else {
      throw Refused{fmt::format("unknown call {}", name)};
    }
    return nullptr;
  }

  nlohmann::json keep(ConnectionId id) {
    known_.push_back(id);
    return known_.size();
  }

  static Port port(const nlohmann::json& number) {
    return Port{static_cast<std::uint16_t>(number.get<std::uint32_t>() & 0xffff)};
  }

  static std::vector<std::byte> from_hex(const std::string& text) {
    std::vector<std::byte> out;
    for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
      out.push_back(static_cast<std::byte>(std::stoul(text.substr(i, 2), nullptr, 16)));
    }
    return out;
  }

  std::string read(ConnectionId id, std::uint32_t most) {
    std::string out;
    std::uint32_t left = std::min(most, number_max);
    for (auto next = stack_.readable(id); !next.empty() && left != 0; next = stack_.readable(id)) {
      const auto taken = std::min<std::size_t>(next.size(), left);
      for (const std::byte octet : next.first(taken)) {
        out += fmt::format("{:02x}", std::to_integer<unsigned>(octet));
      }
      left -= static_cast<std::uint32_t>(taken);
      stack_.consume(id, Bytes{static_cast<std::uint32_t>(taken)});
    }
    return out;
  }

  Stack& stack_;
  IpAddress remote_;
  ListenerId listener_;
  bool listens_ = false;
  std::deque<ConnectionId> accepted_;
  std::vector<ConnectionId> known_;
  /// Events by slot and generation, in order.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::string>> told_;
};

std::string answer_line(Program& program, const std::string& line) {
  nlohmann::json out;
  try {
    out["value"] = program.answer(nlohmann::json::parse(line));
  } catch (const Refused& refused) {
    out["error"] = refused.why;
  } catch (const std::exception& error) {
    out["error"] = fmt::format("expected a call like [\"listen\", 80]: {}", error.what());
  }
  return out.dump() + "\n";
}

/// Runs turns until nothing more happens at this instant.
void settle(Stack& stack, hw::TapPort& port, Program& program) {
  for (std::uint32_t i = 0; i < turns_max; ++i) {
    if (turn(stack, port, program) != Outcome::worked) {
      return;
    }
  }
}

/// Sleeps until a frame or a call arrives, or the stack's deadline. True: a call, or the end of
/// input.
bool wait(Stack& stack, hw::TapPort& port) {
  const short room = port.holds() ? POLLOUT : 0;
  std::array<pollfd, 2> what{
      {{STDIN_FILENO, POLLIN, 0}, {port.descriptor(), static_cast<short>(POLLIN | room), 0}}};
  const std::uint64_t now = port.now().ns;
  // A frame that the port holds leaves when the device has space; until then the stack cannot send.
  const Instant due = port.holds() ? port.now() + Duration::milliseconds(1) : stack.deadline();
  timespec left{};
  if (!due.is_never()) {
    const std::uint64_t ns = due.ns > now ? due.ns - now : 0;
    left.tv_sec = static_cast<time_t>(ns / 1'000'000'000);
    left.tv_nsec = static_cast<long>(ns % 1'000'000'000);
  }
  const int ready = ppoll(what.data(), what.size(), due.is_never() ? nullptr : &left, nullptr);
  return ready > 0 && what[0].revents != 0;
}

/// Reads available calls. False at the end of input.
bool read_calls(std::string& text) {
  std::array<char, 65'536> piece;
  const ssize_t got = read(STDIN_FILENO, piece.data(), piece.size());
  if (got > 0) {
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  return (got > 0 && text.size() <= line_max) || (got < 0 && errno == EINTR);
}

void serve(Stack& stack, hw::TapPort& port, Program& program) {
  std::string text;
  while (!port.gone()) {
    settle(stack, port, program);
    if (!wait(stack, port)) {
      continue;
    }
    if (!read_calls(text)) {
      return;
    }
    for (auto end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
      // Frames that arrived before the call are processed before it.
      settle(stack, port, program);
      const std::string line = answer_line(program, text.substr(0, end));
      text.erase(0, end + 1);
      settle(stack, port, program);
      fmt::print("{}", line);
      std::fflush(stdout);
    }
  }
}

std::pair<std::string, std::string> halves(const std::string& option, const std::string& text) {
  const std::size_t sign = text.find('=');
  if (sign == 0 || sign == std::string::npos || sign + 1 == text.size()) {
    throw Failure(ExitCode::bad_input,
                  fmt::format("{} {}: expected NAME=VALUE: write it so", option, text));
  }
  return {text.substr(0, sign), text.substr(sign + 1)};
}

}  // namespace

int run_serve_calls(const CallsOptions& options) {
  python::StackSpec spec;
  spec.profile = options.profile;
  spec.seed = options.seed;
  spec.link = "ethernet";
  spec.addresses = options.addresses;
  spec.mtu = options.mtu;
  spec.mac = options.mac;
  for (const std::string& text : options.neighbours) {
    spec.neighbours.insert(halves("--neighbour", text));
  }
  for (const std::string& text : options.fields) {
    const auto [name, value] = halves("--set", text);
    spec.fields.emplace_back(name, python::field_value(value));
  }
  const Config config = python::config_of(spec);
  const IpAddress remote =
      python::address_of(halves("--neighbour", options.neighbours.front()).first, "--neighbour");
  hw::TapInterface tap;
  const hw::TapSettings settings{options.tap, Bytes{options.mtu}, {}, false};
  if (const hw::Trouble trouble = tap.open(settings)) {
    throw Failure(
        trouble.kind == hw::TroubleKind::bad_input ? ExitCode::bad_input : ExitCode::environment,
        trouble.text);
  }
  std::vector<Line> memory(Stack::arena_bytes(config) / sizeof(Line) + 1);
  Stack stack(config, std::as_writable_bytes(std::span(memory)));
  hw::TapPort port(tap.take_device(), {config.mtu, config.burst_frames});
  Program program(stack, remote);
  serve(stack, port, program);
  return static_cast<int>(port.gone() ? ExitCode::environment : ExitCode::fine);
}

}  // namespace lockstep::tools
