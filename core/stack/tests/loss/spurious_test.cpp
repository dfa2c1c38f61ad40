// Spurious recoveries on the wire: Eifel (RFC 3522, 4015), and F-RTO without SACK (RFC 5682).
#include "core/stack/testing/flow_kit.hpp"

namespace lockstep::testing {
namespace {

constexpr Duration ms(std::uint64_t count) { return Duration::milliseconds(count); }

using Blocks = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

struct With {
  bool sack = true;
  bool rack = false;
  bool stamps = true;
  bool on = true;  // undo_by_timestamps
};

Config eifel_config(With with = {}) {
  Config config = flow_config();
  config.tcp.sack = with.sack;
  config.tcp.rack = with.rack;
  config.tcp.timestamps = with.stamps;
  config.tcp.undo_by_timestamps = with.on;
  config.tcp.initial_window = tcp::InitialWindow::rfc6928;
  config.tcp.rto_min = ms(200);
  return config;
}

Config plain_config(bool frto, bool undo) {
  Config config = eifel_config({.sack = false, .stamps = false, .on = false});
  config.tcp.frto = frto;
  config.tcp.undo = undo;
  return config;
}

// An RTT of 100 ms; segments of 1000 octets, ten of them in the first flight.
class Sender : public Flow {
 public:
  explicit Sender(const Config& config, bool stamps = true)
      : Flow(config, {.mss = static_cast<std::uint16_t>(config.tcp.timestamps ? 1012 : 1000),
                      .round_trip = ms(100),
                      .sack = true,
                      .stamp = config.tcp.timestamps && stamps ? 100u : 0u}) {}
  // Ten segments are sent now, or one per millisecond; more data is queued. `first` is the
  // timestamp of the first one.
  void fill(std::uint32_t octets = 40'000) {
    write_octets(octets);
    first = device_stamp;
    EXPECT_EQ(take().size(), 10u);
    advance(ms(100));
  }
  void fill_apart() {
    for (std::uint32_t i = 0; i < 10; ++i) {
      write_octets(1000);
      first = i == 0 ? device_stamp : first;
      advance(ms(1));
    }
    EXPECT_EQ(take().size(), 10u);
    advance(ms(90));
  }
  // An ACK that echoes `echo`; ack() echoes the last timestamp sent.
  void ack_of(std::uint32_t echo, std::uint32_t number) {
    device_stamp = echo;
    ack(number);
  }
  // Duplicates that start a recovery.
  void lose_first() {
    if (info().sack) {
      sack(1, {{1001, 4001}});
    } else {
      duplicates(3);
    }
    advance(ms(10));
    take();
    ASSERT_TRUE(info().fast_recovery);
  }
  std::uint64_t undone() const { return stack.statistics().tcp.recoveries_undone; }
  std::uint64_t spurious() const { return stack.statistics().tcp.spurious_timeouts; }

