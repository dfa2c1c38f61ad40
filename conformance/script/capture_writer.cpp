// Writes a captured connection as a script.
#include "conformance/script/capture_writer.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>

#include "conformance/replay/live.hpp"
#include "conformance/script/packet.hpp"
#include "core/stack/config_fields.hpp"
#include "tools/base/capture/octets.hpp"
#include "tools/base/text/units.hpp"

namespace lockstep::conformance::script {
namespace {

using tools::Segment;
namespace flag = tools::tcp_flag;

constexpr Duration grace = Duration::seconds(1);  // after the peer's last packet

/// The configuration fields that a capture shows; the others are the profile's.
constexpr std::array<std::string_view, 16> shown{"window_scale",
                                                 "window_shift_automatic",
                                                 "window_shift",
                                                 "timestamps",
                                                 "timestamps_required",
                                                 "sack",
                                                 "ecn",
                                                 "nagle",
                                                 "delayed_acks",
                                                 "receive_buffer_bytes",
                                                 "receive_buffer_max_bytes",
                                                 "send_buffer_bytes",
                                                 "send_buffer_max_bytes",
                                                 "fast_open_server",
                                                 "fast_open_client",
                                                 "path_mtu_discovery"};

bool is_shown(std::string_view name) {
  return std::find(shown.begin(), shown.end(), name) != shown.end();
}

/// One line for each such field that differs from the profile.
std::string config_lines(const Config& profile, const Config& config) {
  std::map<std::string_view, std::uint64_t> before;
  std::string out;
  visit_fields(profile, [&](std::string_view name, Unit, FieldRange, auto const& field) {
    before[name] = number_of(field);
  });
  visit_fields(config, [&](std::string_view name, Unit unit, FieldRange, auto const& field) {
    std::uint64_t const value = number_of(field);
    if (is_shown(name) && before[name] != value) {
      out += unit == Unit::boolean
                 ? fmt::format("--config={}={}\n", name, value != 0 ? "true" : "false")
                 : fmt::format("--config={}={}\n", name, value);
    }
  });
  visit_choices(profile, [&](std::string_view name, auto const&, auto const& field) {
    before[name] = static_cast<std::uint64_t>(field);
  });
  visit_choices(config, [&](std::string_view name, auto const& words, auto const& field) {
    auto const value = static_cast<std::uint64_t>(field);
    if (is_shown(name) && before[name] != value) {
      out += fmt::format("--config={}={}\n", name, words[value]);
    }
  });
  return out;
}

/// The option octets as captured, valid or not.
std::vector<Option> options_in(std::span<const std::byte> bytes) {
  std::vector<Option> out;
  std::size_t at = 0;
  while (at < bytes.size()) {
    Option option;
    option.kind = tools::octet_at(bytes, at++);
    if (option.kind > 1 && at < bytes.size()) {
      std::uint8_t const length = tools::octet_at(bytes, at++);
      option.length = length;
      for (int i = 2; i < length && at < bytes.size(); ++i) {
        option.data.push_back(tools::octet_at(bytes, at++));
      }
    }
    out.push_back(std::move(option));
  }
  return out;
}

std::string seconds_text(Instant at) {
  std::uint64_t const ns = at.since(Instant{}).ns;
  std::string out = fmt::format("{}.{:09}", ns / 1'000'000'000, ns % 1'000'000'000);
  while (out.ends_with('0')) {
    out.pop_back();
  }
  return out.ends_with('.') ? out.substr(0, out.size() - 1) : out;
}

class Writer {
 public:
  Writer(const conformance::Script& script, const Manner& manner)
      : script_(script), manner_(manner) {}

  Written write() {
    find_start();
    join_writes();
    put_head();
    std::size_t next = 0;
    for (std::size_t i = 0; i <= script_.steps.size(); ++i) {
      Instant const until = i < script_.steps.size() ? at(script_.steps[i].at) : last_ + grace;
      for (; next < script_.sent.size() && script_.sent[next].steps_before <= i; ++next) {
        put_sent(script_.sent[next], until);
      }
      if (i < script_.steps.size()) {
        put_step(i);
      }
    }
    for (; next < script_.sent.size(); ++next) {
      put_sent(script_.sent[next], last_ + grace);
    }
    return std::move(out_);
  }

 private:
  // ---- lines and times ----

