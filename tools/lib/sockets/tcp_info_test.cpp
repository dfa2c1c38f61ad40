// TCP_INFO: each field matches what happened on the connection.
#include "tools/lib/sockets/sockets_kit.hpp"

namespace lockstep::tools::testing {
namespace {

class TcpInfoTest : public Kit {};

TEST_F(TcpInfoTest, InfoFromTheAccount) {
  join();
  pair.cut(true);
  send(l, near, std::string(3000, 'x'));
  pass(Duration::milliseconds(500));
  lockstep_tcp_info const waiting = info(l, near);
  EXPECT_EQ(waiting.tcpi_retrans, 1u);
  EXPECT_GE(waiting.tcpi_total_rto, 1u);
  EXPECT_EQ(waiting.tcpi_total_rto_recoveries, 1u);
  EXPECT_GT(waiting.tcpi_total_rto_time, 100u);
  EXPECT_LT(waiting.tcpi_total_rto_time, 500u);
  EXPECT_GE(waiting.tcpi_bytes_retrans, 104u);
  pair.cut(false);
  pass(Duration::seconds(2));
  EXPECT_EQ(info(l, near).tcpi_retrans, 0u);
  EXPECT_GE(info(r, far).tcpi_data_segs_in, 3u);
  EXPECT_EQ(info(r, far).tcpi_data_segs_out, 0u);
  EXPECT_GT(info(r, far).tcpi_rcv_rtt, 0u);
  EXPECT_LT(info(l, near).tcpi_min_rtt, 100u);
  // The reader stops: the receive window limits the writer.
  send(l, near, std::string(1 << 20, 'y'));
  pass(Duration::seconds(1));
  EXPECT_GT(info(l, near).tcpi_rwnd_limited, 900'000u);
}

TEST_F(TcpInfoTest, InfoOfSegmentSizes) {
  join();
  // Before any data arrives Linux assumes 536; our SYN announced 1460, of which timestamps take 12.
  EXPECT_EQ(info(r, far).tcpi_advmss, 1448u);
  EXPECT_EQ(info(r, far).tcpi_rcv_mss, 536u);
  send(l, near, std::string(3000, 'x'));
  pass();
  EXPECT_EQ(info(r, far).tcpi_rcv_mss, 1448u);
  int const small = make(l);
  EXPECT_EQ(set(l, small, IPPROTO_TCP, TCP_MAXSEG, 500), 0);
  EXPECT_EQ(outcome(connect(l, small, name4(2, port))), "EINPROGRESS");
  pass();
  EXPECT_EQ(info(l, small).tcpi_advmss, 488u);
  EXPECT_EQ(info(l, small).tcpi_rcv_mss, 488u);
  PairOf of;
  of.left.tcp.timestamps = false;
  SocketPair plain(of);
  int const server = make(plain.right.c(), AF_INET6);
  EXPECT_EQ(outcome(bind(plain.right.c(), server, name6("::", port))), "0");
  EXPECT_EQ(outcome(lockstep_listen(plain.right.c(), server, 5)), "0");
  int const six = make(plain.left.c(), AF_INET6);
  EXPECT_EQ(outcome(connect(plain.left.c(), six, name6("fd00::2", port))), "EINPROGRESS");
  plain.run(Duration::milliseconds(1));
  EXPECT_EQ(info(plain.left.c(), six).tcpi_advmss, 1440u);
}

TEST_F(TcpInfoTest, InfoOfReordering) {
  join();
  EXPECT_EQ(info(l, near).tcpi_reordering, 3u);
  for (std::size_t const segments : {3u, 6u}) {
    pair.hold_left();
    send(l, near, std::string(segments * 1448, 'x'));
    pair.step();
    pair.let_left_go();
    pass();
    EXPECT_EQ(info(l, near).tcpi_reord_seen, 1u);
    EXPECT_EQ(info(l, near).tcpi_reordering, segments);
    EXPECT_EQ(info(l, near).tcpi_total_retrans, 0u);
    EXPECT_EQ(receive(r, far).size(), segments * 1448);
  }
}

TEST_F(TcpInfoTest, InfoOfAConnection) {
  join();
  lockstep_tcp_info before = info(l, near);
  EXPECT_EQ(before.tcpi_state, 1);
  EXPECT_EQ(before.tcpi_options, 1 | 2 | 4);
  EXPECT_EQ(before.tcpi_snd_mss, 1448u);
  EXPECT_EQ(before.tcpi_snd_cwnd, 10u);
  EXPECT_EQ(before.tcpi_snd_ssthresh, 0x7fff'ffffu);
  EXPECT_EQ(before.tcpi_unacked, 0u);
  EXPECT_EQ(before.tcpi_pmtu, 1500u);
  EXPECT_EQ(before.tcpi_rto, 200'000u);
  EXPECT_GT(before.tcpi_rtt, 0u);
  EXPECT_LT(before.tcpi_rtt, 100u);
  send(l, near, std::string(3000, 'x'));
  pass(Duration::milliseconds(100));
  receive(r, far, 1000);
  lockstep_tcp_info const sender = info(l, near);
  lockstep_tcp_info const receiver = info(r, far);
  EXPECT_EQ(sender.tcpi_bytes_acked, 3000u);
  EXPECT_EQ(sender.tcpi_segs_out, before.tcpi_segs_out + 3);
  EXPECT_EQ(receiver.tcpi_bytes_received, 3000u);
  EXPECT_EQ(receiver.tcpi_rcv_mss, 1448u);
  EXPECT_GT(sender.tcpi_snd_wnd, 0u);
  pass(Duration::milliseconds(400));
  EXPECT_EQ(info(r, far).tcpi_last_data_recv, 500u);
  EXPECT_EQ(info(l, near).tcpi_last_data_sent, 500u);
  // Segments are lost: the timeout is counted, and the data in flight is shown.
  pair.cut(true);
  send(l, near, std::string(3000, 'y'));
  pass(Duration::milliseconds(500));
  lockstep_tcp_info const waiting = info(l, near);
  EXPECT_EQ(waiting.tcpi_unacked, 3u);
  EXPECT_EQ(waiting.tcpi_ca_state, 4);
  EXPECT_GE(waiting.tcpi_retransmits, 1);
  EXPECT_GE(waiting.tcpi_total_retrans, 1u);
  EXPECT_EQ(waiting.tcpi_notsent_bytes, 0u);
}

TEST_F(TcpInfoTest, InfoOfPastEvents) {
  join();
  lockstep_tcp_info const begun = info(l, near);
  EXPECT_EQ(begun.tcpi_delivered, 1u);
  EXPECT_EQ(begun.tcpi_bytes_sent, 0u);
  EXPECT_EQ(begun.tcpi_busy_time, 0u);
  EXPECT_EQ(begun.tcpi_rcv_ssthresh, 65'535u);
  pair.cut(true);
  send(l, near, std::string(3000, 'x'));
  pass(Duration::milliseconds(2));
  // A tail loss probe has repeated the last 1,448 octets.
  EXPECT_EQ(info(l, near).tcpi_bytes_sent, 4448u);
  EXPECT_EQ(info(l, near).tcpi_delivered, 1u);
  EXPECT_EQ(info(l, near).tcpi_busy_time, 2'000u);
  pair.cut(false);
  pass(Duration::milliseconds(1'000));
  lockstep_tcp_info const done = info(l, near);
  // All of it was sent again after the timeout, but nothing is in flight any more.
  EXPECT_EQ(done.tcpi_bytes_retrans, 4448u);
  EXPECT_EQ(done.tcpi_bytes_sent, 7448u);
  EXPECT_EQ(done.tcpi_data_segs_out, 7u);
  EXPECT_EQ(done.tcpi_retrans, 0u);
  EXPECT_EQ(done.tcpi_delivered, 1u + 3u);
  EXPECT_GT(done.tcpi_busy_time, 200'000u);  // waited for the retransmission timer
  EXPECT_LT(done.tcpi_busy_time, 500'000u);
  EXPECT_EQ(done.tcpi_sndbuf_limited, 0u);
  // More than there is room for, twice.
  std::string const much(1 << 20, 'y');
  EXPECT_LT(send(l, near, much), 1 << 20);
  EXPECT_EQ(outcome(send(l, near, much)), "EAGAIN");
  pair.cut(true);
  pass(Duration::milliseconds(3));
  EXPECT_EQ(info(l, near).tcpi_sndbuf_limited, 3'000u);
  pair.cut(false);
  for (int i = 0; i < 100; ++i) {
    receive(r, far, 1 << 20);
    pass(Duration::milliseconds(20));
  }
  std::uint64_t const limited = info(l, near).tcpi_sndbuf_limited;
  EXPECT_LT(limited, 1'000'000u);
  pass(Duration::seconds(1));
  EXPECT_EQ(info(l, near).tcpi_sndbuf_limited, limited);
}

TEST_F(TcpInfoTest, InfoOfTheOtherStates) {
  int const fd = make(l);
  EXPECT_EQ(info(l, fd).tcpi_state, 7);
  static_cast<void>(connect(l, fd, name4(2, port)));
  EXPECT_EQ(info(l, fd).tcpi_state, 2);
  listener = listening(3);
  pass();
  EXPECT_EQ(info(l, fd).tcpi_state, 1);
  EXPECT_EQ(info(r, listener).tcpi_state, 10);
  EXPECT_EQ(info(r, listener).tcpi_unacked, 1u);
  EXPECT_EQ(info(r, listener).tcpi_sacked, 3u);
  far = lockstep_accept(r, listener, nullptr, nullptr);
  EXPECT_EQ(info(r, listener).tcpi_unacked, 0u);
  EXPECT_EQ(lockstep_shutdown(l, fd, SHUT_WR), 0);
  EXPECT_EQ(info(l, fd).tcpi_state, 4);
  pass(Duration::milliseconds(100));
  EXPECT_EQ(info(l, fd).tcpi_state, 5);
  EXPECT_EQ(info(r, far).tcpi_state, 8);
  EXPECT_EQ(lockstep_shutdown(r, far, SHUT_WR), 0);
  pair.step();
  EXPECT_EQ(info(r, far).tcpi_state, 9);
  pass();
  EXPECT_EQ(info(r, far).tcpi_state, 7);
  EXPECT_EQ(info(l, fd).tcpi_state, 7);
}

}  // namespace
}  // namespace lockstep::tools::testing