  std::uint32_t first = 0;
};

//= rfc3522#3.2
//= type=test
//# 3522:EIFD-1, 3522:EIFD-4, 3522:EIFD-6 the first ACK of new data answers the original: undone
//# 3522:EIFD-5 because not all is acknowledged
TEST(Eifel, SpuriousRecovery) {
  for (bool const sack : {false, true}) {
    for (bool const on : {false, true}) {
      Sender sender(eifel_config({.sack = sack, .on = on}));
      sender.fill();
      sender.lose_first();
      sender.ack_of(sender.first, 4001);
      std::string const next = sender.segments();
      EXPECT_EQ(sender.undone(), on ? 1u : 0u);
      EXPECT_EQ(sender.cwnd() >= 10'000, on) << sack;
      EXPECT_EQ(sender.info().fast_recovery, !on) << sack;
      EXPECT_EQ(sender.flight() == 10'000, on) << next;
      EXPECT_EQ(next.find("4001+1000") == 0, !on && !sack) << next;
    }
  }
}

//= rfc3522#3.2
//= type=test
//# 3522:EIFD-4 the ACK answers the retransmission: a real loss, and later ACKs have no effect
TEST(Eifel, RealLoss) {
  for (bool const sack : {false, true}) {
    Sender sender(eifel_config({.sack = sack}));
    sender.fill();
    sender.lose_first();
    sender.ack(4001);
    EXPECT_EQ(sender.undone(), 0u);
    sender.ack_of(sender.first, 5001);
    EXPECT_EQ(sender.undone(), 0u);
    EXPECT_LT(sender.cwnd(), 10'000u);
  }
}

// Without timestamps there is no echo, and other values have no effect.
TEST(Eifel, NothingWithoutTimestamps) {
  for (bool const stamps : {false, true}) {
    Config config = eifel_config({.stamps = stamps});
    config.tcp.timestamps_required = false;
    Sender sender(config);
    sender.fill();
    sender.lose_first();
    sender.stamp = 0;
    sender.ack(4001);
    EXPECT_EQ(sender.undone(), 0u) << stamps;
  }
}

// Section 3.4 with RACK, which stores when each segment was sent: a peer that lacks it must guess.
TEST(Eifel, OnlyTheStampOfTheSegmentItself) {
  for (std::uint32_t const off : {0u, 1u, 5u, 0xffff'ffffu, 0xffff'ff9cu}) {
    Sender sender(eifel_config({.rack = true}));
    sender.fill_apart();
    sender.lose_first();
    sender.ack_of(sender.first + off, 4001);
    EXPECT_EQ(sender.undone(), off == 0 ? 1u : 0u) << off;
  }
}

// Without RACK the echo must at least be of this flight.
TEST(Eifel, NoStampFromBeforeTheFlight) {
  for (std::uint32_t const older : {0u, 1u, 100u}) {
    Sender sender(eifel_config());
    sender.fill();
    sender.lose_first();
    sender.ack_of(sender.first - older, 4001);
    EXPECT_EQ(sender.undone(), older == 0 ? 1u : 0u) << older;
  }
}

//= rfc3522#3.2
//= type=test
//# 3522:EIFD-5 a D-SACK in that ACK: both copies arrived, and timestamps prove nothing
TEST(Eifel, ReportOfADuplicateEndsIt) {
  Sender sender(eifel_config());
  sender.fill();
  sender.lose_first();
  sender.device_stamp = sender.first;
  sender.sack(4001, {{1, 1001}});
  EXPECT_EQ(sender.undone(), 0u);
}

//= rfc3522#3.2
//= type=test
//# 3522:EIFD-5 all is acknowledged: trusted only if the peer has sent D-SACKs before
TEST(Eifel, AllAcknowledged) {
  for (bool const reports : {false, true}) {
    Sender sender(eifel_config());
    sender.fill(10'000);
    if (reports) {
      sender.sack(1, {{0xffff'fff0, 1}});
    }
    sender.lose_first();
    sender.ack_of(sender.first, 10'001);
    EXPECT_EQ(sender.undone(), reports ? 1u : 0u);
  }
}

//= rfc3522#3.2
//= type=test
//# 3522:EIFD-3 after a tail loss probe the original cannot be distinguished
TEST(Eifel, ProbedBefore) {
  Config config = eifel_config({.rack = true});
  config.tcp.tail_probe = true;
  Sender sender(config);
  sender.write_octets(1000);
  sender.take();
  sender.advance(ms(450));
  EXPECT_EQ(sender.segments(), "1+1000");
  std::uint32_t const probe = sender.device_stamp;
  sender.advance(ms(1));
  sender.write_octets(4000);
  sender.advance(ms(96));
  sender.take();
  sender.sack(1, {{1001, 4001}});
  EXPECT_EQ(sender.segments(), "1+1000");
  sender.ack_of(probe, 4001);
  EXPECT_EQ(sender.undone(), 0u);
}

//= rfc4015#3.1
//= type=test
//# 4015:EIFR-3 retransmission stops: new data continues
//# 4015:EIFR-4 cwnd is FlightSize plus what the ACK covered
//= rfc3522#3.2
//= type=test
//# 3522:EIFD-2 a retransmission by a timeout sets RetransmitTS, too
//# 3522:EIFD-6 the timeout was spurious
TEST(Eifel, SpuriousTimeout) {
  for (bool const sack : {false, true}) {
    for (bool const on : {false, true}) {
      Sender sender(eifel_config({.sack = sack, .on = on}));
      sender.fill();
      std::uint32_t const before = sender.ssthresh();
      sender.time_out();
      EXPECT_EQ(sender.segments(), "1+1000");
      sender.ack_of(sender.first, 1001);
      EXPECT_EQ(sender.spurious(), on ? 1u : 0u);
      EXPECT_EQ(sender.segments(), on ? "10001+1000" : "1001+1000 2001+1000") << sack;
      EXPECT_EQ(sender.cwnd(), on ? 10'000u : 2000u);
      EXPECT_EQ(sender.ssthresh() == before, on);
    }
  }
}

//= rfc4015#3.1
//= type=test
//# 4015:EIFR-1 pipe_prev is the flight size, if that is more than ssthresh
//# 4015:EIFR-4 and becomes ssthresh; at most an initial window is sent at once
TEST(Eifel, SpuriousTimeoutInCongestionAvoidance) {
  Sender sender(eifel_config());
  sender.fill(80'000);
  sender.lose_first();
  sender.ack(10'001);
  std::uint32_t const halved = sender.ssthresh();
  std::uint32_t una = 10'001;
  while (sender.cwnd() < halved + 2000) {
    sender.advance(ms(100));
    sender.ack(una += 1000);
  }
  sender.take();
  std::uint32_t const flight = sender.flight();
  ASSERT_GT(flight, halved);
  sender.first = sender.device_stamp;
  sender.time_out();
  sender.take();
  sender.ack_of(sender.first, una + 1000);
  EXPECT_EQ(sender.spurious(), 1u);
  EXPECT_EQ(sender.ssthresh(), flight);
  EXPECT_EQ(sender.cwnd(), flight);
}

//= rfc3522#3.2
//= type=test
//# 3522:EIFD-3 a second timeout of the segment keeps RetransmitTS
//= rfc4015#3.1
//= type=test
//# 4015:EIFR-2 and the stored window
TEST(Eifel, SecondTimeout) {
  for (bool const sack : {false, true}) {
    for (bool const original : {false, true}) {
      Sender sender(eifel_config({.sack = sack}));
      sender.fill();
      sender.time_out();
      std::uint32_t const again = sender.device_stamp;
      sender.time_out();
      EXPECT_EQ(sender.segments(), "1+1000 1+1000");
      sender.ack_of(original ? sender.first : again, 1001);
      EXPECT_EQ(sender.spurious(), original ? 1u : 0u) << sack;
      EXPECT_EQ(sender.cwnd(), original ? 10'000u : 2000u) << sack;
    }
  }
}

//= rfc3522#3.2
//= type=test
//# 3522:EIFD-3 nor does a timeout restart it while losses of another are being repaired
TEST(Eifel, TimeoutWhileRepairing) {
  for (bool const sack : {false, true}) {
    Sender sender(eifel_config({.sack = sack}));
    sender.fill();
    sender.time_out();
    sender.ack(1001);
    sender.time_out();
    sender.take();
    sender.ack_of(sender.first, 2001);
    EXPECT_EQ(sender.spurious(), 0u) << sack;
    EXPECT_EQ(sender.cwnd(), 2000u) << sack;
  }
}

// A timeout in a recovery: the loss that started the recovery may be real.
TEST(Eifel, TimeoutInARecovery) {
  for (bool const sack : {false, true}) {
    Sender sender(eifel_config({.sack = sack}));
    sender.fill();
    sender.lose_first();
    sender.time_out();
    sender.take();
    sender.ack_of(sender.first, 1001);
    EXPECT_EQ(sender.spurious(), 0u) << sack;
    EXPECT_EQ(sender.undone(), 0u) << sack;
    EXPECT_LT(sender.cwnd(), 10'000u) << sack;
  }
}

//= rfc4015#3.4
//= type=test
//# 4015:EIFR-5 the ACK has ECE: nothing more is retransmitted, but cwnd stays reduced
TEST(Eifel, EchoOfAMark) {
  for (bool const timeout : {false, true}) {
    for (bool const marked : {false, true}) {
      Config config = eifel_config({.sack = false});
      config.tcp.ecn = tcp::EcnPolicy::on;
      Kit kit(config);
      kit.stamp = 100;
      kit.listen();
      kit.deliver({.flags = flag::syn | flag::ece | flag::cwr, .mss = 1012});
      kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1});
      kit.advance(ms(10));
      kit.write(std::string(40'000, 'x'));
      std::uint32_t const first = kit.device_stamp;
      kit.advance(timeout ? kit.info().retransmit_due.since(kit.now) : ms(20));
      for (int i = 0; i < (timeout ? 0 : 3); ++i) {
        kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1});
      }
      kit.advance(ms(10));
      kit.device_stamp = first;
      kit.deliver({.flags = marked ? flag::ack | flag::ece : flag::ack, .seq = 1, .ack = 1001});
      auto const& tcp = kit.stack.statistics().tcp;
      EXPECT_EQ(tcp.spurious_timeouts, timeout ? 1u : 0u);
      EXPECT_EQ(tcp.recoveries_undone, timeout || marked ? 0u : 1u);
      EXPECT_EQ(kit.info().cwnd.count >= 10'000, !marked) << timeout;
      // The undo does not prevent the processing of the next ECE.
      kit.deliver({.flags = flag::ack | flag::ece, .seq = 1, .ack = 2001});
      EXPECT_LT(kit.info().cwnd.count, 10'000u) << timeout << marked;
    }
  }
}

//= rfc5681#3.1
//= type=test
//# 5681:CC-11 a loss after it does not raise cwnd to the ssthresh of the timeout
TEST(Eifel, LossAfterAMarkedTimeout) {
  for (bool const sack : {false, true}) {
    Config config = eifel_config({.sack = sack});
    config.tcp.ecn = tcp::EcnPolicy::on;
    Kit kit(config);
    kit.stamp = 100;
    kit.listen();
    kit.deliver({.flags = flag::syn | flag::ece | flag::cwr, .mss = 1012, .sack_permitted = sack});
    kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1});
    kit.advance(ms(10));
    kit.write(std::string(40'000, 'x'));
    std::uint32_t const first = kit.device_stamp;
    kit.advance(kit.info().retransmit_due.since(kit.now));
    kit.advance(ms(10));
    kit.device_stamp = first;
    kit.deliver({.flags = flag::ack | flag::ece, .seq = 1, .ack = 2001});
    ASSERT_EQ(kit.stack.statistics().tcp.spurious_timeouts, 1u);
    std::uint32_t const before = kit.info().cwnd.count;
    ASSERT_LE(before, 3000u);
    for (std::uint32_t end = 4001; end <= 6001; end += 1000) {
      kit.deliver({.flags = flag::ack,
                   .seq = 1,
                   .ack = 2001,
                   .sack = sack ? Blocks{{3001, end}} : Blocks{}});
    }
    EXPECT_TRUE(kit.info().fast_recovery);
    EXPECT_EQ(kit.info().ssthresh.count, 2000u) << sack;
  }
}

//= rfc4015#3.1
//= type=test
//# 4015:EIFR-6 the first sample of new data restarts the estimate, not below the previous one
//# 4015:EIFR-1 SRTT_prev is two clock ticks longer
TEST(Eifel, TimeoutAfterASpuriousOne) {
  for (std::uint64_t const trip : {50u, 300u}) {
    Config config = eifel_config();
    config.tcp.rto_granularity = ms(10);
    Sender sender(config);
    sender.fill();
    Duration const srtt = sender.info().srtt;
    Duration const rttvar = sender.info().rttvar;
    sender.time_out();
    sender.take();
    sender.ack_of(sender.first, 1001);
    EXPECT_EQ(sender.segments(), "10001+1000");
    std::uint32_t const fresh = sender.device_stamp;
    sender.ack_of(sender.first, 10'001);
    Duration const late = sender.info().srtt;
    EXPECT_NE(late, srtt);
    sender.advance(ms(trip));
    sender.ack_of(fresh, 11'001);
    bool const more = ms(trip) > srtt;
    EXPECT_EQ(sender.info().srtt, more ? ms(trip) : srtt + ms(20)) << trip;
    EXPECT_EQ(sender.info().rttvar, more ? ms(trip / 2) : rttvar) << trip;
    EXPECT_EQ(sender.info().rto, sender.info().srtt + sender.info().rttvar * 4) << trip;
  }
}

// Before there is new data the connection becomes idle, and its active part is released.
//= rfc4015#3.1
//= type=test
//# 4015:EIFR-6 however long it takes until there is new data
TEST(Eifel, TimeoutAfterASpuriousOneAndARest) {
  for (std::uint64_t const trip : {50u, 300u}) {
    Config config = eifel_config();
    config.tcp.rto_granularity = ms(10);
    Sender sender(config);
    sender.write_octets(3000);
    sender.first = sender.device_stamp;
    sender.take();
    Duration const srtt = sender.info().srtt;
    Duration const rttvar = sender.info().rttvar;
    sender.time_out();
    sender.take();
    sender.ack_of(sender.first, 1001);
    ASSERT_EQ(sender.spurious(), 1u);
    sender.ack_of(sender.first, 3001);
    ASSERT_EQ(sender.stack.pools().active, 0u);
    sender.advance(ms(5000));
    sender.write_octets(3);
    std::uint32_t const fresh = sender.device_stamp;
    sender.advance(ms(trip));
    sender.ack_of(fresh, 3004);
    bool const more = ms(trip) > srtt;
    EXPECT_EQ(sender.info().srtt, more ? ms(trip) : srtt + ms(20)) << trip;
    EXPECT_EQ(sender.info().rttvar, more ? ms(trip / 2) : rttvar) << trip;
    EXPECT_EQ(sender.info().rto, sender.info().srtt + sender.info().rttvar * 4) << trip;
  }
}

//= rfc5682#2.1
//= type=test
//# 5682:FRTO-1 after a timeout only the first segment is retransmitted
//# 5682:FRTO-4 its ACK permits two new ones
//# 5682:FRTO-7 an ACK of data that was not retransmitted shows that the timeout was spurious
//# 5682:FRTO-3 if it covers the retransmission
TEST(BasicFrto, SpuriousTimeout) {
  for (bool const undo : {false, true}) {
    Sender sender(plain_config(true, undo));
    sender.fill();
    sender.time_out();
    EXPECT_EQ(sender.segments(), "1+1000");
    sender.ack(1001);
    EXPECT_EQ(sender.segments(), "10001+1000 11001+1000");
    sender.ack(2001);
    EXPECT_EQ(sender.spurious(), 1u);
    EXPECT_EQ(sender.segments(), undo ? "12001+1000" : "");
    EXPECT_EQ(sender.cwnd(), undo ? 11'000u : 3000u);
    // Further losses are detected by duplicates at once.
    sender.duplicates(3);
    EXPECT_NE(sender.segments().find(" 2001+1000"), undo ? std::string::npos : 0u);
    EXPECT_TRUE(sender.info().fast_recovery);
  }
}

//= rfc5682#2.1
//= type=test
//# 5682:FRTO-5 the window permits no new data: slow start continues
//= rfc5682#3.1
//= type=test
//# 5682:FRTO-11 with SACK, too
TEST(BasicFrto, AFullWindowPermitsNoNewData) {
  for (bool const sack : {false, true}) {
    Config config = eifel_config({.sack = sack, .stamps = false, .on = false});
    config.tcp.frto = true;
    Sender sender(config);
    sender.ack_with_window(1, 5000);
    sender.write_octets(40'000);
    EXPECT_EQ(sender.take().size(), 5u);
    sender.time_out();
    EXPECT_EQ(sender.segments(), "1+1000");
    sender.ack_with_window(1001, 4000);  // the right edge stays
    EXPECT_EQ(sender.segments(), "1001+1000 2001+1000") << sack;
  }
}

// Without it slow start retransmits all.
TEST(BasicFrto, Off) {
  Sender sender(plain_config(false, true));
  sender.fill();
  sender.time_out();
  EXPECT_EQ(sender.segments(), "1+1000");
  sender.ack(1001);
  EXPECT_EQ(sender.segments(), "1001+1000 2001+1000");
  EXPECT_EQ(sender.spurious(), 0u);
}

//= rfc5682#2.1
//= type=test
//# 5682:FRTO-6 the second ACK is a duplicate: at most three segments, from SND.UNA on
TEST(BasicFrto, TrueTimeout) {
  Sender sender(plain_config(true, true));
  sender.fill();
  sender.time_out();
  sender.take();
  sender.ack(1001);
  EXPECT_EQ(sender.segments(), "10001+1000 11001+1000");
  sender.duplicates(1);
  EXPECT_EQ(sender.segments().substr(0, 19), "1001+1000 2001+1000");
  EXPECT_LE(sender.cwnd(), 3000u);
  EXPECT_EQ(sender.spurious(), 0u);
}

//= rfc5682#2.1
//= type=test
//# 5682:FRTO-3 first ACK a duplicate, of all data, or of part of the segment: no F-RTO
//# 5682:FRTO-5 the same if there is no new data to send
TEST(BasicFrto, InconclusiveFirstAck) {
  struct Row {
    std::uint32_t written;
    bool duplicate;
    std::uint32_t number;
    const char* next;
  };
  for (Row const& row :
       {Row{40'000, true, 1001, "1001+1000 2001+1000"}, Row{40'000, false, 501, "1001+1000"},
        Row{40'000, false, 10'001, "10001+1000 11001+1000"},
        Row{10'000, false, 1001, "1001+1000 2001+1000"}}) {
    Sender sender(plain_config(true, true));
    sender.fill(row.written);
    sender.time_out();
    sender.take();
    sender.duplicates(row.duplicate ? 1 : 0);
    sender.take();
    sender.ack(row.number);
    EXPECT_EQ(sender.segments(), row.next);
    sender.ack(row.number + 1000);
    EXPECT_EQ(sender.spurious(), 0u) << row.next;
  }
}

//= rfc5682#2.1
//= type=test
//# 5682:FRTO-1 a further timeout restarts F-RTO
//# 5682:FRTO-2 but not after an ACK: then slow start continues
TEST(BasicFrto, SecondTimeout) {
  for (bool const moved : {false, true}) {
    Sender sender(plain_config(true, true));
    sender.fill();
    sender.time_out();
    std::uint32_t const una = moved ? 1001 : 1;
    if (moved) {
      sender.ack(una);
    }
    sender.take();
    sender.time_out();
    sender.take();
    sender.ack(una + 1000);
    EXPECT_EQ(sender.segments(), moved ? "2001+1000 3001+1000" : "10001+1000 11001+1000");
    sender.ack(una + 2000);
    EXPECT_EQ(sender.spurious(), moved ? 0u : 1u);
  }
}

//= rfc5682#2.1
//= type=test
//# 5682:FRTO-9 with NewReno also in fast recovery, for which cwnd is not restored
TEST(BasicFrto, InFastRecovery) {
  Sender sender(plain_config(true, true));
  sender.fill();
  sender.lose_first();
  std::uint32_t const halved = sender.ssthresh();
  std::uint32_t const next = 1 + sender.flight();
  sender.time_out();
  EXPECT_EQ(sender.segments(), "1+1000");
  sender.ack(1001);
  EXPECT_EQ(sender.segments(),
            std::to_string(next) + "+1000 " + std::to_string(next + 1000) + "+1000");
  sender.ack(2001);
  EXPECT_EQ(sender.spurious(), 1u);
  EXPECT_EQ(sender.ssthresh(), halved);
  EXPECT_EQ(sender.cwnd(), halved + 1000);
}

//= rfc5682#2.1
//= type=test
//# 5682:FRTO-4 the new data need not be a full segment: Nagle does not hold it
TEST(BasicFrto, LittleNewData) {
  Sender sender(plain_config(true, true));
  sender.fill(10'400);
  sender.time_out();
  sender.take();
  sender.ack(1001);
  EXPECT_EQ(sender.segments(), "10001+400");
}

//= rfc5682#2.1
//= type=test
//# 5682:FRTO-8 data of the peer has no effect
TEST(BasicFrto, OtherSegmentsAreIgnored) {
  Sender sender(plain_config(true, true));
  sender.fill();
  sender.time_out();
  sender.take();
  sender.ack(1001);
  EXPECT_EQ(sender.segments(), "10001+1000 11001+1000");
  sender.data(1, 10);
  sender.data(11, 10);
  EXPECT_EQ(sender.spurious(), 0u);
  sender.peer_next = 21;
  sender.ack(2001);
  EXPECT_EQ(sender.spurious(), 1u);
}

}  // namespace
}  // namespace lockstep::testing
