// The four-case acceptability test of RFC 9293 3.10.7.4, step 1.
#pragma once

#include "core/units/bytes.hpp"
#include "core/units/sequence.hpp"

namespace lockstep::tcp {

// The receive window: [nxt, nxt + wnd).
struct ReceiveWindow {
  Sequence nxt;
  Bytes wnd;
};

//= rfc9293#3.10.7.4
//# 9293:P-ACCEPT-TEST whether a segment of `length` at `sequence` is acceptable
constexpr bool acceptable(ReceiveWindow window, Sequence sequence, Bytes length) {
  if (length.empty()) {
    //= rfc9293#3.10.7.4
    //# 9293:P-ACCEPT-L0W0, 9293:P-ACCEPT-L0WN empty: at RCV.NXT, or inside the window
    return window.wnd.empty() ? sequence == window.nxt : sequence.inside(window.nxt, window.wnd);
  }
  //= rfc9293#3.10.7.4
  //# 9293:P-ACCEPT-LNW0 data is never acceptable at a zero window
  //# 9293:P-ACCEPT-LNWN otherwise its first or its last octet must be inside
  Sequence const last = (sequence + length).previous();
  return !window.wnd.empty() &&
         (sequence.inside(window.nxt, window.wnd) || last.inside(window.nxt, window.wnd));
}

}  // namespace lockstep::tcp
