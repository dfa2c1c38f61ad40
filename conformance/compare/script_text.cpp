// Writes an input as a `.pkt` script that expects what our stack sends.
#include "conformance/compare/script_text.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "conformance/script/packet.hpp"

namespace lockstep::conformance::compare {
namespace {

constexpr std::uint64_t ms = 1'000'000;
constexpr std::uint16_t flag_ack = 0x10;
constexpr std::uint64_t soon = 500 * ms;

std::string seconds_text(Duration time) {
  std::string out = fmt::format("{}.{:03}", time.ns / (1'000 * ms), time.ns / ms % 1'000);
  while (out.ends_with('0')) {
    out.pop_back();
  }
  return out.ends_with('.') ? out.substr(0, out.size() - 1) : out;
}

class ScriptWriter {
 public:
  ScriptWriter(const Input& input, const Played& ours, const ScriptTail& tail)
      : input_(input), ours_(ours), tail_(tail) {
    for (Step const& step : input.steps) {
      several_ |= step.act == Act::segment && step.piece.aim != Aim::connection;
    }
  }

  ScriptText write(const std::string& heading) {
    out_ = heading + "\n--profile=rfc\n";
    bool const connects = input_.opening == Opening::connects;
    if (input_.opening != Opening::closed) {
      line("0", fmt::format("socket(..., SOCK_STREAM{}, IPPROTO_TCP) = 3",
                            connects ? "|SOCK_NONBLOCK" : ""));
    }
    if (input_.opening == Opening::listens) {
      line("+0", "bind(3, ..., ...) = 0");
      line("+0", "listen(3, 4) = 0");
    } else if (connects) {
      line("+0", "connect(3, ..., ...) = -1 EINPROGRESS");
    }
    bool resent = false;
    for (Event const& event : ours_.events) {
      bool const late = event.phase == Event::Phase::patience;
      bool const dropped = (event.phase == Event::Phase::drain && !tail_.drain) ||
                           (late && (!tail_.resend || resent));
      if (!dropped) {
        resent |= late;
        add(event);
        if (event.phase == Event::Phase::steps && event.kind != Event::Kind::left) {
          last_step_ = static_cast<int>(std::ranges::count(out_, '\n'));
        }
      }
    }
    if (tail_.wait) {
      line("+2", "%{ assert 1 == 1 }%");
    }
    return {out_, last_step_};
  }

 private:
  void line(const std::string& when, const std::string& what) { out_ += when + " " + what + "\n"; }

  std::string ports_of(const script::Live& live) const {
    return several_ ? fmt::format("{} > {} ", live.source.port.value, live.destination.port.value)
                    : "";
  }

  std::string numbers(std::uint32_t seq, std::uint32_t length) const {
    return fmt::format("{}:{}({})", seq, seq + length, length);
  }

  void add(const Event& event) {
    Duration const passed = event.at.since(at_);
    at_ = event.at;
    std::string const when = "+" + seconds_text(passed);
    if (event.kind == Event::Kind::called) {
      add_call(when, event);
      return;
    }
    script::Live const live = script::read_live(event.packet);
    bool const in = event.kind == Event::Kind::arrived;
    bool const of_connection =
        live.source.port != compare_closed_port && live.destination.port != compare_closed_port &&
        live.source.port != compare_other_port && live.destination.port != compare_other_port;
    std::uint32_t const shift = of_connection ? ours_.first_of_device : 0;
    std::string text = in ? "< " : "> ";
    text += ports_of(live) + script::flags_text(live.flags) + " " +
            numbers(in ? live.sequence : live.sequence - shift, live.length);
    if ((live.flags & flag_ack) != 0) {
      text += fmt::format(" ack {}", in ? event.piece.ack : live.ack);
    }
    if (in) {
      text += fmt::format(" win {}", live.window);
      text += (live.flags & 0x20) != 0 ? fmt::format(" urg {}", live.urgent) : "";
      std::string const options = script::options_text(live.options);
      text += options.empty() ? "" : " <" + options + ">";
      line(when, text);
      return;
    }
    text += live.options.empty() ? "" : " <...>";
    // Another stack may delay the ACK of new data.
    bool const delayable =
        live.flags == flag_ack && live.length == 0 && live.ack != acked_ && acked_ != 0;
    acked_ = (live.flags & flag_ack) != 0 ? live.ack : acked_;
    line(passed.ns > soon ? "*" : passed.ns == 0 && !delayable ? "+0" : "+0~+0.5", text);
  }

  void add_call(const std::string& when, const Event& event) {
    int const fd = input_.opening == Opening::connects ? 3 : 4;
    std::string const result = event.result < 0 ? "-1 EAGAIN" : fmt::format("{}", event.result);
    if (event.call == "accept") {
      line(when, "accept(3, ..., ...) = 4");
    } else if (event.call == "receive") {
      line(when,
           event.result < 0
               ? fmt::format("recv({}, ..., {}, MSG_DONTWAIT) = -1 EAGAIN", fd, event.argument)
               : fmt::format("read({}, ..., {}) = {}", fd, event.argument, result));
    } else if (event.call == "send") {
      line(when, fmt::format("write({}, ..., {}) = {}", fd, event.argument, result));
    } else if (event.call == "finish") {
      line(when, fmt::format("shutdown({}, SHUT_WR) = 0", fd));
    } else {
      line(when, fmt::format("close({}) = 0", fd));
    }
  }

  Input const& input_;
  Played const& ours_;
  ScriptTail const& tail_;
  bool several_ = false;
  Instant at_;
  int last_step_ = 0;
  std::uint32_t acked_ = 0;
  std::string out_;
};

}  // namespace

ScriptText script_of(const std::string& heading, const Input& input, const Played& ours,
                     const ScriptTail& tail) {
  return ScriptWriter(input, ours, tail).write(heading);
}

}  // namespace lockstep::conformance::compare
