// ICMP errors about a connection, reported as Linux's errno: at once, by SO_ERROR, or on timeout.
#include "tools/lib/sockets/icmp_kit.hpp"

namespace lockstep::tools::testing {
namespace {

struct Row {
  IcmpError error;
  int says;           // to whom it ends nothing, and to whom it does
  bool ends = false;  // an open
};

constexpr std::uint8_t time_exceeded = 11;
constexpr std::uint8_t parameter_problem = 12;
constexpr std::array rows4{
    Row{{.code = 0}, ENETUNREACH},
    Row{{.code = 1}, EHOSTUNREACH},
    Row{{.code = 2}, ENOPROTOOPT, true},
    Row{{.code = 3}, ECONNREFUSED, true},
    Row{{.code = 5}, EOPNOTSUPP},
    Row{{.code = 6}, ENETUNREACH},
    Row{{.code = 9}, ENETUNREACH},
    Row{{.code = 10}, EHOSTUNREACH},
    Row{{.code = 11}, ENETUNREACH},
    Row{{.code = 12}, EHOSTUNREACH},
    Row{{.code = 13}, EHOSTUNREACH},
    Row{{.code = 14}, EHOSTUNREACH},
    Row{{.code = 15}, EHOSTUNREACH},
    Row{{.type = time_exceeded}, EHOSTUNREACH},
    Row{{.type = time_exceeded, .code = 1}, EHOSTUNREACH},
    Row{{.type = parameter_problem}, EPROTO},
};

constexpr std::uint8_t unreachable6 = 1;
constexpr std::uint8_t time_exceeded6 = 3;
constexpr std::uint8_t parameter_problem6 = 4;
constexpr std::array rows6{
    Row{{.type = unreachable6, .code = 0}, ENETUNREACH},
    Row{{.type = unreachable6, .code = 1}, EACCES, true},
    Row{{.type = unreachable6, .code = 2}, EHOSTUNREACH},
    Row{{.type = unreachable6, .code = 3}, EHOSTUNREACH},
    Row{{.type = unreachable6, .code = 4}, ECONNREFUSED, true},
    Row{{.type = unreachable6, .code = 5}, EACCES},
    Row{{.type = unreachable6, .code = 6}, EACCES},
    Row{{.type = time_exceeded6}, EHOSTUNREACH},
    Row{{.type = parameter_problem6}, EPROTO},
    Row{{.type = parameter_problem6, .code = 1}, EPROTO},
    Row{{.type = 100}, EPROTO},
};

class IcmpTest : public Kit {
 protected:
  static std::vector<Row> rows(bool six) {
    return six ? std::vector<Row>(rows6.begin(), rows6.end())
               : std::vector<Row>(rows4.begin(), rows4.end());
  }
  // A connection whose wire is cut with four octets in flight.
  void join_and_cut(bool six) {
    if (listener < 0) {
      listener = make(r, AF_INET6);
      EXPECT_EQ(outcome(bind(r, listener, name6("::", port))), "0");
      EXPECT_EQ(outcome(lockstep_listen(r, listener, 5)), "0");
    }
    pair.cut(false);
    open(six);
    pass();
    far = lockstep_accept(r, listener, nullptr, nullptr);
    ASSERT_GE(far, 0);
    EXPECT_EQ(set(l, near, IPPROTO_TCP, TCP_USER_TIMEOUT, 3000), 0);
    pair.cut(true);
    send(l, near, "lost");
    pass();
  }
  void open(bool six) {
    near = make(l, six ? AF_INET6 : AF_INET);
    std::string const began = six ? outcome(connect(l, near, name6("fd00::2", port)))
                                  : outcome(connect(l, near, name4(2, port)));
    EXPECT_EQ(began, "EINPROGRESS");
  }
  void deliver(IcmpError error) {
    pair.deliver_left(icmp_about(first_of(pair.left), error));
    pass(Duration::microseconds(10));
  }
  // Closes the side's only connection.
  void part() {
    EXPECT_EQ(lockstep_close(l, near), 0);
    pair.cut(false);
    EXPECT_EQ(lockstep_close(r, far), 0);
    pass(Duration::seconds(600));
  }
  static std::string name_of(int error) { return strerrorname_np(error); }
};

TEST_F(IcmpTest, AnIcmpErrorEndsAnOpen) {
  for (bool const six : {false, true}) {
    for (Row const& row : rows(six)) {
      pair.cut(true);
      open(six);
      pass();
      deliver(row.error);
      if (row.ends) {
        EXPECT_EQ(ready(l, near) & POLLERR, POLLERR);
      } else {
        EXPECT_EQ(error_of(l, near), "0");
        EXPECT_EQ(ready(l, near), 0);
        pass(Duration::seconds(200));
      }
      EXPECT_EQ(error_of(l, near), name_of(row.says)) << int{row.error.type} << row.error.code;
      EXPECT_EQ(lockstep_close(l, near), 0);
    }
  }
}

//= rfc5927#5.2
//= type=test
//# 5927:ICMP-3 no ICMP error ends an established connection
TEST_F(IcmpTest, ATimeoutReportsTheLastIcmpError) {
  for (bool const six : {false, true}) {
    for (Row const& row : rows(six)) {
      join_and_cut(six);
      deliver(row.error);
      EXPECT_EQ(ready(l, near), out);
      pass(Duration::milliseconds(3200));
      EXPECT_EQ(receive(l, near), name_of(row.says)) << int{row.error.type} << row.error.code;
      part();
    }
  }
}

// SO_ERROR returns it once; the timeout is then reported as ETIMEDOUT.
TEST_F(IcmpTest, SoErrorClearsIt) {
  join_and_cut(false);
  deliver({.code = 1});
  EXPECT_EQ(error_of(l, near), "EHOSTUNREACH");
  EXPECT_EQ(error_of(l, near), "0");
  EXPECT_EQ(ready(l, near), out);
  pass(Duration::milliseconds(3200));
  EXPECT_EQ(error_of(l, near), "ETIMEDOUT");
}

// A segment of the peer arrived after the error.
TEST_F(IcmpTest, ALaterSegmentClearsIt) {
  join_and_cut(false);
  deliver({.code = 1});
  pair.cut(false);
  pass(Duration::seconds(1));
  EXPECT_EQ(receive(r, far), "lost");
  EXPECT_EQ(error_of(l, near), "0");
  pair.cut(true);
  send(l, near, "lost as well");
  pass();
  deliver({.code = 0});
  pair.cut(false);
  pass(Duration::seconds(1));
  pair.cut(true);
  send(l, near, "lost as well");
  pass(Duration::milliseconds(3200));
  EXPECT_EQ(error_of(l, near), "ETIMEDOUT");
}

// Reaching R1 of RFC 9293 does not replace the recorded ICMP error.
TEST_F(IcmpTest, SilenceDoesNotReplaceIt) {
  join_and_cut(false);
  EXPECT_EQ(set(l, near, IPPROTO_TCP, TCP_USER_TIMEOUT, 20'000), 0);
  deliver({.code = 13});
  pass(Duration::seconds(21));
  EXPECT_EQ(receive(l, near), "EHOSTUNREACH");
}

TEST_F(IcmpTest, PacketTooBigIsNotAnError) {
  join_and_cut(false);
  deliver({.code = 4, .rest = 1300});
  EXPECT_EQ(error_of(l, near), "0");
  pass(Duration::milliseconds(3200));
  EXPECT_EQ(error_of(l, near), "ETIMEDOUT");
}

}  // namespace
}  // namespace lockstep::tools::testing