  void line(const std::string& text, std::uint64_t packet = 0) {
    out_.text += text + "\n";
    out_.packets.push_back(packet);
  }
  void lines(const std::string& text) {
    out_.text += text;
    out_.packets.resize(out_.packets.size() +
                        static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')));
  }

  void find_start() {
    start_ = Instant::never();
    for (Step const& step : script_.steps) {
      start_ = earlier(start_, step.at);
      if (step.kind == Step::Kind::segment && step.segment.any(flag::syn) && !peer_isn_) {
        peer_isn_ = step.segment.sequence;
      }
    }
    for (conformance::Sent const& sent : script_.sent) {
      start_ = earlier(start_, sent.at);
    }
    for (Step const& step : script_.steps) {
      last_ = later(last_, at(step.at));
    }
    for (conformance::Sent const& sent : script_.sent) {
      last_ = later(last_, at(sent.at));
    }
  }
  Instant at(Instant captured) const { return Instant{} + later(captured, start_).since(start_); }

  /// Calls and packets of the peer are written in order, so times do not decrease.
  std::string fixed(Instant captured) {
    base_ = later(base_, at(captured));
    return seconds_text(base_);
  }

  // ---- numbers ----

  std::uint32_t of_peer(std::uint32_t number) const { return number - peer_isn_.value_or(0); }
  std::uint32_t of_device(std::uint32_t number, std::uint32_t incarnation) const {
    bool const known = incarnation != 0 && incarnation <= script_.isns.size();
    return known ? number - script_.isns[incarnation - 1] : number;
  }

  /// The edges of SACK blocks count like acknowledgments: in the sequence numbers of the other
  /// side.
  std::vector<Option> options_of(const Segment& segment, bool from_peer,
                                 std::uint32_t incarnation) const {
    std::vector<Option> out = options_in(segment.options);
    for (Option& option : out) {
      bool const whole = option.data.size() % 8 == 0 && option.length == option.data.size() + 2;
      for (std::size_t i = 0; option.kind == 5 && whole && i + 4 <= option.data.size(); i += 4) {
        std::uint32_t const edge = option_word(option, i);
        std::uint32_t const moved = from_peer ? of_device(edge, incarnation) : of_peer(edge);
        for (std::size_t k = 0; k < 4; ++k) {
          option.data[i + k] = static_cast<std::uint8_t>(moved >> (24 - 8 * k));
        }
      }
    }
    return out;
  }

  Packet packet_of(const Segment& segment, bool from_peer, std::uint32_t incarnation) const {
    Packet out;
    out.direction = from_peer ? Direction::in : Direction::out;
    TcpPacket& tcp = out.tcp;
    tcp.flags = segment.flags;
    tcp.sequence = {
        from_peer ? of_peer(segment.sequence) : of_device(segment.sequence, incarnation),
        segment.data_bytes()};
    if (segment.any(flag::ack)) {
      tcp.ack = from_peer ? of_device(segment.acknowledgment, incarnation)
                          : of_peer(segment.acknowledgment);
    }
    if (from_peer || manner_.closeness == Closeness::windows) {
      tcp.window = segment.window;
    }
    if (segment.any(flag::urg)) {
      tcp.urgent = segment.urgent;
    }
    tcp.options = options_of(segment, from_peer, incarnation);
    tcp.bad_checksum = from_peer && segment.sum == tools::SumState::bad;
    if (from_peer && segment.traffic_class != 0) {
      out.ip.tos = segment.traffic_class;
    } else if (!from_peer && script_.marked) {
      out.ip.ecn = static_cast<std::uint8_t>(segment.traffic_class & 3);
    }
    return out;
  }

  // ---- the head ----

  void put_head() {
    bool const six = !script_.device.address.is_v4();
    Config profile = tools::profile_by_name(manner_.profile).value_or(Config{});
    Config config = replay_config(script_, profile, false);
    config.tcp.nagle = manner_.nagle;
    config.tcp.delayed_acks = manner_.delayed_acks;
    config.tcp.send_buffer = Bytes{std::max(config.tcp.send_buffer.count, text_of_device())};
    PlayedAddresses const addresses = played_addresses(script_);
    lines(fmt::format(
        "--profile={}\n{}--local_ip={}\n--remote_ip={}\n--bind_port={}\n"
        "--connect_port={}\n--mtu={}\n--mss={}\n",
        manner_.profile, six ? "--ip_version=ipv6\n" : "", tools::text_of(addresses.device),
        tools::text_of(addresses.peer), script_.device.port.value, script_.peer.port.value,
        config.mtu.count, config.tcp.mss.count));
    // Fields that follow from the MTU are not written as well.
    set_mtu(profile, config.mtu);
    lines(config_lines(profile, config));
    lines("\n");
    if (script_.role == Role::closed) {
      line("0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3");
    }
  }

  std::uint32_t text_of_device() const {
    std::uint64_t all = 0;
    for (Step const& step : script_.steps) {
      all += step.kind == Step::Kind::call ? step.bytes : 0;
    }
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(all, 1u << 29));
  }

  // ---- the device's packets ----

