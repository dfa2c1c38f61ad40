// One run of a script: its clock, its connections, and what was sent so far.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "conformance/script/assertion.hpp"
#include "conformance/script/calls.hpp"
#include "conformance/script/early_acks.hpp"
#include "conformance/script/packet.hpp"
#include "conformance/script/run.hpp"
#include "conformance/script/witness.hpp"

namespace lockstep::conformance::script {

/// Seconds since the start of the script.
std::string time_text(Instant at);

/// Thrown when a run ends with a finding.
struct Stop {};

class Runner {
 public:
  Runner(const Script& script, const Overrides& overrides, Arena& arena, Ran& out);

  void run();
  ~Runner();
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

 private:
  static constexpr std::uint32_t most_steps = 1'000'000;
  struct Waiting {
    const Event* event = nullptr;
    Instant began, due;
  };
  struct Captured {
    Instant at;
    std::vector<std::byte> bytes;
    std::string comment;
    Place place;
    std::uint64_t number = 0;  ///< its number in the witness; 0: not shown
  };

  void read_code(std::size_t at, const Event& event);

  [[noreturn]] void fail(Finding finding);
  /// Without rows: the words say it all.
  [[noreturn]] void fail_at(Place place, const std::string& what);
  void keep_finding();
  void failed();

  void save_capture();

  std::string state_text();

  std::string text_of(const Sent& sent) const;

  /// The connection that the packet belongs to.
  Flow& flow_of(const Packet& packet);

  void keep(const Sent& sent, std::string comment);
  /// Removes the oldest sent packet that was not matched yet.
  void take_front(const Event& event);
  void forget_number();
  std::string where(const Event& event) const;

  // ---- time ----

  void settle();

  Place current() const;

  /// A device does not say when a call that waits may return: one looks when it should.
  Instant next_look() const;

  /// Performs everything up to and including `until`, while more() is true.
  template <class More>
  void pass(Instant until, More more) {
    settle();
    for (std::uint32_t i = 0; i < most_steps && more(); ++i) {
      Instant const stop = earlier(until, next_look());
      if (!world_.advance(stop) && stop >= until) {
        return;
      }
      settle();
    }
  }

  void go_to(Instant at);

  /// The tolerance of an event at this instant.
  Duration tolerance_at(Instant at) const;

  Instant begin_of(const Event& event) const;

  /// Advances the clock to the time of an event of the script.
  void wait_for(const Event& event);

  // ---- packets ----

  /// Fails on a packet sent before `now` that no event of the script can match any more.
  void fail_on_extra(Instant now);

  // ---- ACKs of a device that come early ----

  bool is_early_ack() const;
  void take_early_acks();
  /// Takes early ACKs until something else has been sent, or nothing by `last`. True: the expected
  /// packet was one of them.
  bool pass_early_acks(const Event& event, Instant first, Instant last);

  /// Whether the next packet that the script expects has an open time.
  bool is_expected_later() const;

  [[noreturn]] void fail_extra(const Sent& sent);

  void arrive(const Event& event);

  void note_peer(const Event& event, Flow& flow);
  void inject(const Event& event, std::vector<std::byte> bytes);

  /// As an offload cuts a long segment: FIN and PSH are on the last part.
  void inject_cut(const Event& event, Flow& flow, std::uint32_t most);

  [[noreturn]] void fail_missing(const Event& event, Instant last);

  /// Waits until `last` for a packet that may be of the expected one's connection, and moves it in
  /// front of those of other connections, which are judged in their own order.
  void bring_forward(const Event& event, Instant last);
  /// The place of the first such packet; nullopt: there is none.
  std::optional<std::size_t> first_of(const Flow& flow) const;

  /// Takes the packets that together can match the expected one.
  Live take(const Event& event, Instant first, Instant last);

  void expect(const Event& event);

  // ---- the referee ----

  /// Shows the packets sent since the last call to the witness.
  void show_sent();

  /// The script passed; fails if the referee found that a packet we sent violates an RFC.
  void fail_on_violation();

  // ---- calls ----

  void judge(const Event& event, const Given& given);

  void carry_out(const Event& event);

  void returned(const Given& given);

  void try_waiting();

  // ---- assertions ----

  void check(const Event& event, const std::vector<Assertion>& assertions);

  bool leaves_out() const;

  /// With --lenient, what cannot be carried out becomes a note.
  void step_or_note(const Event& event);

  void step(const Event& event);

  // ---- commands ----

  void command(const Shell& shell);

  /// A script often ends with the commands that set everything back.
  bool only_commands_follow() const;

  void check_states(const StateCheck& one);

  /// An event that --lenient leaves out: its time is that of the events after it.
  void pass_over(const Event& event);

  void finish();

  const Script& script_;
  Plan plan_;
  bool strict_, trailing_, lenient_, exact_, keeps_, cut_;
  std::unique_ptr<World> world_owner_;
  World& world_;
  Flows flows_;
  Caller caller_;
  Ran& out_;
  std::map<std::size_t, std::vector<Assertion>> code_;
  std::size_t at_ = 0;
  Instant base_ = World::origin;
  std::optional<Waiting> waiting_;
  std::vector<Captured> captured_;
  std::optional<Witness> witness_;
  void (*before_referee_)(std::span<std::byte>) = nullptr;
  std::uint64_t shown_ = 0;
  std::uint32_t checked_ = 0;  // events that could have failed
  EarlyAcks early_;
  std::deque<std::uint64_t> numbers_;  // witness numbers of those in world_.sent that were shown
};

}  // namespace lockstep::conformance::script
