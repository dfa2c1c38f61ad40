// getsockopt and setsockopt, by level and name. Unknown options are refused.
#include "tools/lib/sockets/options.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <cerrno>

#include "tools/lib/sockets/sockets.hpp"

namespace lockstep::tools {
namespace {

constexpr int buffer_max = 0x3fff'ffff;

bool within(int value, int least, int most) { return value >= least && value <= most; }

}  // namespace

Result write_value(const void* from, std::size_t size, void* value, socklen_t* length) {
  if (length == nullptr || value == nullptr) {
    return -EFAULT;
  }
  if (static_cast<int>(*length) < 0) {
    return -EINVAL;
  }
  *length = static_cast<socklen_t>(std::min<std::size_t>(size, *length));
  std::memcpy(value, from, *length);
  return 0;
}

// The value of a setting that the connections of this socket have, or will have.
std::uint32_t Sockets::receive_buffer_of(const Socket& s) const {
  std::uint32_t const size = pending_or_default(s, SettingKind::receive_buffer);
  if (!stack_.config().tcp.receive_buffer_rounded) {
    return size;
  }
  ConnectionInfo const info = stack_.inspect(s.connection);
  constexpr std::uint32_t stamps = 12;
  std::uint32_t const segment = info.send.mss.count + (info.options.timestamps ? stamps : 0);
  bool const known = info.exists && info.state >= tcp::State::established && size > segment;
  return known ? (size + segment - 1) / segment * segment : size;
}

// What getsockopt(SO_RCVBUF or SO_SNDBUF) returns.
std::uint32_t Sockets::buffer_option_of(const Socket& s, SettingKind kind) const {
  bool const receives = kind == SettingKind::receive_buffer;
  if (!stack_.config().tcp.buffers_doubled || !s.pending_options.has(kind)) {
    return receives ? receive_buffer_of(s) : pending_or_default(s, kind);
  }
  // Linux's net.core.rmem_max and wmem_max unless changed, and its least buffers.
  constexpr std::uint32_t most = 212'992, receive_least = 2304, send_least = 4608;
  std::uint32_t const set = std::min(s.pending_options.of(kind), most);
  return std::max(2 * set, receives ? receive_least : send_least);
}

std::uint32_t Sockets::pending_or_default(const Socket& s, SettingKind kind) const {
  tcp::Config const& tcp = stack_.config().tcp;
  if (s.pending_options.has(kind)) {
    return s.pending_options.of(kind);
  }
  switch (kind) {
    case SettingKind::nagle:
      return tcp.nagle ? 1 : 0;
    case SettingKind::delayed_ack:
      return tcp.delayed_acks ? 1 : 0;
    case SettingKind::keepalive:
      return tcp.keepalive ? 1 : 0;
    case SettingKind::keepalive_idle_ms:
      return static_cast<std::uint32_t>(tcp.keepalive_idle.ns / 1'000'000);
    case SettingKind::user_timeout_ms:
      return static_cast<std::uint32_t>(tcp.user_timeout.ns / 1'000'000);
    case SettingKind::dscp:
      return 0;
    case SettingKind::ttl:
      return tcp.ttl;
    case SettingKind::receive_buffer:
      return tcp.receive_buffer.count;
    case SettingKind::send_buffer:
      return tcp.send_buffer.count;
    case SettingKind::soft_errors:
      return 1;
    case SettingKind::keepalive_interval_ms:
      return static_cast<std::uint32_t>(tcp.keepalive_interval.ns / 1'000'000);
    case SettingKind::keepalive_probes:
      return tcp.keepalive_probes.value;
    case SettingKind::mss:
      return 0;
    case SettingKind::congestion:
      return static_cast<std::uint32_t>(tcp.congestion);
  }
  return 0;
}

Result Sockets::set_pending(Socket& s, Setting setting) {
  s.pending_options.add(setting);
  if (s.connection != ConnectionId{}) {
    static_cast<void>(stack_.set(s.connection, setting));
    clamp_window(s);
  }
  offer_anew(s);
  return 0;
}

Result Sockets::get_option(int fd, int level, int name, void* value, socklen_t* length) {
  Socket* s = nullptr;
  if (Result const bad = find(fd, s); bad != 0) {
    return bad;
  }
  if (length == nullptr || value == nullptr) {
    return -EFAULT;
  }
  if (static_cast<int>(*length) < 0) {
    return -EINVAL;
  }
  switch (level) {
    case SOL_SOCKET:
      return get_socket_level(*s, name, value, length);
    case IPPROTO_TCP:
      return get_tcp_level(*s, name, value, length);
    case IPPROTO_IP:
    case IPPROTO_IPV6:
      return get_ip_level(*s, level, name, value, length);
    default:
      return -ENOPROTOOPT;
  }
}

Result Sockets::set_option(int fd, int level, int name, const void* value, socklen_t length) {
  Socket* s = nullptr;
  if (Result const bad = find(fd, s); bad != 0) {
    return bad;
  }
  switch (level) {
    case SOL_SOCKET:
      return set_socket_level(*s, name, value, length);
    case IPPROTO_TCP:
      return set_tcp_level(*s, name, value, length);
    case IPPROTO_IP:
    case IPPROTO_IPV6:
      return set_ip_level(*s, level, name, value, length);
    default:
      return -ENOPROTOOPT;
  }
}

Result Sockets::get_socket_level(Socket& s, int name, void* value, socklen_t* length) {
  switch (name) {
    case SO_TYPE:
      return write_int(SOCK_STREAM, value, length);
    case SO_PROTOCOL:
      return write_int(IPPROTO_TCP, value, length);
    case SO_DOMAIN:
      return write_int(s.v6 ? AF_INET6 : AF_INET, value, length);
    case SO_ERROR:
      return write_int(static_cast<int>(-take_any_error(s)), value, length);
    case SO_ACCEPTCONN:
      return write_int(s.phase == Phase::listening ? 1 : 0, value, length);
    case SO_REUSEADDR:
      return write_int(s.reuse_address ? 1 : 0, value, length);
    case SO_OOBINLINE:
      return write_int(s.urgent_inline ? 1 : 0, value, length);
    case SO_KEEPALIVE:
      return write_int(as_int(pending_or_default(s, SettingKind::keepalive)), value, length);
    case SO_RCVBUF:
      return write_int(as_int(buffer_option_of(s, SettingKind::receive_buffer)), value, length);
    case SO_SNDBUF:
      return write_int(as_int(buffer_option_of(s, SettingKind::send_buffer)), value, length);
    case SO_RCVLOWAT:
    case SO_SNDLOWAT:
      return write_int(1, value, length);
    case SO_LINGER: {
      struct linger out{};
      out.l_onoff = s.linger ? 1 : 0;
      out.l_linger = s.linger_seconds;
      return write_value(&out, sizeof out, value, length);
    }
    default:
      return -ENOPROTOOPT;
  }
}

Result Sockets::set_socket_level(Socket& s, int name, const void* value, socklen_t length) {
  if (name == SO_LINGER) {
    struct linger in{};
    if (Result const bad = read_value(value, length, in); bad != 0) {
      return bad;
    }
    if (in.l_onoff != 0 && in.l_linger < 0) {
      return -EINVAL;
    }
    s.linger = in.l_onoff != 0;
    s.linger_seconds = in.l_linger;
    return 0;
  }
  bool const known = name == SO_REUSEADDR || name == SO_OOBINLINE || name == SO_KEEPALIVE ||
                     name == SO_RCVBUF || name == SO_SNDBUF;
  if (!known) {
    return -ENOPROTOOPT;
  }
  int in = 0;
  if (Result const bad = read_value(value, length, in); bad != 0) {
    return bad;
  }
  switch (name) {
    case SO_REUSEADDR:
      s.reuse_address = in != 0;
      return 0;
    case SO_KEEPALIVE:
      return set_pending(s, {SettingKind::keepalive, in != 0 ? 1u : 0u});
    case SO_OOBINLINE:
      // Else urgent data is always inline, as RFC 6093 6 recommends.
      if (in == 0 && !stack_.config().tcp.urgent_apart) {
        return -ENOPROTOOPT;
      }
      s.urgent_inline = in != 0;
      return 0;
    default:
      break;
  }
  if (!within(in, 1, buffer_max)) {
    return -EINVAL;
  }
  auto const kind = name == SO_RCVBUF ? SettingKind::receive_buffer : SettingKind::send_buffer;
  return set_pending(s, {kind, static_cast<std::uint32_t>(in)});
}

// IP_MTU_DISCOVER and IPV6_MTU_DISCOVER have the same numbers. The stack discovers path MTUs for
// all of its connections or for none, and sets DF either way: ip(7) calls that WANT, DO or PROBE.
int Sockets::mtu_discover_of(const Socket& s) const {
  int const own = stack_.config().tcp.path_mtu_discovery ? IP_PMTUDISC_WANT : IP_PMTUDISC_PROBE;
  return s.mtu_discover == -1 ? own : s.mtu_discover;
}

// What the stack cannot do gets the errno that Linux has for a value it does not know.
Result Sockets::set_mtu_discover(Socket& s, int in) {
  bool const wants = in == IP_PMTUDISC_WANT || in == IP_PMTUDISC_DO;
  if (stack_.config().tcp.path_mtu_discovery ? !wants : in != IP_PMTUDISC_PROBE) {
    return -EINVAL;
  }
  s.mtu_discover = in;
  return 0;
}

Result Sockets::get_ip_level(Socket& s, int level, int name, void* value, socklen_t* length) {
  int const tos = as_int(pending_or_default(s, SettingKind::dscp)) << 2;
  int const ttl = as_int(pending_or_default(s, SettingKind::ttl));
  bool const six = level == IPPROTO_IPV6;
  if (six && !s.v6) {
    return -ENOPROTOOPT;
  }
  if (name == (six ? IPV6_MTU : IP_MTU)) {
    return s.phase == Phase::connected ? write_int(as_int(mtu_of(s)), value, length) : -ENOTCONN;
  }
  if (name == (six ? IPV6_MTU_DISCOVER : IP_MTU_DISCOVER)) {
    return write_int(mtu_discover_of(s), value, length);
  }
  if (!six) {
    switch (name) {
      case IP_TOS:
        return write_int(tos, value, length);
      case IP_TTL:
        return write_int(ttl, value, length);
      default:
        return -ENOPROTOOPT;
    }
  }
  switch (name) {
    case IPV6_TCLASS:
      return write_int(tos, value, length);
    case IPV6_UNICAST_HOPS:
      return write_int(ttl, value, length);
    case IPV6_V6ONLY:
      return write_int(s.v6_only ? 1 : 0, value, length);
    default:
      return -ENOPROTOOPT;
  }
}

Result Sockets::set_ip_level(Socket& s, int level, int name, const void* value, socklen_t length) {
  bool const six = level == IPPROTO_IPV6;
  bool const tos = name == (six ? IPV6_TCLASS : IP_TOS);
  bool const ttl = name == (six ? IPV6_UNICAST_HOPS : IP_TTL);
  bool const only = six && name == IPV6_V6ONLY;
  bool const discover = name == (six ? IPV6_MTU_DISCOVER : IP_MTU_DISCOVER);
  if ((six && !s.v6) || (!tos && !ttl && !only && !discover)) {
    return -ENOPROTOOPT;
  }
  int in = 0;
  if (Result const bad = read_value(value, length, in); bad != 0) {
    return bad;
  }
  if (only) {
    if (s.named || s.phase != Phase::unconnected) {
      return -EINVAL;
    }
    s.v6_only = in != 0;
    return 0;
  }
  if (discover) {
    return set_mtu_discover(s, in);
  }
  if (in == -1) {
    in = tos ? 0 : stack_.config().tcp.ttl;
  }
  if (tos) {
    // The two bits of ECN belong to TCP.
    return within(in, 0, 255)
               ? set_pending(s, {SettingKind::dscp, static_cast<std::uint32_t>(in) >> 2})
               : -EINVAL;
  }
  return within(in, 1, 255) ? set_pending(s, {SettingKind::ttl, static_cast<std::uint32_t>(in)})
                            : -EINVAL;
}

}  // namespace lockstep::tools
