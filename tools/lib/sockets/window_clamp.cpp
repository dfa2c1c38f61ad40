// TCP_WINDOW_CLAMP: bounds the window that a connection advertises. The core has one bound, its
// receive buffer, which counts unread data; so the clamp is a buffer that grows with that data. The
// core never moves the edge of the window back.
#include <algorithm>
#include <cerrno>

#include "tools/lib/sockets/sockets.hpp"

namespace lockstep::tools {

// As Linux: 0 removes it, but only before listen() or connect(); half of the least receive buffer
// is the least.
Result Sockets::set_window_clamp(Socket& s, int in) {
  constexpr std::uint32_t least = 1152;
  bool const idle = s.phase == Phase::unconnected || s.phase == Phase::failed ||
                    s.phase == Phase::over || s.phase == Phase::armed;
  if (in == 0 && !idle) {
    return -EINVAL;
  }
  s.window_clamp = in == 0 ? 0 : std::max(static_cast<std::uint32_t>(in), least);
  clamp_window(s);
  offer_anew(s);
  return 0;
}

// A connection without a clamp has its buffer as the bound.
std::uint32_t Sockets::window_clamp_option_of(const Socket& s) const {
  bool const bounded = s.window_clamp != 0 || s.phase != Phase::connected;
  return bounded ? s.window_clamp : receive_buffer_of(s);
}

// The window of a SYN or SYN-ACK: whole segments, as in Linux.
std::uint32_t Sockets::first_window_of(const Socket& s) const {
  std::uint32_t const buffer = pending_or_default(s, SettingKind::receive_buffer);
  std::uint32_t const chosen = pending_or_default(s, SettingKind::mss);
  std::uint32_t const own = stack_.config().tcp.mss.count;
  std::uint32_t const mss = chosen != 0 ? std::min(chosen, own) : own;
  std::uint32_t const clamp = s.window_clamp < mss ? s.window_clamp : s.window_clamp / mss * mss;
  return std::min(buffer, clamp);
}

// A new connection: its clamp is at most its buffer.
void Sockets::adopt_window_clamp(Socket& s) const {
  s.window_clamp = std::min(s.window_clamp, pending_or_default(s, SettingKind::receive_buffer));
}

// To be called when data has arrived, and before `consumed` octets are taken from it.
void Sockets::clamp_window(const Socket& s, std::uint32_t consumed) {
  if (s.window_clamp == 0 || s.phase != Phase::connected) {
    return;
  }
  std::uint64_t const kept = stack_.unread(s.connection).count - consumed;
  std::uint64_t const buffer = pending_or_default(s, SettingKind::receive_buffer);
  static_cast<void>(stack_.set(
      s.connection, {SettingKind::receive_buffer, std::min(buffer, s.window_clamp + kept)}));
}

}  // namespace lockstep::tools
