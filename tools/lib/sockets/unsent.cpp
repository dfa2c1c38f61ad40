// TCP_NOTSENT_LOWAT: how many octets a connection may hold that have not been sent.
#include <algorithm>

#include "tools/lib/sockets/sockets.hpp"

namespace lockstep::tools {
namespace {

// The octets of a connection that have not been sent, and how many of them can leave at once.
struct Waiting {
  std::uint32_t unsent = 0;
  std::uint32_t leaves = 0;
};

Waiting waiting_of(const ConnectionInfo& info) {
  Bytes const flight = info.send.nxt.since(info.send.una);
  Bytes const room = std::min(info.send.wnd - flight, info.cwnd - info.pipe);
  std::uint32_t const mss = std::max(info.send.mss.count, 1u);
  return {(info.send.queued - flight).count, room.count / mss * mss};
}

// Linux accepts data in chunks: it looks at the limit only where one begins. Its frames and results
// show whole segments, up to half the largest window of the peer and nearly 64 KiB.
std::uint32_t chunk_of(const ConnectionInfo& info) {
  constexpr std::uint32_t most = 65'535 - 320;
  std::uint32_t const mss = std::max(info.send.mss.count, 1u);
  return std::max(std::min(info.send.wnd_max.count / 2, most) / mss * mss, mss);
}

}  // namespace

// The octets that are unsent once the segments that can leave now have left.
std::uint32_t Sockets::held_back(const Socket& s) const {
  ConnectionInfo const info = stack_.inspect(s.connection);
  Waiting const now = waiting_of(info);
  if (now.unsent > now.leaves) {
    return now.unsent - now.leaves;
  }
  // Nagle's algorithm or the cork keeps the last segment back.
  bool const flight = info.send.nxt != info.send.una;
  bool const kept = s.cork || (flight && pending_or_default(s, SettingKind::nagle) != 0);
  return kept ? now.unsent % std::max(info.send.mss.count, 1u) : 0;
}

// As poll() of Linux: a writer is told when less than half of the limit is unsent.
bool Sockets::unsent_is_low(const Socket& s) const {
  return s.notsent_low == 0 || std::uint64_t{held_back(s)} * 2 < s.notsent_low;
}

// How many of `size` octets TCP_NOTSENT_LOWAT lets a write accept; notes where the last chunk ends.
std::size_t Sockets::room_by_unsent(Socket& s, std::size_t size) const {
  if (s.notsent_low == 0 || s.phase != Phase::connected) {
    return size;
  }
  ConnectionInfo const info = stack_.inspect(s.connection);
  std::uint32_t const leaves = waiting_of(info).leaves;
  std::uint64_t const before = waiting_of(info).unsent;
  std::uint32_t const chunk_max = chunk_of(info);
  std::uint64_t held = held_back(s);
  std::size_t taken = 0;
  while (taken < size) {
    s.chunk = static_cast<std::uint32_t>(std::min<std::uint64_t>(s.chunk, held));
    if (s.chunk == 0 || s.chunk >= chunk_max) {
      if (held >= s.notsent_low) {
        break;
      }
      s.chunk = 0;
    }
    std::size_t const now = std::min<std::size_t>(chunk_max - s.chunk, size - taken);
    taken += now;
    s.chunk += static_cast<std::uint32_t>(now);
    held = before + taken > leaves ? before + taken - leaves : 0;
  }
  return taken;
}

}  // namespace lockstep::tools
