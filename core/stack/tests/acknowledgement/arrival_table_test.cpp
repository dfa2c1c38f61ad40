// Every kind of segment at every position relative to the window in every state: RFC 9293's rules.
#include <gtest/gtest.h>

#include <string>

#include "core/stack/testing/test_kit.hpp"
#include "core/tcp/state.hpp"

namespace lockstep::testing {
namespace {

using tcp::ResetPolicy;

enum class Place { before, left, inside, right, after };
enum class Ack { none, una, nxt, future, ancient };

struct Kind {
  const char* name;
  Flags flags;  // without ACK
  bool has_ack;
  std::uint32_t data;
};

constexpr std::array kinds{
    Kind{"SYN", flag::syn, false, 0},
    Kind{"SYN,ACK", flag::syn, true, 0},
    Kind{"ACK", flag::none, true, 0},
    Kind{"RST", flag::rst, false, 0},
    Kind{"RST,ACK", flag::rst, true, 0},
    Kind{"FIN", flag::fin, false, 0},
    Kind{"FIN,ACK", flag::fin, true, 0},
    Kind{"data", flag::none, true, 10},
    Kind{"data,FIN", flag::fin, true, 10},
    Kind{"bare data", flag::none, false, 10},
    Kind{"SYN,RST", flag::syn | flag::rst, false, 0},
};

// One case of the table, in the kit's relative numbers.
struct Cell {
  State state;
  Kind kind;
  ResetPolicy policy;
  std::uint32_t seq = 0;
  std::uint32_t ack = 0;
  std::uint32_t length = 0;  // SEG.LEN
  std::uint32_t nxt = 0;     // RCV.NXT
  std::uint32_t wnd = 0;     // RCV.WND
  std::uint32_t una = 0;     // SND.UNA
  std::uint32_t next = 0;    // SND.NXT

