// Options of level IPPROTO_TCP, fcntl and ioctl.
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <string_view>

#include "core/tcp/congestion/added.hpp"
#include "tools/lib/sockets/options.hpp"
#include "tools/lib/sockets/sockets.hpp"

namespace lockstep::tools {
namespace {

// The numeric options with their ranges in Linux.
constexpr std::array<NumberedOption, 4> numbered{{
    {TCP_KEEPIDLE, 1, 32'767, SettingKind::keepalive_idle_ms, 1000},
    {TCP_KEEPINTVL, 1, 32'767, SettingKind::keepalive_interval_ms, 1000},
    {TCP_KEEPCNT, 1, 127, SettingKind::keepalive_probes},
    {TCP_MAXSEG, 88, 32'767, SettingKind::mss},
}};

// As getsockopt writes it: sixteen octets, padded with zeros.
using AlgorithmName = std::array<char, 16>;

AlgorithmName algorithm_of(std::uint32_t congestion) {
  AlgorithmName out{};
  std::ranges::copy(tcp::congestion_words()[congestion], out.begin());
  return out;
}

bool can_be_set(int name) {
  switch (name) {
    case TCP_NODELAY:
    case TCP_CORK:
    case TCP_QUICKACK:
    case TCP_KEEPIDLE:
    case TCP_USER_TIMEOUT:
    case TCP_FASTOPEN:
    case TCP_CONGESTION:
    case TCP_FASTOPEN_CONNECT:
    case TCP_DEFER_ACCEPT:
    case TCP_NOTSENT_LOWAT:
    case TCP_WINDOW_CLAMP:
    case TCP_KEEPINTVL:
    case TCP_KEEPCNT:
    case TCP_MAXSEG:
      return true;
    default:
      return false;
  }
}

bool may_listen(const Socket& s) {
  return s.phase == Phase::unconnected || s.phase == Phase::listening;
}

}  // namespace

// A setting for one connection alone needs its account; without accounts only the stack's own value
// can be set.
Result Sockets::wish_in_account(Socket& s, Setting setting) {
  if (stack_.config().tcp.accounts || setting.kind == SettingKind::keepalive_idle_ms) {
    return set_pending(s, setting);
  }
  return pending_or_default(s, setting.kind) == setting.value ? 0 : -ENOPROTOOPT;
}

Result Sockets::set_congestion(Socket& s, const void* value, socklen_t length) {
  if (value == nullptr) {
    return -EFAULT;
  }
  if (length < 1) {
    return -EINVAL;
  }
  AlgorithmName asked{};
  std::memcpy(asked.data(), value, std::min<std::size_t>(length, asked.size() - 1));
  auto const words = tcp::congestion_words();
  auto const found = std::ranges::find(words, std::string_view(asked.data()));
  if (found == words.end()) {
    return -ENOENT;
  }
  auto const number = static_cast<std::uint32_t>(found - words.begin());
  return wish_in_account(s, {SettingKind::congestion, number});
}

Result Sockets::get_tcp_level(Socket& s, int name, void* value, socklen_t* length) {
  switch (name) {
    case TCP_NODELAY:
      return write_int(pending_or_default(s, SettingKind::nagle) == 0 ? 1 : 0, value, length);
    case TCP_CORK:
      return write_int(s.cork ? 1 : 0, value, length);
    case TCP_QUICKACK:
      return write_int(pending_or_default(s, SettingKind::delayed_ack) == 0 ? 1 : 0, value, length);
    case TCP_MAXSEG:
      return write_int(as_int(mss_of(s)), value, length);
    case TCP_KEEPIDLE:
      return write_int(as_int(pending_or_default(s, SettingKind::keepalive_idle_ms) / 1000), value,
                       length);
    case TCP_KEEPINTVL:
      return write_int(as_int(pending_or_default(s, SettingKind::keepalive_interval_ms) / 1000),
                       value, length);
    case TCP_KEEPCNT:
      return write_int(as_int(pending_or_default(s, SettingKind::keepalive_probes)), value, length);
    case TCP_USER_TIMEOUT:
      return write_int(as_int(pending_or_default(s, SettingKind::user_timeout_ms)), value, length);
    case TCP_FASTOPEN:
      return write_int(as_int(s.fast_open), value, length);
    case TCP_FASTOPEN_CONNECT:
      return write_int(s.fast_open_connect ? 1 : 0, value, length);
    case TCP_DEFER_ACCEPT:
      return write_int(as_int(s.defer_seconds), value, length);
    case TCP_NOTSENT_LOWAT:
      return write_int(as_int(s.notsent_low), value, length);
    case TCP_WINDOW_CLAMP:
      return write_int(as_int(window_clamp_option_of(s)), value, length);
    case TCP_CONGESTION: {
      auto const algorithm = algorithm_of(pending_or_default(s, SettingKind::congestion));
      return write_value(algorithm.data(), algorithm.size(), value, length);
    }
    case TCP_INFO: {
      lockstep_tcp_info const info = info_of(s);
      return write_value(&info, sizeof info, value, length);
    }
    default:
      return -ENOPROTOOPT;
  }
}

Result Sockets::set_no_delay(Socket& s, int in) {
  // As in Linux it sends what TCP_CORK holds back; later data is still held back.
  if (in != 0) {
    push(s);
  }
  return set_pending(s, {SettingKind::nagle, in != 0 ? 0u : 1u});
}

Result Sockets::set_cork(Socket& s, int in) {
  s.cork = in != 0;
  if (!s.cork) {
    push(s);
  }
  return 0;
}

Result Sockets::set_user_timeout(Socket& s, int in) {
  if (in < 0) {
    return -EINVAL;
  }
  // 0 is the stack's own value, as in Linux; for the core it would mean "never".
  std::uint64_t const own = stack_.config().tcp.user_timeout.ns / 1'000'000;
  return set_pending(
      s, {SettingKind::user_timeout_ms, in == 0 ? own : static_cast<std::uint32_t>(in)});
}

Result Sockets::set_fast_open(Socket& s, int in) {
  // A socket that does not listen opens with data by sendto() then, as in FreeBSD (tcp(4)).
  tcp::Config const& tcp = stack_.config().tcp;
  bool const opens = tcp.fast_open_client && s.phase == Phase::unconnected;
  if (!tcp.fast_open_server && !opens) {
    return -ENOPROTOOPT;
  }
  if (in < 0 || !may_listen(s)) {
    return -EINVAL;
  }
  s.fast_open = static_cast<std::uint32_t>(in);
  offer_anew(s);
  return 0;
}

Result Sockets::set_fast_open_connect(Socket& s, int in) {
  if (in < 0 || in > 1 || s.phase != Phase::unconnected) {
    return -EINVAL;
  }
  if (!stack_.config().tcp.fast_open_client) {
    return -EOPNOTSUPP;
  }
  s.fast_open_connect = in != 0;
  return 0;
}

// Connections that are deferred already keep their own time.
Result Sockets::set_defer_accept(Socket& s, int in) {
  if (in < 0 || !may_listen(s)) {
    return -EINVAL;
  }
  s.defer_seconds = static_cast<std::uint32_t>(in);
  return 0;
}

// Any value, as in Linux; a negative one is a large limit there too. A writer may be ready now.
Result Sockets::set_notsent_low(Socket& s, int in) {
  s.notsent_low = static_cast<std::uint32_t>(in);
  if (s.no_space && s.phase == Phase::connected && unsent_is_low(s) &&
      !stack_.writable(s.connection).empty()) {
    s.no_space = false;
    wake(s, EPOLLOUT | EPOLLWRNORM);
  }
  return 0;
}

// An option whose value is a setting, in its unit.
Result Sockets::set_numbered(Socket& s, const NumberedOption& option, int in) {
  if (in < option.least || in > option.most) {
    return -EINVAL;
  }
  return wish_in_account(s, {option.kind, static_cast<std::uint32_t>(in) * option.unit});
}

Result Sockets::set_tcp_level(Socket& s, int name, const void* value, socklen_t length) {
  if (!can_be_set(name)) {
    return -ENOPROTOOPT;
  }
  if (name == TCP_CONGESTION) {
    return set_congestion(s, value, length);
  }
  int in = 0;
  if (Result const bad = read_value(value, length, in); bad != 0) {
    return bad;
  }
  switch (name) {
    case TCP_NODELAY:
      return set_no_delay(s, in);
    case TCP_CORK:
      return set_cork(s, in);
    case TCP_QUICKACK:
      return set_pending(s, {SettingKind::delayed_ack, in != 0 ? 0u : 1u});
    case TCP_USER_TIMEOUT:
      return set_user_timeout(s, in);
    case TCP_FASTOPEN:
      return set_fast_open(s, in);
    case TCP_FASTOPEN_CONNECT:
      return set_fast_open_connect(s, in);
    case TCP_DEFER_ACCEPT:
      return set_defer_accept(s, in);
    case TCP_NOTSENT_LOWAT:
      return set_notsent_low(s, in);
    case TCP_WINDOW_CLAMP:
      return set_window_clamp(s, in);
    default:
      return set_numbered(s, *std::ranges::find(numbered, name, &NumberedOption::name), in);
  }
}

// Sends data that was held back.
void Sockets::push(const Socket& s) {
  if (s.phase == Phase::connected) {
    static_cast<void>(stack_.write(s.connection, {}, More::no));
  }
}

Result Sockets::control(int fd, int command, int argument) {
  Entry const entry = descriptors_.find(fd);
  if (entry.kind == Opened::nothing) {
    return -EBADF;
  }
  if (entry.kind == Opened::epoll) {
    return -EINVAL;
  }
  Socket& s = sockets_[entry.place];
  switch (command) {
    case F_GETFL:
      return O_RDWR | (s.nonblocking ? O_NONBLOCK : 0);
    case F_SETFL:
      if ((argument & ~(O_ACCMODE | O_NONBLOCK)) != 0) {
        return -EINVAL;
      }
      s.nonblocking = (argument & O_NONBLOCK) != 0;
      return 0;
    case F_GETFD:
      return s.close_on_exec ? FD_CLOEXEC : 0;
    case F_SETFD:
      s.close_on_exec = (argument & FD_CLOEXEC) != 0;
      return 0;
    default:
      return -EINVAL;
  }
}

Result Sockets::query(int fd, unsigned long request, void* argument) {
  Socket* s = nullptr;
  if (Result const bad = find(fd, s); bad != 0) {
    return bad;
  }
  bool const known = request == SIOCINQ || request == SIOCOUTQ || request == SIOCOUTQNSD ||
                     request == SIOCATMARK || request == FIONBIO;
  if (!known) {
    return -ENOTTY;
  }
  if (argument == nullptr) {
    return -EFAULT;
  }
  int value = 0;
  if (request == FIONBIO) {
    std::memcpy(&value, argument, sizeof value);
    s->nonblocking = value != 0;
    return 0;
  }
  if (request != SIOCATMARK && s->phase == Phase::listening) {
    return -EINVAL;
  }
  bool const joined = s->phase == Phase::connected || s->phase == Phase::connecting;
  if (request == SIOCATMARK) {
    value = s->urgent_left == 1 ? 1 : 0;
  } else if (request == SIOCINQ) {
    value = joined ? as_int(readable_before_mark(*s)) : 0;
  } else if (joined) {
    ConnectionInfo const info = stack_.inspect(s->connection);
    std::uint32_t const sent = info.send.nxt.since(info.send.una).count;
    bool const all = request == SIOCOUTQ;
    value = as_int((all ? info.send.queued : info.send.queued - Bytes{sent}).count);
  }
  std::memcpy(argument, &value, sizeof value);
  return 0;
}

}  // namespace lockstep::tools
