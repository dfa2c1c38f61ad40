// The acceptability test compared with counting octets.
#include "core/tcp/acceptable.hpp"

#include <gtest/gtest.h>

namespace lockstep::tcp {
namespace {

constexpr ReceiveWindow window_at(std::uint32_t nxt, std::uint32_t wnd) {
  return {Sequence{nxt}, Bytes{wnd}};
}

//= rfc9293#3.10.7.4
//= type=test
//# 9293:P-ACCEPT-L0W0 an empty segment at a zero window: only at RCV.NXT
TEST(Acceptable, EmptyAtAZeroWindow) {
  for (std::uint32_t nxt : {0u, 5u, 0xffff'ffffu}) {
    EXPECT_TRUE(acceptable(window_at(nxt, 0), Sequence{nxt}, Bytes{0}));
    EXPECT_FALSE(acceptable(window_at(nxt, 0), Sequence{nxt - 1}, Bytes{0}));
    EXPECT_FALSE(acceptable(window_at(nxt, 0), Sequence{nxt + 1}, Bytes{0}));
  }
}

//= rfc9293#3.10.7.4
//= type=test
//# 9293:P-ACCEPT-L0WN an empty segment: RCV.NXT =< SEG.SEQ < RCV.NXT+RCV.WND
TEST(Acceptable, EmptyAtAnOpenWindow) {
  for (std::uint32_t nxt : {100u, 0xffff'fffbu}) {
    EXPECT_FALSE(acceptable(window_at(nxt, 10), Sequence{nxt - 1}, Bytes{0}));
    EXPECT_TRUE(acceptable(window_at(nxt, 10), Sequence{nxt}, Bytes{0}));
    EXPECT_TRUE(acceptable(window_at(nxt, 10), Sequence{nxt + 9}, Bytes{0}));
    EXPECT_FALSE(acceptable(window_at(nxt, 10), Sequence{nxt + 10}, Bytes{0}));
  }
}

//= rfc9293#3.10.7.4
//= type=test
//# 9293:P-ACCEPT-LNW0 data at a zero window, at any sequence number
TEST(Acceptable, DataAtAZeroWindow) {
  for (std::uint32_t seq : {99u, 100u, 101u}) {
    EXPECT_FALSE(acceptable(window_at(100, 0), Sequence{seq}, Bytes{1}));
  }
}

// Whether octet `number` is in the window, by counting from its left edge.
bool counted_inside(ReceiveWindow window, std::uint32_t number) {
  for (std::uint32_t i = 0; i < window.wnd.count; ++i) {
    if (window.nxt.value + i == number) {
      return true;
    }
  }
  return false;
}

//= rfc9293#3.10.7.4
//= type=test
//# 9293:P-ACCEPT-TEST, 9293:P-ACCEPT-LNWN the first or the last octet inside; both outside: refused
TEST(Acceptable, FullTableAgainstCounting) {
  for (std::uint32_t nxt : {1000u, 0xffff'fffeu}) {
    for (std::uint32_t wnd = 0; wnd <= 6; ++wnd) {
      for (std::int32_t offset = -12; offset <= 12; ++offset) {
        for (std::uint32_t length = 0; length <= 14; ++length) {
          ReceiveWindow const window = window_at(nxt, wnd);
          std::uint32_t const seq = nxt + static_cast<std::uint32_t>(offset);
          bool expected = false;
          if (length == 0) {
            expected = wnd == 0 ? seq == nxt : counted_inside(window, seq);
          } else {
            expected = counted_inside(window, seq) || counted_inside(window, seq + length - 1);
          }
          EXPECT_EQ(acceptable(window, Sequence{seq}, Bytes{length}), expected)
              << "nxt " << nxt << " wnd " << wnd << " offset " << offset << " length " << length;
        }
      }
    }
  }
}

}  // namespace
}  // namespace lockstep::tcp