  void put_sent(const conformance::Sent& sent, Instant until) {
    Instant const when = later(at(sent.at), base_);
    std::string time = seconds_text(when);
    if (manner_.closeness == Closeness::order) {
      // At any time after the previous line and before the next one.
      Instant const end = later(until, when);
      time = end == base_ ? seconds_text(base_) : seconds_text(base_) + "~" + seconds_text(end);
    }
    answered_ = answered_ || sent.segment.has(flag::ack | flag::syn);
    if (sent.incarnation != 0 && !sent.segment.any(flag::rst)) {
      sent_end_ = std::max(sent_end_, of_device(sent.segment.end(), sent.incarnation));
    }
    line(fmt::format("{} {}", time, packet_text(packet_of(sent.segment, false, sent.incarnation))),
         sent.segment.number);
  }

  /// Data sent without PSH was followed by more data of the same write (RFC 9293 3.9.1.2).
  void join_writes() {
    for (conformance::Sent const& sent : script_.sent) {
      if (sent.segment.data_bytes() != 0 && sent.segment.any(flag::psh | flag::fin)) {
        std::uint32_t const end =
            of_device(sent.segment.sequence, sent.incarnation) + sent.segment.data_bytes() - 1u;
        ends_[end] = ends_[end] || sent.segment.any(flag::fin);
      }
    }
    writes_.resize(script_.steps.size());
    std::uint32_t end = 0;
    std::size_t open = script_.steps.size();  // the write that continues
    for (std::size_t i = 0; i < script_.steps.size(); ++i) {
      Step const& step = script_.steps[i];
      bool const text =
          step.kind == Step::Kind::call && (step.act == Act::write || step.act == Act::urgent);
      if (!text) {
        continue;
      }
      end += step.bytes;
      bool const goes_on = open != script_.steps.size() && step.act == Act::write;
      std::size_t const into = goes_on ? open : i;
      writes_[into].bytes += step.bytes;
      auto const found = ends_.find(end);
      writes_[into].more = found != ends_.end() && found->second;
      open = found == ends_.end() && step.act == Act::write ? into : script_.steps.size();
    }
    if (open != script_.steps.size()) {
      writes_[open].bytes += script_.device_mss.count;  // the capture ends before all was sent
    }
  }

  // ---- arriving packets and calls ----

  void put_step(std::size_t at) {
    Step const& step = script_.steps[at];
    if (step.kind == Step::Kind::call) {
      put_call(step, writes_[at]);
    } else if (step.kind == Step::Kind::icmp) {
      put_error(step);
    } else {
      Packet const packet = packet_of(step.segment, true, step.incarnation);
      line(fmt::format("{} {}", fixed(step.at), packet_text(packet)), step.packet);
      put_accept(step);
      take_data(step.segment);
      if (manner_.reading == Reading::at_once && !held_) {
        put_read(unread());
      }
    }
  }

  void put_error(const Step& step) {
    auto const& message = step.icmp.message;
    if (message.size() < 8) {
      return;
    }
    bool const six = !script_.device.address.is_v4();
    std::uint32_t const rest = tools::long_at(message, 4);
    std::uint32_t const mtu = six ? rest : rest & 0xffff;
    std::uint32_t const begin = of_device(step.icmp.quoted_sequence, step.incarnation);
    line(fmt::format("{} < {} {} {}{} [{}:{}(0)]", fixed(step.at), six ? "icmpv6" : "icmp",
                     tools::octet_at(message, 0), tools::octet_at(message, 1),
                     mtu != 0 ? fmt::format(" mtu {}", mtu) : "", begin, begin),
         step.packet);
  }

  /// The ACK of our SYN completes the connection, which accept() then returns.
  void put_accept(const Step& step) {
    Segment const& segment = step.segment;
    std::uint32_t const ack = of_device(segment.acknowledgment, step.incarnation);
    bool const opens = segment.any(flag::ack) && !segment.any(flag::rst | flag::syn) &&
                       segment.sum != tools::SumState::bad && ack != 0 && ack <= sent_end_ &&
                       of_peer(segment.sequence) == 1;
    if (fd_ == 0 && listens_ && answered_ && opens) {
      fd_ = 4;
      line(fmt::format("{} accept(3, ..., ...) = 4", seconds_text(base_)));
    }
  }

  /// Notes the peer's data: it can be read up to the first gap.
  void take_data(const Segment& segment) {
    if (segment.data_bytes() == 0 || segment.any(flag::rst) ||
        segment.sum == tools::SumState::bad) {
      return;
    }
    std::uint32_t const begin = of_peer(segment.sequence) + (segment.any(flag::syn) ? 1u : 0u) - 1u;
    std::uint64_t const end = std::uint64_t{begin} + segment.data_bytes();
    if (segment.any(flag::urg) && segment.urgent != 0) {
      marks_ = {std::uint64_t{begin} + segment.urgent - 1};
    }
    if (begin < 1u << 31 && end > whole_) {
      pieces_[begin] = std::max(pieces_[begin], end);
    }
    for (auto const& [from, to] : pieces_) {
      whole_ = from <= whole_ ? std::max(whole_, to) : whole_;
    }
  }
  std::uint64_t unread() const { return whole_ - std::min(read_, whole_); }

