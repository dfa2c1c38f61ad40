// Transfers: vectors, messages, MSG_PEEK, MSG_TRUNC, urgent octets.
#include <linux/sockios.h>
#include <sys/ioctl.h>

#include "core/wire/ipv4.hpp"
#include "core/wire/tcp.hpp"
#include "tools/lib/sockets/sockets_kit.hpp"

namespace lockstep::tools::testing {
namespace {

class TransferTest : public Kit {
 protected:
  void SetUp() override { join(); }
  bool at_mark() const {
    int value = -1;
    EXPECT_EQ(lockstep_ioctl(r, far, SIOCATMARK, &value), 0);
    return value == 1;
  }
};

TEST_F(TransferTest, APeekLeavesTheData) {
  send(l, near, "look");
  pass();
  EXPECT_EQ(receive(r, far, 2, MSG_PEEK), "lo");
  EXPECT_EQ(receive(r, far, 9, MSG_PEEK | MSG_DONTWAIT), "look");
  EXPECT_EQ(receive(r, far, 9), "look");
  EXPECT_EQ(receive(r, far, 9, MSG_PEEK), "EAGAIN");
}

TEST_F(TransferTest, APeekSpansBlocks) {
  std::string text;
  for (int i = 0; i < 9000; ++i) {
    text += static_cast<char>('a' + i % 23);
  }
  EXPECT_EQ(send(l, near, text), 9000);
  pass(Duration::milliseconds(50));
  EXPECT_EQ(receive(r, far, 9000, MSG_PEEK), text);
  EXPECT_EQ(receive(r, far, 9000), text);
}

TEST_F(TransferTest, DataCanBeDiscarded) {
  send(l, near, "rubbish and text");
  pass();
  EXPECT_EQ(lockstep_recv(r, far, nullptr, 12, MSG_TRUNC), 12);
  EXPECT_EQ(receive(r, far), "text");
}

// The payloads of the left side's frames, concatenated.
std::string texts_of(const SocketPair::Frames& frames) {
  std::string out;
  for (std::vector<std::byte> const& frame : frames) {
    wire::Ipv4Packet packet;
    wire::Segment segment;
    EXPECT_EQ(wire::parse(frame, packet), Drop::none);
    EXPECT_EQ(wire::parse(packet.payload, segment), Drop::none);
    std::string const text(reinterpret_cast<const char*>(segment.payload.data()),
                           segment.payload.size());
    out += text.empty() ? "" : text + (segment.flags.psh() ? "!" : "") + " ";
  }
  return out;
}

TEST_F(TransferTest, NoSegmentHasTwoRecords) {
  set(l, near, IPPROTO_TCP, TCP_NODELAY, 1);
  SocketPair::Frames frames;
  pair.note_left(&frames);
  send(l, near, "one", MSG_EOR);
  send(l, near, "two", MSG_EOR | MSG_MORE);
  send(l, near, "and");
  send(l, near, "more");
  pass();
  EXPECT_EQ(texts_of(frames), "one! two! andmore! ");
  EXPECT_EQ(receive(r, far), "onetwoandmore");
}

// A record ends only with the last part; one that is held back leaves once more data follows.
TEST_F(TransferTest, AMessageIsOneRecord) {
  set(l, near, IPPROTO_TCP, TCP_NODELAY, 1);
  SocketPair::Frames frames;
  pair.note_left(&frames);
  set(l, near, IPPROTO_TCP, TCP_CORK, 1);
  char first[] = "part";
  char second[] = "ition";
  iovec parts[] = {{first, 4}, {second, 5}, {nullptr, 0}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 3;
  EXPECT_EQ(lockstep_sendmsg(l, near, &message, MSG_EOR), 9);
  pass();
  EXPECT_EQ(texts_of(frames), "");
  EXPECT_EQ(lockstep_sendmsg(l, near, &message, MSG_EOR), 9);
  pass();
  EXPECT_EQ(texts_of(frames), "partition! ");
  set(l, near, IPPROTO_TCP, TCP_CORK, 0);
  pass();
  EXPECT_EQ(texts_of(frames), "partition! partition! ");
}

// Each record takes a whole block, however small it is, as Linux charges for whole buffers.
TEST_F(TransferTest, EachRecordTakesABlock) {
  set(l, near, SOL_SOCKET, SO_SNDBUF, 4096);
  EXPECT_EQ(send(l, near, "one", MSG_EOR), 3);
  EXPECT_EQ(send(l, near, "two", MSG_EOR), 3);
  EXPECT_EQ(outcome(send(l, near, "three", MSG_EOR)), "EAGAIN");
  EXPECT_EQ(ready(l, near), 0);
  pass(Duration::milliseconds(100));
  EXPECT_EQ(ready(l, near), out);
  EXPECT_EQ(outcome(send(l, near, "three", MSG_EOR)), "5");
}

TEST_F(TransferTest, Vectors) {
  char first[] = "one";
  char second[] = "two";
  iovec const parts[] = {{first, 3}, {nullptr, 0}, {second, 3}};
  EXPECT_EQ(lockstep_writev(l, near, parts, 3), 6);
  pass();
  char a[4] = {};
  char b[8] = {};
  iovec const into[] = {{a, 2}, {b, 7}};
  EXPECT_EQ(lockstep_readv(r, far, into, 2), 6);
  EXPECT_STREQ(a, "on");
  EXPECT_STREQ(b, "etwo");
  EXPECT_EQ(outcome(lockstep_readv(r, far, into, 2)), "EAGAIN");
}

TEST_F(TransferTest, DataBeforeAnEmptyPartIsSentAtOnce) {
  char text[] = "all of it";
  iovec const parts[] = {{text, 9}, {nullptr, 0}};
  EXPECT_EQ(lockstep_writev(l, near, parts, 2), 9);
  pass();
  EXPECT_EQ(receive(r, far), "all of it");
}

TEST_F(TransferTest, OneVectorIsOneSegment) {
  auto const before = pair.left.stack().statistics().tcp.data_segments_out;
  char octet[] = "o";
  std::vector<iovec> const parts(100, iovec{octet, 1});
  EXPECT_EQ(lockstep_writev(l, near, parts.data(), 100), 100);
  pass();
  EXPECT_EQ(pair.left.stack().statistics().tcp.data_segments_out, before + 1);
  EXPECT_EQ(receive(r, far), std::string(100, 'o'));
}

TEST_F(TransferTest, Messages) {
  char text[] = "message";
  iovec part{text, 7};
  msghdr out_message{};
  out_message.msg_iov = &part;
  out_message.msg_iovlen = 1;
  EXPECT_EQ(lockstep_sendmsg(l, near, &out_message, 0), 7);
  pass();
  char heard[16] = {};
  iovec into{heard, sizeof heard};
  sockaddr_in name{};
  msghdr in_message{};
  in_message.msg_iov = &into;
  in_message.msg_iovlen = 1;
  in_message.msg_name = &name;
  in_message.msg_namelen = sizeof name;
  in_message.msg_flags = 0x55;
  EXPECT_EQ(lockstep_recvmsg(r, far, &in_message, 0), 7);
  EXPECT_STREQ(heard, "message");
  EXPECT_EQ(in_message.msg_namelen, 0u);
  EXPECT_EQ(in_message.msg_flags, 0);
}

TEST_F(TransferTest, ReadsStopBeforeTheUrgentOctet) {
  send(l, near, "plain");
  EXPECT_EQ(send(l, near, "x!", MSG_OOB), 2);
  send(l, near, "after");
  EXPECT_FALSE(at_mark());
  pass(Duration::milliseconds(100));
  EXPECT_EQ(ready(r, far), in | out | POLLPRI);
  EXPECT_EQ(receive(r, far), "plainx");
  EXPECT_TRUE(at_mark());
  EXPECT_EQ(ready(r, far), in | out | POLLPRI);
  EXPECT_EQ(receive(r, far), "!after");
  EXPECT_FALSE(at_mark());
  EXPECT_EQ(ready(r, far), out);
}

PairOf urgent_apart_on_the_right() {
  PairOf of;
  of.right.tcp.urgent_apart = true;
  return of;
}

class UrgentApartTest : public Kit {
 protected:
  UrgentApartTest() : Kit(urgent_apart_on_the_right()) {}
  void SetUp() override { join(); }
  int asked(unsigned long request) const {
    int value = -1;
    EXPECT_EQ(lockstep_ioctl(r, far, request, &value), 0);
    return value;
  }
  // "plain", then "x!" with the pointer behind it, then "after".
  void send_urgent() {
    send(l, near, "plain");
    EXPECT_EQ(send(l, near, "x!", MSG_OOB), 2);
    send(l, near, "after");
    pass(Duration::milliseconds(100));
  }
};

TEST_F(UrgentApartTest, ReadsSkipTheOctetAndMsgOobGivesIt) {
  EXPECT_EQ(option(r, far, SOL_SOCKET, SO_OOBINLINE), 0);
  EXPECT_EQ(receive(r, far, 9, MSG_OOB), "EINVAL");
  send_urgent();
  EXPECT_EQ(ready(r, far), in | out | POLLPRI);
  EXPECT_EQ(asked(SIOCINQ), 6);
  EXPECT_EQ(receive(r, far), "plainx");
  EXPECT_EQ(asked(SIOCATMARK), 1);
  EXPECT_EQ(asked(SIOCINQ), 0);
  EXPECT_EQ(receive(r, far, 0), "");
  EXPECT_EQ(receive(r, far, 9, MSG_OOB | MSG_PEEK), "!");
  EXPECT_EQ(receive(r, far, 9, MSG_OOB), "!");
  EXPECT_EQ(receive(r, far, 9, MSG_OOB), "EINVAL");
  EXPECT_EQ(ready(r, far), in | out);
  EXPECT_EQ(receive(r, far, 9, MSG_PEEK), "after");
  EXPECT_EQ(receive(r, far), "after");
  EXPECT_EQ(asked(SIOCATMARK), 0);
  EXPECT_EQ(ready(r, far), out);
}

TEST_F(UrgentApartTest, NothingIsReadableWhenOnlyTheOctetIsThere) {
  EXPECT_EQ(send(l, near, "!", MSG_OOB), 1);
  pass(Duration::milliseconds(100));
  EXPECT_EQ(ready(r, far), out | POLLPRI);
  EXPECT_EQ(receive(r, far), "EAGAIN");
  EXPECT_EQ(receive(r, far, 9, MSG_OOB), "EINVAL");  // the read has passed it
  EXPECT_EQ(ready(r, far), out);
}

TEST_F(UrgentApartTest, WithSoOobinlineTheOctetIsInTheStream) {
  EXPECT_EQ(set(r, far, SOL_SOCKET, SO_OOBINLINE, 1), 0);
  send_urgent();
  EXPECT_EQ(receive(r, far), "plainx");
  EXPECT_EQ(ready(r, far), in | out | POLLPRI);
  EXPECT_EQ(receive(r, far, 9, MSG_OOB), "EINVAL");
  EXPECT_EQ(receive(r, far), "!after");
}

TEST_F(UrgentApartTest, AcceptedSocketsHaveTheListenersSetting) {
  EXPECT_EQ(set(r, listener, SOL_SOCKET, SO_OOBINLINE, 1), 0);
  int const other = make(l);
  EXPECT_EQ(outcome(connect(l, other, name4(2, port))), "EINPROGRESS");
  pass();
  int const accepted = lockstep_accept(r, listener, nullptr, nullptr);
  ASSERT_GE(accepted, 0);
  EXPECT_EQ(option(r, accepted, SOL_SOCKET, SO_OOBINLINE), 1);
}

TEST_F(TransferTest, ReadsAfterTheEnd) {
  send(l, near, "end");
  EXPECT_EQ(lockstep_close(l, near), 0);
  pass();
  EXPECT_EQ(lockstep_close(r, listener), 0);
  EXPECT_EQ(receive(r, far), "end");
  EXPECT_EQ(receive(r, far), "");
  EXPECT_EQ(lockstep_shutdown(r, far, SHUT_WR), 0);
  pass();
  EXPECT_EQ(receive(r, far), "");
  EXPECT_EQ(error_of(r, far), "0");
  EXPECT_EQ(outcome(send(r, far, "x")), "EPIPE");
}

TEST_F(TransferTest, AWriteAfterThePeerHasGoneDrawsAReset) {
  EXPECT_EQ(lockstep_close(l, near), 0);
  pass();
  EXPECT_EQ(send(r, far, "too late"), 8);
  pass();
  EXPECT_EQ(error_of(r, far), "EPIPE");
  EXPECT_EQ(outcome(send(r, far, "x")), "EPIPE");
}

TEST_F(TransferTest, DisconnectingResetsASocket) {
  sockaddr unspecified{};
  unspecified.sa_family = AF_UNSPEC;
  EXPECT_EQ(lockstep_connect(l, near, &unspecified, sizeof unspecified), 0);
  EXPECT_EQ(ready(l, near), out | POLLHUP);
  pass();
  EXPECT_EQ(receive(r, far), "ECONNRESET");
  EXPECT_EQ(outcome(connect(l, near, name4(2, port))), "EINPROGRESS");
  pass();
  EXPECT_EQ(ready(l, near), out);
}

TEST_F(TransferTest, AProgramCanRunInTheTurn) {
  // A program that echoes from within the turns of its stack.
  struct Program {
    int fd;
    int turns;
  } program{far, 0};
  auto const echo = [](lockstep_sockets* s, void* user) {
    auto* const self = static_cast<Program*>(user);
    ++self->turns;
    char text[64];
    ssize_t const got = lockstep_recv(s, self->fd, text, sizeof text, 0);
    if (got > 0) {
      EXPECT_EQ(lockstep_send(s, self->fd, text, static_cast<std::size_t>(got), 0), got);
    }
  };
  lockstep_on_turn(r, echo, &program);
  send(l, near, "round trip");
  pass();
  EXPECT_EQ(receive(l, near), "round trip");
  // It can ask to be woken; a run of an idle pair has one turn at its start and one at its end.
  pass(Duration::seconds(1));
  program.turns = 0;
  pass(Duration::seconds(3));
  EXPECT_EQ(program.turns, 2);
  lockstep_wake_at(r, lockstep_now(r) + 1'000'000'000);
  program.turns = 0;
  pass(Duration::seconds(3));
  EXPECT_EQ(program.turns, 3);
  lockstep_on_turn(r, nullptr, nullptr);
}

}  // namespace
}  // namespace lockstep::tools::testing
