// Every action of judge(), from each of the views: a connection, a half-open one, TIME-WAIT.
#include "core/tcp/judge.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace lockstep::tcp {
namespace {

namespace flag = wire::flag;

// Answers that the tests change one by one. RCV.NXT is 1000 and RCV.WND 100; SND.UNA is 500,
// SND.NXT 600, MAX.SND.WND 200.
struct View {
  ReceiveWindow window_{{1000}, {100}};
  Sequence receive_nxt_{1000};
  Sequence send_una_{500};
  Sequence send_nxt_{600};
  Bytes send_wnd_max_{200};
  std::uint32_t ts_recent_ = 70;
  bool ts_recent_outdated_ = false;
  bool timestamps_ = false;
  bool timestamps_required_ = true;
  std::uint32_t timestamps_behind_ = 0;
  bool syn_received_ = false;
  bool passive_ = false;
  ResetPolicy reset_policy_ = ResetPolicy::rfc5961;
  bool time_wait_ = false;
  bool syn_is_new_ = false;
  bool resets_ignored_ = false;
  bool acks_at_edge_ = false;
  bool unsent_answered_ = true;

  ReceiveWindow window() const { return window_; }
  Sequence receive_nxt() const { return receive_nxt_; }
  Sequence send_una() const { return send_una_; }
  Sequence send_nxt() const { return send_nxt_; }
  Bytes send_wnd_max() const { return send_wnd_max_; }
  std::uint32_t ts_recent() const { return ts_recent_; }
  bool ts_recent_outdated() const { return ts_recent_outdated_; }
  bool timestamps() const { return timestamps_; }
  bool timestamps_required() const { return timestamps_required_; }
  std::uint32_t timestamps_behind() const { return timestamps_behind_; }
  bool syn_received() const { return syn_received_; }
  bool passive() const { return passive_; }
  ResetPolicy reset_policy() const { return reset_policy_; }
  bool time_wait() const { return time_wait_; }
  bool syn_is_new() const { return syn_is_new_; }
  bool resets_ignored() const { return resets_ignored_; }
  bool acks_at_edge() const { return acks_at_edge_; }
  bool unsent_answered() const { return unsent_answered_; }
};

View established() { return {}; }

// An active open in SYN-RECEIVED.
View simultaneous() {
  View view = established();
  view.syn_received_ = true;
  return view;
}

// Our SYN has the number 599.
View half_open() {
  View view = established();
  view.syn_received_ = true;
  view.passive_ = true;
  view.send_una_ = {599};
  return view;
}

View time_wait() {
  View view = established();
  view.send_una_ = {600};
  view.time_wait_ = true;
  return view;
}

template <class Change>
View with(View view, Change change) {
  change(view);
  return view;
}

View rfc793(const View& view) {
  return with(view, [](View& v) { v.reset_policy_ = ResetPolicy::rfc793; });
}
View zero_window(const View& view) {
  return with(view, [](View& v) { v.window_.wnd = {}; });
}
View stamped(const View& view) {
  return with(view, [](View& v) { v.timestamps_ = true; });
}

struct Arriving {
  wire::Flags flags = flag::ack;
  std::uint32_t seq = 1000;
  std::uint32_t ack = 600;
  std::size_t bytes = 0;
  int stamp = -1;  // none
};

wire::Segment segment_of(const Arriving& in) {
  static const std::vector<std::byte> octets(200);
  wire::Segment s;
  s.flags = in.flags;
  s.sequence = {in.seq};
  s.acknowledgment = {in.ack};
  s.payload = std::span(octets).first(in.bytes);
  s.options.has_timestamps = in.stamp >= 0;
  s.options.timestamp_value = static_cast<std::uint32_t>(in.stamp);
  return s;
}

std::string_view name_of_action(Action action) {
  constexpr std::array<std::string_view, 10> names{
      "accept",    "accept_fin", "accept_syn",   "drop",       "acknowledge",
      "challenge", "reset",      "end_by_reset", "end_by_syn", "reset_and_end"};
  return names[static_cast<std::uint8_t>(action)];
}

std::string judged(const View& view, const Arriving& in) {
  Disposition const disposition = judge(view, segment_of(in));
  return std::string(name_of_action(disposition.action)) + " " +
         std::string(name_of(disposition.drop));
}

struct Row {
  const char* what;
  View view;
  Arriving in;
  const char* expected;
};

void expect_rows(const std::vector<Row>& rows) {
  for (Row const& row : rows) {
    EXPECT_EQ(judged(row.view, row.in), row.expected) << row.what;
  }
}

// The three views agree wherever nothing is said to the contrary.
TEST(Judge, InOrderSegmentsAreAccepted) {
  for (View const& view : {established(), simultaneous(), half_open(), time_wait()}) {
    expect_rows({
        {"bare", view, {}, "accept none"},
        {"data", view, {.bytes = 10}, "accept none"},
        {"data that begins before the window", view, {.seq = 995, .bytes = 10}, "accept none"},
        {"the last octet of the window", view, {.seq = 1099, .bytes = 10}, "accept none"},
        {"equal timestamp", stamped(view), {.stamp = 70}, "accept none"},
        {"timestamps not negotiated", view, {.stamp = 1}, "accept none"},
    });
  }
}

TEST(Judge, PawsComesBeforeTheSequenceNumber) {
  for (View const& view : {established(), simultaneous(), half_open(), time_wait()}) {
    View const lax = with(stamped(view), [](View& v) { v.timestamps_required_ = false; });
    View const outdated = with(stamped(view), [](View& v) { v.ts_recent_outdated_ = true; });
    expect_rows({
        {"older", stamped(view), {.stamp = 69}, "acknowledge tcp_timestamp_old"},
        {"a tick older, which Config accepts",
         with(stamped(view), [](View& v) { v.timestamps_behind_ = 1; }),
         {.stamp = 69},
         "accept none"},
        {"two ticks older",
         with(stamped(view), [](View& v) { v.timestamps_behind_ = 1; }),
         {.stamp = 68},
         "acknowledge tcp_timestamp_old"},
        {"older, outside", stamped(view), {.seq = 5, .stamp = 69}, "acknowledge tcp_timestamp_old"},
        {"missing", stamped(view), {}, "drop tcp_timestamp_missing"},
        {"missing, not required", lax, {}, "accept none"},
        {"older than an outdated one", outdated, {.stamp = 69}, "accept none"},
        {"a reset is exempt",
         stamped(view),
         {.flags = flag::rst, .stamp = 69},
         "end_by_reset none"},
    });
  }
}

//= rfc5961#4.2
//= type=test
//# 5961:BLIND-5 whatever its sequence number, and without the timestamps that were negotiated
TEST(Judge, ASynWithoutTimestampsIsAnswered) {
  for (View const& view : {established(), simultaneous(), half_open()}) {
    expect_rows({
        {"inside", stamped(view), {.flags = flag::syn}, "challenge tcp_timestamp_missing"},
        {"outside",
         stamped(view),
         {.flags = flag::syn, .seq = 5},
         "challenge tcp_timestamp_missing"},
        {"by RFC 793, outside",
         stamped(rfc793(view)),
         {.flags = flag::syn, .seq = 5},
         "acknowledge tcp_out_of_window"},
    });
  }
  expect_rows({
      {"by RFC 793, inside",
       stamped(rfc793(established())),
       {.flags = flag::syn},
       "reset_and_end tcp_syn_in_window"},
  });
}

TEST(Judge, OutsideOfTheWindowDrawsAnAckUnlessItIsAReset) {
  for (View const& view : {established(), simultaneous(), half_open(), time_wait()}) {
    expect_rows({
        {"before", view, {.seq = 999}, "acknowledge tcp_out_of_window"},
        {"data before", view, {.seq = 990, .bytes = 10}, "acknowledge tcp_out_of_window"},
        {"behind", view, {.seq = 1100}, "acknowledge tcp_out_of_window"},
        {"SYN", view, {.flags = flag::syn, .seq = 1100}, "acknowledge tcp_out_of_window"},
        {"reset before", view, {.flags = flag::rst, .seq = 999}, "drop tcp_reset_outside"},
        {"reset behind", view, {.flags = flag::rst, .seq = 1100}, "drop tcp_reset_outside"},
        {"reset with data that reaches into the window",
         view,
         {.flags = flag::rst, .seq = 995, .bytes = 10},
         "drop tcp_reset_outside"},
    });
  }
}

TEST(Judge, ResetsEndOrAreChallenged) {
  for (View const& view : {established(), simultaneous(), half_open(), time_wait()}) {
    expect_rows({
        {"exact", view, {.flags = flag::rst}, "end_by_reset none"},
        {"inside", view, {.flags = flag::rst, .seq = 1001}, "challenge tcp_reset_challenged"},
        {"inside, RFC 793", rfc793(view), {.flags = flag::rst, .seq = 1001}, "end_by_reset none"},
        {"with SYN", view, {.flags = flag::rst | flag::syn}, "end_by_reset none"},
        {"exact, zero window",
         zero_window(view),
         {.flags = flag::rst, .bytes = 1},
         "end_by_reset none"},
    });
  }
  // The peer knows of IRS + 1 only, but data on its SYN may be acknowledged already.
  View const behind = with(half_open(), [](View& v) { v.receive_nxt_ = {1010}; });
  expect_rows({{"at IRS + 1", behind, {.flags = flag::rst}, "end_by_reset none"},
               {"at RCV.NXT", behind, {.flags = flag::rst, .seq = 1010}, "end_by_reset none"}});
}

TEST(Judge, SynInTheWindow) {
  wire::Flags const syn = flag::syn;
  expect_rows({
      {"established", established(), {.flags = syn}, "challenge tcp_syn_challenged"},
      {"active open", simultaneous(), {.flags = syn}, "challenge tcp_syn_challenged"},
      {"passive open", half_open(), {.flags = syn}, "end_by_syn tcp_syn_received_syn"},
      {"TIME-WAIT", time_wait(), {.flags = syn}, "challenge tcp_syn_challenged"},
      {"RFC 793", rfc793(established()), {.flags = syn}, "reset_and_end tcp_syn_in_window"},
      {"RFC 793, active",
       rfc793(simultaneous()),
       {.flags = syn},
       "reset_and_end tcp_syn_in_window"},
      {"RFC 793, passive", rfc793(half_open()), {.flags = syn}, "end_by_syn tcp_syn_received_syn"},
      {"RFC 793, TIME-WAIT",
       rfc793(time_wait()),
       {.flags = syn},
       "reset_and_end tcp_syn_in_window"},
  });
}

// Each of the two alone, as FreeBSD's insecure_rst and insecure_syn.
TEST(Judge, ResetsOrSynsAloneByRfc5961) {
  const auto by = [](ResetPolicy policy) {
    return with(established(), [policy](View& v) { v.reset_policy_ = policy; });
  };
  View const resets = by(ResetPolicy::rfc5961_reset);
  View const syns = by(ResetPolicy::rfc5961_syn);
  expect_rows({
      {"resets", resets, {.flags = flag::rst, .seq = 1001}, "challenge tcp_reset_challenged"},
      {"resets", resets, {.flags = flag::syn}, "reset_and_end tcp_syn_in_window"},
      {"SYNs", syns, {.flags = flag::rst, .seq = 1001}, "end_by_reset none"},
      {"SYNs", syns, {.flags = flag::syn}, "challenge tcp_syn_challenged"},
  });
}

TEST(Judge, TheAckField) {
  for (View const& view : {established(), simultaneous(), half_open(), time_wait()}) {
    expect_rows({{"none", view, {.flags = flag::none}, "drop tcp_no_ack"}});
  }
  for (View const& view : {simultaneous(), half_open()}) {
    expect_rows({
        {"of nothing new", view, {.ack = view.send_una_.value}, "reset tcp_syn_received_ack"},
        {"of what was never sent", view, {.ack = 601}, "reset tcp_syn_received_ack"},
    });
  }
  for (View const& view : {established(), time_wait()}) {
    std::uint32_t const oldest = view.send_una_.value - 200;
    expect_rows({
        {"of what was never sent", view, {.ack = 601}, "challenge tcp_ack_of_unsent"},
        {"the same, unanswered",
         with(view, [](View& v) { v.unsent_answered_ = false; }),
         {.ack = 601},
         "drop tcp_ack_of_unsent"},
        {"the oldest", view, {.ack = oldest}, "accept none"},
        {"older", view, {.ack = oldest - 1}, "challenge tcp_ack_too_old"},
        {"older, RFC 793", rfc793(view), {.ack = oldest - 1}, "accept none"},
    });
  }
}

TEST(Judge, AZeroWindowHasExceptionsButNotInTimeWait) {
  for (View const& view : {established(), simultaneous(), half_open()}) {
    expect_rows({
        {"an ACK", zero_window(view), {}, "accept none"},
        {"an ACK with data", zero_window(view), {.bytes = 1}, "accept none"},
        {"an ACK behind a probe", zero_window(view), {.seq = 1001}, "accept none"},
        {"data behind it",
         zero_window(view),
         {.seq = 1001, .bytes = 1},
         "acknowledge tcp_out_of_window"},
        {"further behind", zero_window(view), {.seq = 1002}, "acknowledge tcp_out_of_window"},
    });
  }
  View const view = zero_window(time_wait());
  expect_rows({
      {"an ACK", view, {}, "accept none"},
      {"data", view, {.bytes = 1}, "acknowledge tcp_out_of_window"},
      {"an ACK behind a probe", view, {.seq = 1001}, "acknowledge tcp_out_of_window"},
  });
}

//= rfc9293#A.2
//= type=test
//# 9293:P-SEQVAL-A2 an ACK behind a flight that fills the window
TEST(Judge, AnAckAtTheRightEdgePassesWhereThePeersFlightMayReachIt) {
  auto const flight = [](View& v) { v.acks_at_edge_ = true; };
  View const view = with(established(), flight);
  expect_rows({
      {"an ACK", view, {.seq = 1100}, "accept none"},
      {"data", view, {.seq = 1100, .bytes = 1}, "acknowledge tcp_out_of_window"},
      {"further behind", view, {.seq = 1101}, "acknowledge tcp_out_of_window"},
      {"reset", view, {.flags = flag::rst, .seq = 1100}, "drop tcp_reset_outside"},
      {"SYN", view, {.flags = flag::syn, .seq = 1100}, "acknowledge tcp_out_of_window"},
  });
}

TEST(Judge, TheAckOfOurSynMayFollowDataThatFillsTheWindow) {
  auto const full = [](View& v) { v.receive_nxt_ = {1100}; };
  expect_rows({
      {"active", with(simultaneous(), full), {.seq = 1100}, "accept none"},
      {"passive", with(half_open(), full), {.seq = 1100}, "accept none"},
      {"later states", with(established(), full), {.seq = 1100}, "acknowledge tcp_out_of_window"},
  });
}

TEST(Judge, TimeWaitAcceptsTheFinAgain) {
  wire::Flags const fin = flag::fin | flag::ack;
  expect_rows({
      {"FIN", time_wait(), {.flags = fin, .seq = 999}, "accept_fin none"},
      {"FIN with data", time_wait(), {.flags = fin, .seq = 989, .bytes = 10}, "accept_fin none"},
      {"older FIN",
       stamped(time_wait()),
       {.flags = fin, .seq = 999, .stamp = 69},
       "acknowledge tcp_timestamp_old"},
      {"FIN without ACK",
       time_wait(),
       {.flags = flag::fin, .seq = 999},
       "acknowledge tcp_out_of_window"},
      {"other states", established(), {.flags = fin, .seq = 999}, "acknowledge tcp_out_of_window"},
  });
}

TEST(Judge, TimeWaitJudgesASynByItsNumberAlone) {
  View const reopens = with(time_wait(), [](View& v) { v.syn_is_new_ = true; });
  wire::Flags const syn = flag::syn;
  expect_rows({
      {"new", reopens, {.flags = syn, .seq = 5000}, "accept_syn none"},
      {"no SYN", reopens, {}, "accept none"},
      {"reset", reopens, {.flags = syn | flag::rst, .seq = 5000}, "drop tcp_reset_outside"},
      {"old timestamp",
       stamped(time_wait()),
       {.flags = syn, .stamp = 69},
       "challenge tcp_syn_challenged"},
      {"last octet in the window",
       time_wait(),
       {.flags = syn, .seq = 999, .bytes = 10},
       "acknowledge tcp_out_of_window"},
      {"the same, later states",
       established(),
       {.flags = syn, .seq = 999, .bytes = 10},
       "challenge tcp_syn_challenged"},
      {"SYN and FIN",
       time_wait(),
       {.flags = syn | flag::fin | flag::ack, .seq = 998},
       "acknowledge tcp_out_of_window"},
  });
}

TEST(Judge, TimeWaitMayIgnoreResets) {
  View const view = with(time_wait(), [](View& v) { v.resets_ignored_ = true; });
  expect_rows({
      {"exact", view, {.flags = flag::rst}, "drop tcp_reset_time_wait"},
      {"inside", view, {.flags = flag::rst, .seq = 1001}, "drop tcp_reset_time_wait"},
      {"outside", view, {.flags = flag::rst, .seq = 1100}, "drop tcp_reset_outside"},
  });
}

}  // namespace
}  // namespace lockstep::tcp