  void put_read(std::uint64_t bytes) {
    if (fd_ == 0 || closed_ || bytes == 0) {
      return;
    }
    // A read stops once before the last urgent octet.
    auto const mark = std::find_if(marks_.begin(), marks_.end(), [this, bytes](std::uint64_t one) {
      return one > read_ && one < read_ + bytes;
    });
    if (mark != marks_.end()) {
      std::uint64_t const part = *mark - read_;
      put_plain_read(part);
      bytes -= part;
    }
    put_plain_read(bytes);
  }

  void put_plain_read(std::uint64_t bytes) {
    line(fmt::format("{} read({}, ..., {}) = {}", seconds_text(base_), fd_, bytes, bytes));
    read_ += bytes;
  }

  // ---- calls ----

  void put_open() {
    line(fmt::format("{} socket(..., SOCK_STREAM, IPPROTO_TCP) = 3", seconds_text(base_)));
    line("+0 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0");
    fd_ = 3;
  }

  void put_listen() {
    line(fmt::format("{} socket(..., SOCK_STREAM, IPPROTO_TCP) = 3", seconds_text(base_)));
    line("+0 setsockopt(3, SOL_SOCKET, SO_REUSEADDR, [1], 4) = 0");
    line("+0 bind(3, ..., ...) = 0");
    if (script_.listens_fast) {
      line("+0 setsockopt(3, IPPROTO_TCP, TCP_FASTOPEN, [16], 4) = 0");
    }
    line("+0 listen(3, 16) = 0");
    listens_ = true;
  }

  struct Write {
    std::uint32_t bytes = 0;
    bool more = false;  // its end was sent with the FIN
  };

  void put_write(const std::string& time, const Write& write) {
    if (write.bytes != 0) {
      line(write.more
               ? fmt::format("{} send({}, ..., {}, MSG_MORE) = {}", time, fd_, write.bytes,
                             write.bytes)
               : fmt::format("{} write({}, ..., {}) = {}", time, fd_, write.bytes, write.bytes));
    }
  }

  void put_close(Act act) {
    std::string const time = seconds_text(base_);
    put_read(held_ || act == Act::abort ? 0 : unread());
    if (act == Act::abort) {
      line(fmt::format("{} setsockopt({}, SOL_SOCKET, SO_LINGER, {{onoff=1, linger=0}}, 8) = 0",
                       time, fd_));
    }
    line(act == Act::finish ? fmt::format("{} shutdown({}, SHUT_WR) = 0", time, fd_)
                            : fmt::format("{} close({}) = 0", time, fd_));
    closed_ = closed_ || act != Act::finish;
  }

  void put_call(const Step& step, const Write& write) {
    std::string const time = fixed(step.at);
    if (step.act == Act::open) {
      put_open();
      line("+0 connect(3, ..., ...) = -1 EINPROGRESS (Operation now in progress)");
    } else if (step.act == Act::listen) {
      put_listen();
    } else if (step.act == Act::hold || step.act == Act::resume) {
      held_ = step.act == Act::hold;
    } else if (fd_ == 0 || closed_) {
      return;
    } else if (step.act == Act::write) {
      put_write(time, write);
    } else if (step.act == Act::urgent) {
      line(fmt::format("{} send({}, ..., {}, MSG_OOB) = {}", time, fd_, write.bytes, write.bytes));
    } else if (step.act == Act::consume) {
      put_read(std::min<std::uint64_t>(unread(), step.bytes));
    } else {
      put_close(step.act);
    }
  }

  const conformance::Script& script_;
  const Manner& manner_;
  Written out_;
  Instant start_, base_, last_;
  std::optional<std::uint32_t> peer_isn_;
  int fd_ = 0;
  bool listens_ = false, answered_ = false, held_ = false, closed_ = false;
  std::map<std::uint32_t, std::uint64_t> pieces_;  // of the peer's data: first and end
  std::vector<std::uint64_t> marks_;               // positions of the last urgent octets
  std::uint64_t whole_ = 0, read_ = 0;
  std::vector<Write> writes_;           // for each step that is a write
  std::map<std::uint32_t, bool> ends_;  // ends of our data sent with PSH; whether with FIN
  std::uint32_t sent_end_ = 0;          // the highest sequence number that we sent
};

}  // namespace

Written write_script(const conformance::Script& script, const Manner& manner) {
  return Writer(script, manner).write();
}

}  // namespace lockstep::conformance::script