  bool has(Flags flags) const { return kind.flags.any_of(flags); }
  bool after_fin() const {
    return state == State::close_wait || state == State::closing || state == State::last_ack ||
           state == State::time_wait;
  }
  bool in_window(std::uint32_t number) const { return number - nxt < wnd; }
};

struct Answer {
  std::string reply;
  State state;
  bool operator==(const Answer&) const = default;
};

std::string number(std::uint32_t value) { return std::to_string(value); }

// <SEQ=SND.NXT><ACK=RCV.NXT><CTL=ACK>
std::string ack_of(const Cell& cell) {
  return "A " + number(cell.next) + "(0) ack " + number(cell.nxt);
}

// <SEQ=SEG.ACK><CTL=RST>, or <SEQ=0><ACK=SEG.SEQ+SEG.LEN><CTL=RST,ACK>
std::string reset_of(const Cell& cell) {
  return cell.kind.has_ack ? "R " + number(cell.ack)
                           : "RA zero ack " + number(cell.seq + cell.length);
}

// 3.10.7.1
Answer in_closed(const Cell& cell) {
  return {cell.has(flag::rst) ? "" : reset_of(cell), State::closed};
}

// 3.10.7.2
Answer in_listen(const Cell& cell) {
  if (cell.has(flag::rst)) {
    return {"", State::listen};
  }
  if (cell.kind.has_ack) {
    return {reset_of(cell), State::listen};
  }
  if (cell.has(flag::syn)) {
    return {"SA 0(0) ack " + number(cell.seq + 1), State::syn_received};
  }
  return {"", State::listen};
}

// 3.10.7.3
Answer in_syn_sent(const Cell& cell) {
  bool const acceptable = cell.kind.has_ack && cell.ack == 1;
  if (cell.kind.has_ack && !acceptable) {
    return {cell.has(flag::rst) ? "" : reset_of(cell), State::syn_sent};
  }
  if (cell.has(flag::rst)) {
    return {"", acceptable ? State::closed : State::syn_sent};
  }
  if (!cell.has(flag::syn)) {
    return {"", State::syn_sent};
  }
  if (acceptable) {
    return {"A 1(0) ack " + number(cell.seq + 1), State::established};
  }
  return {"SA 0(0) ack " + number(cell.seq + 1), State::syn_received};
}

// 3.10.7.4, the first step.
bool acceptable(const Cell& cell) {
  std::uint32_t const last = cell.seq + cell.length - 1;
  if (cell.length == 0) {
    return cell.in_window(cell.seq);
  }
  return cell.in_window(cell.seq) || cell.in_window(last);
}

// 3.10.7.4 from the seventh step on, in `state` after the fifth.
Answer data_and_fin(const Cell& cell, State state) {
  bool const open =
      state == State::established || state == State::fin_wait_1 || state == State::fin_wait_2;
  bool const fin = cell.has(flag::fin);
  if (!open || (cell.kind.data == 0 && !fin)) {
    return {"", state};
  }
  bool const in_order = static_cast<std::int32_t>(cell.seq - cell.nxt) <= 0;
  if (!in_order) {
    return {ack_of(cell), state};  // a duplicate ACK; the data is stored
  }
  if (!fin) {
    return {"", state};  // the ACK is delayed
  }
  Cell after = cell;
  after.nxt = cell.seq + cell.length;
  State const to = state == State::established  ? State::close_wait
                   : state == State::fin_wait_1 ? State::closing
                                                : State::time_wait;
  return {ack_of(after), to};
}

// 3.10.7.4, the fifth step.
Answer ack_and_data(const Cell& cell) {
  std::int32_t const beyond = static_cast<std::int32_t>(cell.ack - cell.next);
  bool const acks_all = cell.ack == cell.next && cell.una != cell.next;
  if (cell.state == State::syn_received) {
    return cell.ack == 1 ? data_and_fin(cell, State::established)
                         : Answer{reset_of(cell), State::syn_received};
  }
  if (beyond > 0) {
    return {ack_of(cell), cell.state};
  }
  bool const ancient = static_cast<std::int32_t>(cell.ack - (cell.una - 65535)) < 0;
  if (ancient && cell.policy == ResetPolicy::rfc5961) {
    return {ack_of(cell), cell.state};
  }
  if (acks_all && cell.state == State::last_ack) {
    return {"", State::closed};
  }
  if (acks_all && cell.state == State::closing) {
    return {"", State::time_wait};
  }
  return data_and_fin(cell, acks_all ? State::fin_wait_2 : cell.state);
}

// 3.10.7.4
Answer in_all_others(const Cell& cell) {
  // Figure 7 and a retransmitted SYN: it has its own number, RCV.NXT - 1.
  if (cell.state == State::syn_received && cell.has(flag::syn) && !cell.has(flag::rst) &&
      cell.seq == 0) {
    return cell.kind.has_ack && cell.ack == 1 ? Answer{"", State::established}
                                              : Answer{"SA 0(0) ack 1", State::syn_received};
  }
  // MAY-2: a SYN above the old connection's last number reopens TIME-WAIT.
  bool const reopens = cell.state == State::time_wait && cell.has(flag::syn) &&
                       !cell.has(flag::rst) && !cell.kind.has_ack &&
                       static_cast<std::int32_t>(cell.seq - cell.nxt) > 0;
  if (reopens) {
    return {"SA 0(0) ack " + number(cell.seq + 1), State::syn_received};
  }
  if (!acceptable(cell)) {
    return {cell.has(flag::rst) ? "" : ack_of(cell), cell.state};
  }
  if (cell.has(flag::rst)) {
    if (cell.seq == cell.nxt) {
      return {"", State::closed};
    }
    if (!cell.in_window(cell.seq)) {
      return {"", cell.state};
    }
    return cell.policy == ResetPolicy::rfc793 ? Answer{"", State::closed}
                                              : Answer{ack_of(cell), cell.state};
  }
  if (cell.has(flag::syn)) {
    if (cell.state == State::syn_received) {
      return {"", State::closed};  // back to LISTEN
    }
    return cell.policy == ResetPolicy::rfc793 ? Answer{reset_of(cell), State::closed}
                                              : Answer{ack_of(cell), cell.state};
  }
  if (!cell.kind.has_ack) {
    return {"", cell.state};
  }
  return ack_and_data(cell);
}

Answer by_the_data(const Cell& cell) {
  switch (cell.state) {
    case State::closed:
      return in_closed(cell);
    case State::listen:
      return in_listen(cell);
    case State::syn_sent:
      return in_syn_sent(cell);
    default:
      return in_all_others(cell);
  }
}

void reach(Kit& kit, State state) {
  if (state == State::listen) {
    kit.listen();
  } else if (state != State::closed) {
    kit.socket_in(state);
  }
}

Cell cell_of(State state, const Kind& kind, ResetPolicy policy) {
  Cell cell{state, kind, policy};
  bool const before_syn = state <= State::syn_sent;
  bool const ours_closed =
      state == State::fin_wait_1 || state == State::closing || state == State::last_ack;
  bool const fin_acked = state == State::fin_wait_2 || state == State::time_wait;
  cell.nxt = before_syn ? 0 : cell.after_fin() ? 2 : 1;
  cell.wnd = 65535u - (cell.after_fin() ? 1u : 0u);
  cell.next = state < State::syn_sent ? 0 : ours_closed || fin_acked ? 2 : 1;
  cell.una = fin_acked ? 2 : state <= State::syn_received ? 0 : 1;
  cell.length = kind.data + (kind.flags.syn() ? 1 : 0) + (kind.flags.fin() ? 1 : 0);
  return cell;
}

void place(Cell& cell, Place place, Ack ack) {
  constexpr std::array<std::int64_t, 5> offsets{-1, 0, 100, 65534, 65535};
  std::int64_t const offset = offsets[static_cast<std::size_t>(place)];
  bool const narrow = cell.wnd == 65534 && offset >= 65534;
  cell.seq = cell.nxt + static_cast<std::uint32_t>(offset - (narrow ? 1 : 0));
  switch (ack) {
    case Ack::none:
      break;
    case Ack::una:
      cell.ack = cell.una;
      break;
    case Ack::nxt:
      cell.ack = cell.next;
      break;
    case Ack::future:
      cell.ack = cell.next + 1;
      break;
    case Ack::ancient:
      cell.ack = cell.una - 65536;
      break;
  }
}

std::string replies(Kit& kit) {
  std::string data;
  for (Out const& out : kit.take()) {
    data += data.empty() ? "" : "; ";
    if (!out.flags.rst()) {
      data += line(out);
    } else if (out.flags.ack()) {
      data += "RA " + (out.absolute.value == 0 ? std::string("zero") : number(out.seq)) + " ack " +
              number(out.ack);
    } else {
      data += "R " + number(out.seq);
    }
  }
  return data;
}

State reached(const Kit& kit) { return kit.stack.state_of(kit.tuple()); }

// After the connection ended the listener still exists: LISTEN and CLOSED are equivalent here.
State without_listener(State state) { return state == State::listen ? State::closed : state; }

void check(const Cell& cell) {
  Config config = kit_config();
  config.tcp.blocks_max = Count{64};
  config.tcp.reset_policy = cell.policy;
  Kit kit(config);
  reach(kit, cell.state);
  ASSERT_EQ(reached(kit), cell.state);
  Flags const flags = cell.kind.has_ack ? cell.kind.flags | flag::ack : cell.kind.flags;
  kit.deliver({.flags = flags,
               .seq = cell.seq,
               .ack = cell.ack,
               .data = std::string(cell.kind.data, 'x'),
               .mss = cell.kind.flags.syn() ? std::uint16_t{1460} : std::uint16_t{0}});
  Answer expected = by_the_data(cell);
  Answer got{replies(kit), reached(kit)};
  if (cell.state != State::listen) {
    got.state = without_listener(got.state);
  }
  EXPECT_EQ(got.reply, expected.reply);
  EXPECT_EQ(name_of(got.state), name_of(expected.state));
}

void check_state(State state, ResetPolicy policy) {
  for (Kind const& kind : kinds) {
    for (Place where : {Place::before, Place::left, Place::inside, Place::right, Place::after}) {
      for (Ack ack : {Ack::none, Ack::una, Ack::nxt, Ack::future, Ack::ancient}) {
        if (kind.has_ack == (ack == Ack::none)) {
          continue;
        }
        Cell cell = cell_of(state, kind, policy);
        place(cell, where, ack);
        SCOPED_TRACE(std::string(name_of(state)) + " meets " + kind.name + " seq " +
                     number(cell.seq) + " ack " + number(cell.ack));
        check(cell);
      }
    }
  }
}

constexpr std::array all_states{State::closed,       State::listen,      State::syn_sent,
                                State::syn_received, State::established, State::fin_wait_1,
                                State::fin_wait_2,   State::close_wait,  State::closing,
                                State::last_ack,     State::time_wait};

class ArrivalTable : public ::testing::TestWithParam<State> {};

//= rfc9293#3.10.7.4
//= type=test
//# 9293:P-ACCEPT-TEST, 9293:P-ACCEPT-REPLY, 9293:P-RST-OUT, 9293:P-RST-SYNC the whole table
//# 9293:P-RST-CHALLENGE, 9293:P-RST-CLOSING, 9293:P-SYN-INWIN, 9293:P-SYN-SYNRCVD, 9293:P-ACK-OFF
//# 9293:P-ACK-5961, 9293:P-ACK-FUTURE, 9293:P-SYNRCVD-ACK, 9293:P-FIN-REMAIN, 9293:MAY-12
//= rfc9293#3.10
//= type=test
//# 9293:P-EV-NOSTATE without a specified change the state stays the same
//= rfc9293#3.5.2
//= type=test
//# 9293:P-RST-GRP2, 9293:P-RST-GRP3, 9293:P-RST-WHEN, 9293:P-RST-SEQ when to reset and when to ACK
//= rfc9293#3.3.2
//= type=test
//# 9293:P-FIG5-NOTE3-RCV a valid reset leads from any state to CLOSED
//= rfc5961#3.2
//= type=test
//# 5961:BLIND-1, 5961:BLIND-2, 5961:BLIND-3, 5961:BLIND-4 resets by their position
//= rfc5961#4.2
//= type=test
//# 5961:BLIND-5 a SYN in a synchronized state is answered by an ACK at any position
//= rfc5961#5.2
//= type=test
//# 5961:BLIND-6, 5961:BLIND-9 both ends of the range of ACKs
TEST_P(ArrivalTable, ByRfc5961) { check_state(GetParam(), ResetPolicy::rfc5961); }

//= rfc9293#3.10.7.4
//= type=test
//# 9293:P-SYN-793, 9293:P-SYN-OUTWIN RFC 793's rules for RST and SYN
TEST_P(ArrivalTable, ByRfc793) { check_state(GetParam(), ResetPolicy::rfc793); }

std::string test_name(const ::testing::TestParamInfo<State>& tested) {
  std::string name;
  for (char letter : name_of(tested.param)) {
    name += letter == '-' ? '_' : letter;
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Every, ArrivalTable, ::testing::ValuesIn(all_states), test_name);

// The peer has filled our window, and we have not got the begin of its flight.
//= rfc9293#A.2
//= type=test
//# 9293:P-SEQVAL-A2 the strict sequence test does not block its ACKs
TEST(Arrival, AnAckBehindAFlightThatFillsTheWindowIsProcessed) {
  for (bool const gap : {true, false}) {
    Kit kit;
    kit.socket_in(State::established);
    std::uint32_t const edge = 1 + kit.info().receive.wnd.count;
    if (gap) {
      kit.deliver({.flags = flag::ack, .seq = edge - 100, .ack = 1, .data = std::string(100, 'x')});
    }
    kit.write("data");
    kit.take();
    kit.deliver({.flags = flag::ack, .seq = edge, .ack = 5});
    EXPECT_EQ(replies(kit), gap ? "" : "A 5(0) ack 1");
    EXPECT_EQ(kit.info().send.una == kit.info().send.nxt, gap);
  }
}

// Both sides have filled the other's window, and have room for none of it.
TEST(Arrival, TwoFullFlightsDoNotBlockEachOthersAcks) {
  Kit kit;
  kit.socket_in(State::established);
  std::uint32_t const edge = 1 + kit.info().receive.wnd.count;
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1, .window = 100});
  kit.write(std::string(100, 'x'));
  ASSERT_EQ(replies(kit), "PA 1(100) ack 1");
  kit.write(std::string(100, 'x'));
  ASSERT_EQ(replies(kit), "");
  kit.deliver({.flags = flag::ack, .seq = edge, .ack = 101, .window = 100});
  EXPECT_EQ(replies(kit), "PA 101(100) ack 1");
}

// Before it has completed the handshake, a peer has no flight.
TEST(Arrival, AnAckAtTheRightEdgeCompletesNoHandshake) {
  Kit kit;
  kit.listen();
  kit.deliver({.flags = flag::syn, .window = 100, .mss = 1460});
  kit.take();
  kit.deliver({.flags = flag::ack, .seq = 1 + 65535, .ack = 1});
  EXPECT_EQ(replies(kit), "A 1(0) ack 1");
  EXPECT_EQ(reached(kit), State::syn_received);
}

}  // namespace
}  // namespace lockstep::testing
