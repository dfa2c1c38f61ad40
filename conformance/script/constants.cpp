// Names of constants in scripts: sockets, options, errors, and Linux's TCP states.
#include "conformance/script/constants.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>

namespace lockstep::conformance::script {
namespace {

struct Constant {
  std::string_view name;
  std::int64_t value;
};

// clang-format off: a list of words
#define NAMED(name) Constant{#name, static_cast<std::int64_t>(name)}

constexpr Constant constants[] = {
    NAMED(AF_UNSPEC), NAMED(AF_INET), NAMED(AF_INET6), NAMED(PF_INET), NAMED(PF_INET6),
    NAMED(SOCK_STREAM), NAMED(SOCK_DGRAM), NAMED(SOCK_NONBLOCK), NAMED(SOCK_CLOEXEC),
    NAMED(IPPROTO_IP), NAMED(IPPROTO_IPV6), NAMED(IPPROTO_TCP), NAMED(IPPROTO_UDP),
    NAMED(IPPROTO_ICMP), NAMED(INADDR_ANY), NAMED(SHUT_RD), NAMED(SHUT_WR), NAMED(SHUT_RDWR),
    NAMED(SOL_SOCKET), NAMED(SOL_IP), NAMED(SOL_IPV6), NAMED(SOL_TCP), NAMED(SO_ACCEPTCONN),
    NAMED(SO_DOMAIN), NAMED(SO_ERROR), NAMED(SO_KEEPALIVE), NAMED(SO_LINGER),
    NAMED(SO_OOBINLINE), NAMED(SO_PROTOCOL), NAMED(SO_RCVBUF), NAMED(SO_RCVLOWAT),
    NAMED(SO_REUSEADDR), NAMED(SO_REUSEPORT), NAMED(SO_SNDBUF), NAMED(SO_SNDLOWAT),
    NAMED(SO_TYPE), NAMED(SO_ZEROCOPY), NAMED(TCP_CONGESTION), NAMED(TCP_CORK),
    NAMED(TCP_DEFER_ACCEPT), NAMED(TCP_FASTOPEN), NAMED(TCP_FASTOPEN_CONNECT), NAMED(TCP_INFO),
    NAMED(TCP_INQ), NAMED(TCP_KEEPCNT), NAMED(TCP_KEEPIDLE), NAMED(TCP_KEEPINTVL),
    NAMED(TCP_LINGER2), NAMED(TCP_MAXSEG), NAMED(TCP_NODELAY), NAMED(TCP_NOTSENT_LOWAT),
    NAMED(TCP_QUICKACK), NAMED(TCP_SYNCNT), NAMED(TCP_TIMESTAMP), NAMED(TCP_USER_TIMEOUT),
    NAMED(TCP_WINDOW_CLAMP), NAMED(IP_MTU), NAMED(IP_MTU_DISCOVER), NAMED(IP_PMTUDISC_DONT),
    NAMED(IP_PMTUDISC_DO), NAMED(IP_PMTUDISC_WANT), NAMED(IP_TOS), NAMED(IP_TTL),
    NAMED(IPV6_MTU), NAMED(IPV6_TCLASS), NAMED(IPV6_UNICAST_HOPS), NAMED(IPV6_V6ONLY),
    NAMED(F_GETFL), NAMED(F_SETFL), NAMED(F_GETFD), NAMED(F_SETFD), NAMED(FD_CLOEXEC),
    NAMED(O_RDONLY), NAMED(O_WRONLY), NAMED(O_RDWR), NAMED(O_NONBLOCK), NAMED(FIONREAD),
    NAMED(FIONBIO), NAMED(SIOCINQ), NAMED(SIOCOUTQ), NAMED(SIOCOUTQNSD), NAMED(SIOCATMARK),
    NAMED(TIOCOUTQ), NAMED(MSG_CTRUNC), NAMED(MSG_DONTWAIT), NAMED(MSG_EOR),
    NAMED(MSG_ERRQUEUE), NAMED(MSG_FASTOPEN), NAMED(MSG_MORE), NAMED(MSG_NOSIGNAL),
    NAMED(MSG_OOB), NAMED(MSG_PEEK), NAMED(MSG_TRUNC), NAMED(MSG_WAITALL), NAMED(MSG_ZEROCOPY),
    NAMED(POLLIN), NAMED(POLLOUT), NAMED(POLLPRI), NAMED(POLLERR), NAMED(POLLHUP),
    NAMED(POLLNVAL), NAMED(POLLRDHUP), NAMED(POLLRDNORM), NAMED(POLLWRNORM), NAMED(EPOLLIN),
    NAMED(EPOLLOUT), NAMED(EPOLLPRI), NAMED(EPOLLERR), NAMED(EPOLLHUP), NAMED(EPOLLRDHUP),
    NAMED(EPOLLRDNORM), NAMED(EPOLLWRNORM), NAMED(EPOLLET), NAMED(EPOLLONESHOT),
    NAMED(EPOLL_CTL_ADD), NAMED(EPOLL_CTL_DEL), NAMED(EPOLL_CTL_MOD), NAMED(EPOLL_CLOEXEC),
    NAMED(TCP_ESTABLISHED), NAMED(TCP_SYN_SENT), NAMED(TCP_SYN_RECV), NAMED(TCP_FIN_WAIT1),
    NAMED(TCP_FIN_WAIT2), NAMED(TCP_TIME_WAIT), NAMED(TCP_CLOSE), NAMED(TCP_CLOSE_WAIT),
    NAMED(TCP_LAST_ACK), NAMED(TCP_LISTEN), NAMED(TCP_CLOSING), NAMED(TCP_CA_Open),
    NAMED(TCP_CA_Disorder), NAMED(TCP_CA_CWR), NAMED(TCP_CA_Recovery), NAMED(TCP_CA_Loss),
    NAMED(TCPI_OPT_TIMESTAMPS), NAMED(TCPI_OPT_SACK), NAMED(TCPI_OPT_WSCALE),
    NAMED(TCPI_OPT_ECN), NAMED(TCPI_OPT_ECN_SEEN), NAMED(TCPI_OPT_SYN_DATA),
};

constexpr Constant errors[] = {
    NAMED(EACCES), NAMED(EADDRINUSE), NAMED(EADDRNOTAVAIL), NAMED(EAFNOSUPPORT), NAMED(EAGAIN),
    NAMED(EALREADY), NAMED(EBADF), NAMED(ECONNABORTED), NAMED(ECONNREFUSED), NAMED(ECONNRESET),
    NAMED(EDESTADDRREQ), NAMED(EDOM), NAMED(EEXIST), NAMED(EFAULT), NAMED(EHOSTUNREACH),
    NAMED(EINPROGRESS), NAMED(EINTR), NAMED(EINVAL), NAMED(EISCONN), NAMED(EMFILE),
    NAMED(EMSGSIZE), NAMED(ENETDOWN), NAMED(ENETUNREACH), NAMED(ENOBUFS), NAMED(ENOENT),
    NAMED(ENOMEM), NAMED(ENOPROTOOPT), NAMED(ENOSPC), NAMED(ENOSYS), NAMED(ENOTCONN),
    NAMED(ENOTSOCK), NAMED(ENOTTY), NAMED(EOPNOTSUPP), NAMED(EPERM), NAMED(EPIPE),
    NAMED(EPROTO), NAMED(EPROTONOSUPPORT), NAMED(EPROTOTYPE), NAMED(ESOCKTNOSUPPORT),
    NAMED(ETIMEDOUT), NAMED(EWOULDBLOCK),
};

#undef NAMED
// clang-format on

const Constant* find(std::string_view name, const Constant* begin, const Constant* end) {
  for (const Constant* one = begin; one != end; ++one) {
    if (one->name == name) {
      return one;
    }
  }
  return nullptr;
}

}  // namespace

std::optional<std::int64_t> constant(std::string_view name) {
  const Constant* const found = find(name, std::begin(constants), std::end(constants));
  return found == nullptr ? std::nullopt : std::optional(found->value);
}

std::optional<int> error_number(std::string_view name) {
  const Constant* const found = find(name, std::begin(errors), std::end(errors));
  return found == nullptr ? std::nullopt : std::optional(static_cast<int>(found->value));
}

std::string error_name(int number) {
  for (Constant const& one : errors) {
    if (one.value == number) {
      return std::string(one.name);
    }
  }
  return fmt::format("errno {}", number);
}

}  // namespace lockstep::conformance::script
