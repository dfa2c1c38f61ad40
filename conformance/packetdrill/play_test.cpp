// Plays the scripts of conformance/script through the library, in one process, by packetdrill's
// clock.
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>

#include <map>
#include <optional>

#include "conformance/packetdrill/packetdrill_kit.hpp"
#include "conformance/script/assertion.hpp"
#include "conformance/script/calls.hpp"
#include "conformance/script/report.hpp"
#include "tools/lib/sockets/sockets.h"

namespace lockstep::tools::packetdrill::testing {
namespace {

using script::Event;
using script::Value;

constexpr long long tolerance = 4'000;  // microseconds; packetdrill's default

/// Thrown when a script ends early.
struct Stop {
  std::string why;
  bool skipped = false;  // it requires something that this player does not support
};

std::string flags_of(const script::Script& of) {
  std::string out = "horizon=7200s";
  const auto add = [&](const std::string& name, const std::string& value) {
    out += value.empty() ? "" : fmt::format(" {}='{}'", name, value);
  };
  script::Head const& head = of.head;
  add("profile", head.profile);
  add("local_ip", head.local_ip);
  add("ip_version", head.mode == script::IpMode::ipv6 ? "ipv6" : "ipv4");
  add("mtu", head.mtu ? std::to_string(*head.mtu) : "");
  for (Event const& event : of.events) {
    if (event.kind != Event::Kind::command) {
      break;
    }
    for (script::Assignment const& one : event.shell.set) {
      add(one.name, one.value);
    }
  }
  for (script::Assignment const& one : head.config) {
    add(one.name, one.value);
  }
  return out;
}

class Player {
 public:
  explicit Player(const script::Script& of)
      : script_(of),
        plan_(script::plan_of(of, {})),
        drill_(flags_of(of).c_str()),
        c_(drill_.calls),
        flows_({plan_.local, Port{of.head.bind_port}}, {plan_.remote, Port{41'234}}) {}

  /// Throws Stop if the run deviates from the script.
  void play() {
    for (at_ = plan_.first_event; at_ < script_.events.size(); ++at_) {
      collect(false);
      step(script_.events[at_]);
    }
    collect(true);
  }
  int line() const { return script_.events[std::min(at_, script_.events.size() - 1)].place.line; }

 private:
  [[noreturn]] static void fail(const std::string& why) { throw Stop{why}; }
  [[noreturn]] static void skip(const std::string& why) { throw Stop{why, true}; }

  static long long micro(std::uint64_t ns) { return static_cast<long long>(ns / 1000); }
  long long begin_of(const Event& event) const {
    return (event.when.relative ? base_ : 0) + micro(event.when.begin);
  }
  void wait_for(const Event& event) {
    long long const at = begin_of(event);
    drill_.wait_until(at);
    base_ = at;
  }

  void step(const Event& event) {
    switch (event.kind) {
      case Event::Kind::packet:
        event.packet.direction == script::Direction::in ? arrive(event) : expect(event);
        break;
      case Event::Kind::call:
        event.when.returns_at ? block(event) : call(event);
        break;
      case Event::Kind::code:
        check(event);
        break;
      case Event::Kind::command:
        if (!event.shell.set.empty()) {
          skip("a setting between two calls");
        }
        wait_for(event);
        break;
      case Event::Kind::left_out:
        wait_for(event);
        break;
    }
  }

  // ---- packets ----

  void arrive(const Event& event) {
    refuse_socket(event.packet);
    wait_for(event);
    flows_.select(event.packet);
    script::Flow& flow = flows_.now();
    if (!event.packet.is_icmp && (event.packet.tcp.flags & 0x12) == 0x02 && is_fresh()) {
      flow.opening = true;
      flow.local_known = true;
    }
    auto const bytes = script::build(event.packet, flow);
    if (c_.netdev_send(drill_.ud(), bytes.data(), bytes.size()) != 0) {
      fail("netdev_send refused the packet");
    }
  }

  static void refuse_socket(const script::Packet& packet) {
    if (packet.socket) {
      skip("a packet that names its socket");
    }
  }

  /// Whether no connection exists to which a SYN could belong.
  bool is_fresh() const {
    lockstep_tcp_info info{};
    socklen_t length = sizeof info;
    bool const known = subject_ >= 0 && c_.getsockopt(drill_.ud(), subject_, IPPROTO_TCP, TCP_INFO,
                                                      &info, &length) == 0;
    return !known || info.tcpi_state == TCP_CLOSE || info.tcpi_state == TCP_LISTEN ||
           info.tcpi_state == TCP_TIME_WAIT;
  }

  std::vector<std::byte> next(long long& at) {
    if (!ahead_.empty()) {
      at = ahead_at_;
      return std::exchange(ahead_, {});
    }
    std::vector<std::byte> room(65'536);
    size_t count = room.size();
    long long time = 0;
    if (c_.netdev_receive(drill_.ud(), room.data(), &count, &time) != 0 || count == 0) {
      fail("no packet left before the horizon");
    }
    room.resize(count);
    at = time - drill_.began();
    return room;
  }

  void expect(const Event& event) {
    refuse_socket(event.packet);
    long long at = 0;
    script::Live whole = script::read_live(next(at));
    std::uint32_t const segment = whole.length;
    bool const merges = !script_.head.strict_segments.value_or(false) && !whole.is_icmp;
    while (merges && whole.length != 0 && whole.length < event.packet.tcp.sequence.length) {
      long long then = 0;
      auto const bytes = next(then);
      if (!script::join(whole, script::read_live(bytes), segment)) {
        ahead_ = bytes;
        ahead_at_ = then;
        break;
      }
    }
    flows_.select(event.packet);
    bool const resets = !whole.is_icmp && (whole.flags & 0x04) != 0;
    if (resets && flows_.now().opening) {
      flows_.now().shift = 0;  // a reset without a connection has the script's own numbers
    }
    script::learn(event.packet, whole, flows_.now());
    for (script::Row const& row : script::compare(event.packet, whole, flows_.now(), false)) {
      if (row.differs) {
        fail(fmt::format("{}: {} is expected, {} left ({})", row.field, row.expected, row.actual,
                         script::live_text(whole, flows_.now())));
      }
    }
    long long const from = event.when.relative ? base_ : 0;
    long long const begin = from + micro(event.when.begin);
    long long const end = from + micro(event.when.end);
    long long const share = (begin - base_) * script_.head.tolerance_ppm / 1'000'000;
    long long const given = static_cast<long long>(script_.head.tolerance_ns / 1000);
    long long const wide = std::max({tolerance, given, share});
    if (!event.when.any && (at < begin - wide || at > end + wide)) {
      fail(fmt::format("left at {} us, expected from {} to {}", at, begin, end));
    }
    base_ = !event.when.any && begin == end ? begin : at;
  }

  // ---- calls ----

  std::int64_t number(std::size_t at) const { return number(call_->arguments.at(at)); }
  static std::int64_t number(const Value& value) {
    if (value.kind == Value::Kind::list && value.items.size() == 1) {
      return number(value.items[0]);
    }
    if (value.kind != Value::Kind::number) {
      skip("an argument that is no number");
    }
    return value.number;
  }
  int fd() const {
    auto const found = fds_.find(number(0));
    return found == fds_.end() ? -1 : found->second;
  }
  bool is_any(std::size_t at) const {
    return call_->arguments.at(at).kind == Value::Kind::ellipsis;
  }

  struct Name {
    sockaddr_storage bytes{};
    socklen_t length = 0;
    const sockaddr* address() const { return reinterpret_cast<const sockaddr*>(&bytes); }
  };
  Name name(bool remote) const {
    script::Head const& head = script_.head;
    std::uint16_t const port = remote ? head.connect_port : head.bind_port;
    IpAddress const ip = remote ? plan_.remote : plan_.local;
    Name out;
    if (head.mode == script::IpMode::ipv4) {
      sockaddr_in four{};
      four.sin_family = AF_INET;
      four.sin_port = htons(port);
      four.sin_addr.s_addr = htonl(ip.as_v4().value);
      std::memcpy(&out.bytes, &four, sizeof four);
      out.length = sizeof four;
      return out;
    }
    sockaddr_in6 six{};
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(port);
    for (int i = 0; i < 16; ++i) {
      std::uint64_t const half = i < 8 ? ip.high : ip.low;
      six.sin6_addr.s6_addr[i] = static_cast<std::uint8_t>(half >> (56 - 8 * (i % 8)));
    }
    std::memcpy(&out.bytes, &six, sizeof six);
    out.length = sizeof six;
    return out;
  }

  void begin_active() {
    flows_.begin_active();
    subject_ = fd();
  }

  long carry_out() {
    std::string const& what = call_->name;
    void* const ud = drill_.ud();
    errno = 0;
    if (what == "socket") {
      int const domain = script_.head.mode == script::IpMode::ipv4 ? AF_INET : AF_INET6;
      return c_.socket(ud, is_any(0) ? domain : static_cast<int>(number(0)),
                       static_cast<int>(number(1)), static_cast<int>(number(2)));
    }
    if (what == "bind" && is_any(1)) {
      Name const to = name(false);
      return c_.bind(ud, fd(), to.address(), to.length);
    }
    if (what == "listen") {
      return c_.listen(ud, fd(), static_cast<int>(number(1)));
    }
    if (what == "accept" && is_any(1)) {
      return c_.accept(ud, fd(), nullptr, nullptr);
    }
    if (what == "connect" && is_any(1)) {
      Name const to = name(true);
      if (blocked_ != nullptr) {
        begin_active();
      }
      int const given = c_.connect(ud, fd(), to.address(), to.length);
      if (blocked_ == nullptr && given == -1 && errno == EINPROGRESS) {
        begin_active();
        errno = EINPROGRESS;
      }
      return given;
    }
    if (what == "close") {
      int const live = fd();
      fds_.erase(number(0));
      return drill_.close(live);
    }
    if (what == "shutdown") {
      return c_.shutdown(ud, fd(), static_cast<int>(number(1)));
    }
    if (what == "fcntl") {
      return c_.fcntl(ud, fd(), static_cast<int>(number(1)),
                      call_->arguments.size() > 2 ? static_cast<int>(number(2)) : 0);
    }
    return move_text(what);
  }

  long move_text(const std::string& what) {
    void* const ud = drill_.ud();
    if (what == "poll") {
      return poll();
    }
    if (what == "setsockopt" || what == "getsockopt" || what == "ioctl") {
      return option(what);
    }
    bool const plain =
        what == "read" || what == "write" || what == "send" || what == "recv" || what == "sendto";
    if (!plain) {
      skip(what);
    }
    std::vector<char> text(static_cast<std::size_t>(number(2)));
    if (what == "read") {
      return c_.read(ud, fd(), text.data(), text.size());
    }
    if (what == "write") {
      return c_.write(ud, fd(), text.data(), text.size());
    }
    int const flags = static_cast<int>(number(3));
    if (what == "recv") {
      return c_.recv(ud, fd(), text.data(), text.size(), flags);
    }
    if (what == "send") {
      return c_.send(ud, fd(), text.data(), text.size(), flags);
    }
    Name to;
    // In FreeBSD TCP_FASTOPEN lets any sendto() open.
    bool const opens = script_.head.profile == "freebsd" && call_->arguments.size() == 6;
    if (opens || (flags & MSG_FASTOPEN) != 0) {
      begin_active();
      to = name(true);
    }
    return c_.sendto(ud, fd(), text.data(), text.size(), flags, to.address(), to.length);
  }

  /// poll() of descriptors with `events` and `revents`.
  long poll() {
    std::vector<pollfd> entries;
    for (Value const& one : call_->arguments.at(0).items) {
      const Value* const of = script::item(one, {"fd"}, 0);
      const Value* const events = script::item(one, {"events"}, 1);
      auto const found = of == nullptr ? fds_.end() : fds_.find(number(*of));
      if (found == fds_.end() || events == nullptr) {
        skip("poll() of something else");
      }
      entries.push_back({found->second, static_cast<short>(number(*events)), 0});
    }
    long const given = c_.poll(drill_.ud(), entries.data(), entries.size(), 0);
    int const error = errno;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const Value* const wanted = script::item(call_->arguments.at(0).items[i], {"revents"}, 2);
      if (wanted != nullptr && number(*wanted) != entries[i].revents) {
        fail(fmt::format("revents is {}, not {}", entries[i].revents, number(*wanted)));
      }
    }
    errno = error;
    return given;
  }

  long option(const std::string& what) {
    void* const ud = drill_.ud();
    if (what == "ioctl") {
      int value = 0;
      int const given = c_.ioctl(ud, fd(), static_cast<unsigned long>(number(1)), &value);
      return judge_value(given, value, call_->arguments.at(2));
    }
    int const level = static_cast<int>(number(1));
    int const name = static_cast<int>(number(2));
    Value const& value = call_->arguments.at(3);
    if (what == "setsockopt" && value.kind == Value::Kind::text) {
      return c_.setsockopt(ud, fd(), level, name, value.text.data(),
                           static_cast<socklen_t>(value.text.size()));
    }
    if (what == "setsockopt" && value.kind == Value::Kind::record && value.items.size() == 2) {
      linger const set{static_cast<int>(number(value.items[0])),
                       static_cast<int>(number(value.items[1]))};
      return c_.setsockopt(ud, fd(), level, name, &set, sizeof set);
    }
    if (what == "setsockopt") {
      int const set = static_cast<int>(number(value));
      return c_.setsockopt(ud, fd(), level, name, &set, sizeof set);
    }
    int got = 0;
    socklen_t length = sizeof got;
    long const given = c_.getsockopt(ud, fd(), level, name, &got, &length);
    return judge_value(given, got, value);
  }

  static long judge_value(long given, int got, const Value& wanted) {
    bool const any = wanted.kind == Value::Kind::ellipsis ||
                     (wanted.kind == Value::Kind::list && wanted.items.size() == 1 &&
                      wanted.items[0].kind == Value::Kind::ellipsis);
    if (given == 0 && !any && number(wanted) != got) {
      fail(fmt::format("the value is {}, not {}", got, number(wanted)));
    }
    return given;
  }

  void judge(const script::Call& call, long given, int error) {
    bool const opens = call.name == "socket" || call.name == "accept";
    if (opens && given >= 0 && call.result.value_or(0) >= 0) {
      fds_[call.result.value_or(given)] = static_cast<int>(given);
      drill_.sockets.push_back(static_cast<int>(given));
      subject_ = static_cast<int>(given);
      return;
    }
    bool const wrong = (call.result && *call.result != given) ||
                       (given == -1 && call.error != 0 && call.error != error);
    if (wrong) {
      fail(fmt::format("{} gave {} ({})", call.name, given, strerrorname_np(error)));
    }
  }

  /// A call on this thread must not block: packetdrill would wait for ever, too.
  void call(const Event& event) {
    wait_for(event);
    call_ = &event.call;
    bool const has_fd = call_->name != "socket" && call_->name != "poll" &&
                        call_->name.rfind("epoll", 0) != 0 && call_->name != "usleep";
    int const live = has_fd ? fd() : -1;
    int const flags = live < 0 ? -1 : c_.fcntl(drill_.ud(), live, F_GETFL);
    bool const switches =
        flags >= 0 && (flags & O_NONBLOCK) == 0 && call_->name != "fcntl" && call_->name != "close";
    if (switches) {
      c_.fcntl(drill_.ud(), live, F_SETFL, flags | O_NONBLOCK);
    }
    long const given = carry_out();
    int const error = errno;
    if (switches) {
      c_.fcntl(drill_.ud(), live, F_SETFL, flags);
    }
    judge(event.call, given, error);
  }

  void block(const Event& event) {
    collect(true);
    call_ = &event.call;
    blocked_ = &event;
    base_ = begin_of(event);
    due_ =
        (event.when.relative ? base_ - micro(event.when.begin) : 0) + micro(*event.when.returns_at);
    // As in `lockstep pkt run`: a call with two times blocks, even if O_NONBLOCK is set.
    int const live = fd();
    int const flags = c_.fcntl(drill_.ud(), live, F_GETFL);
    if (flags >= 0) {
      c_.fcntl(drill_.ud(), live, F_SETFL, flags & ~O_NONBLOCK);
    }
    drill_.block(base_, [this]() -> long {
      blocked_given_ = carry_out();
      blocked_error_ = errno;
      errno = blocked_error_;
      return blocked_given_;
    });
  }

  /// Checks the result of a blocked call if it has returned; at the end it must have.
  void collect(bool end) {
    if (blocked_ == nullptr || (!end && !drill_.is_through())) {
      return;
    }
    std::string const back = drill_.came_back(due_ + tolerance);
    std::size_t const at = back.rfind(" at ");
    if (at == std::string::npos) {
      fail(fmt::format("{} of line {} has not come back", blocked_->call.name,
                       blocked_->place.line));
    }
    long long const when = std::stoll(back.substr(at + 4));
    if (when < due_ - tolerance || when > due_ + tolerance) {
      fail(fmt::format("{} came back at {}, not at {}", blocked_->call.name, when, due_));
    }
    Event const& event = *std::exchange(blocked_, nullptr);
    judge(event.call, blocked_given_, blocked_error_);
  }

  // ---- assertions ----

  void check(const Event& event) {
    wait_for(event);
    lockstep_tcp_info info{};
    socklen_t length = sizeof info;
    if (c_.getsockopt(drill_.ud(), subject_, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) {
      fail("no socket for tcp_info");
    }
    for (script::Assertion const& one : script::parse_code(script_, event)) {
      if (one.text.find("tcpi_rtt") != std::string::npos) {
        skip("a round trip to the microsecond, which is what each look at the clock takes");
      }
      std::string seen;
      if (!script::holds(one, info, seen)) {
        fail(fmt::format("{} does not hold: {}", one.text, seen));
      }
    }
  }

  script::Script const& script_;
  script::Plan plan_;
  Drill drill_;
  packetdrill_interface const& c_;
  script::Flows flows_;
  std::map<std::int64_t, int> fds_;
  int subject_ = -1;
  std::size_t at_ = 0;
  long long base_ = 0;
  script::Call const* call_ = nullptr;
  Event const* blocked_ = nullptr;
  long blocked_given_ = 0;
  int blocked_error_ = 0;
  long long due_ = 0;
  std::vector<std::byte> ahead_;  // a packet that was taken too early
  long long ahead_at_ = 0;
};

/// Empty: the run followed the script.
std::string complaint_of(const script::Script& of, bool& skipped) {
  Player player(of);
  try {
    player.play();
  } catch (const Stop& stop) {
    skipped = stop.skipped;
    return fmt::format("{}:{}: {}", of.file, player.line(), stop.why);
  }
  return "";
}

/// A packet is sent at the very instant at which another arrives. On packetdrill's clock each poll
/// takes a microsecond, so their order is not fixed.
bool has_a_tie(const std::string& file) {
  return file.ends_with("several/time_wait_beside.pkt") ||
         // A timer that ends at a step of the wheel: a microsecond decides which step it gets.
         file.ends_with("linux/shrunk_retransmitted.pkt");
}

TEST(Play, TheScriptsOfTheFolderPassThroughTheLibrary) {
  auto const files = script::find_scripts({"conformance/script"});
  std::size_t played = 0, looked_at = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    ++looked_at;
    bool skipped = has_a_tie(files[i]);
    std::string const complaint =
        skipped ? "" : complaint_of(script::parse_file(files[i], {}), skipped);
    EXPECT_TRUE(complaint.empty() || skipped) << complaint;
    played += complaint.empty() && !skipped ? 1 : 0;
  }
  // At most one of twenty requires something that this player does not support.
  EXPECT_GE(played * 20, looked_at * 19) << played << " of " << looked_at;
}

TEST(Play, AnAlteredScriptFails) {
  auto const files = script::find_scripts({"conformance/script/close"});
  for (std::string const& file : files) {
    script::Script of = script::parse_file(file, {});
    for (Event& event : of.events) {
      bool const leaves = event.kind == Event::Kind::packet && !event.packet.is_icmp &&
                          event.packet.direction == script::Direction::out;
      if (leaves && event.packet.tcp.ack) {
        *event.packet.tcp.ack += 1;
      }
    }
    bool skipped = false;
    EXPECT_NE(complaint_of(of, skipped), "") << file;
  }
}

}  // namespace
}  // namespace lockstep::tools::packetdrill::testing
