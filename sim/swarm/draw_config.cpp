// Draws host configurations: mostly sane, often at a limit of what is allowed.
#include "sim/swarm/draw_parts.hpp"
#include "sim/worlds/build.hpp"

namespace lockstep::sim {
namespace {

constexpr Duration seconds(std::uint64_t count) { return Duration::seconds(count); }

HashKey draw_key(Dice& dice) { return {dice.word(), dice.word()}; }

void draw_turns(Dice& dice, Config& config) {
  if (dice.percent(40)) {
    config.burst_frames = {dice.pick({1u, 2u, 7u, 64u, 256u})};
    config.expire_max = {dice.pick({1u, 2u, 64u})};
    config.events_per_turn = {dice.pick({1u, 2u, 16u, 256u})};
    config.frames_per_turn = {dice.pick({1u, 2u, 16u, 64u})};
  }
  config.regions_max = {dice.pick({0u, 1u, 16u})};
  config.reply_bytes = {dice.pick({4'096u, 32'768u})};
  config.neighbours_max = {dice.pick({2u, 8u, 64u})};
  config.neighbour_reachable = dice.pick({ms(500), seconds(5), seconds(60)});
  // All tries together take longer than any round trip: a reply that arrives after the entry has
  // expired is ignored.
  std::uint32_t const more = dice.pick({0u, 3u});
  std::uint32_t const pace = dice.below32(3);
  constexpr Duration paces[] = {ms(300), ms(700), seconds(1)};
  constexpr std::uint32_t tries[] = {11, 4, 3};
  config.neighbour_retry = paces[pace];
  config.neighbour_tries = {tries[pace] + more};
  config.icmp_replies_per_second = {dice.pick({0u, 5u, 1'000u})};
  config.announcements = {dice.pick({0u, 1u, 3u})};
  config.paths_max = {dice.pick({1u, 2u, 64u})};
}

void draw_pools(Dice& dice, tcp::Config& tcp) {
  tcp.connections_max = {dice.pick({4u, 16u, 64u, 256u})};
  tcp.active_max = {dice.pick({4u, 16u, 64u, 256u})};
  tcp.time_wait_max = {dice.pick({1u, 4u, 64u})};
  tcp.listeners_max = {16};
  tcp.block_bytes = {dice.pick({256u, 1'024u, 2'048u})};
  tcp.reserve_blocks = {dice.pick({1u, 4u, 16u})};
  std::uint32_t const least = 2 * tcp.reserve_blocks.value + 1;
  tcp.blocks_max = {least + dice.pick({64u, 128u, 256u, 512u})};
  tcp.pieces_max = {dice.pick({16u, 128u, 1'024u})};
  tcp.extents_max = {dice.pick({1u, 16u, 256u})};
  tcp.extents_per_connection = {dice.pick({1u, 4u, 32u})};
  tcp.owed_max = {dice.pick({1u, 8u, 64u, 256u})};
  tcp.sent_max = {dice.pick({1u, 8u, 64u, 1'024u})};
  tcp.sent_per_connection = {dice.pick({1u, 3u, 16u, 256u})};
}

void draw_buffers(Dice& dice, tcp::Config& tcp) {
  tcp.receive_buffer = {dice.pick({1u, 50u, 600u, 4'096u, 20'000u, 65'535u, 65'535u, 262'144u})};
  tcp.send_buffer = {dice.pick({1u, 100u, 3'000u, 20'000u, 131'072u, 131'072u})};
  tcp.receive_buffer_max = {dice.percent(50) ? tcp.receive_buffer.count * 4 : 0};
  tcp.send_buffer_max = {dice.percent(50) ? tcp.send_buffer.count * 4 : 0};
  tcp.nagle = dice.percent(60);
  tcp.nagle_minshall = dice.percent(50);
  tcp.delayed_acks = dice.percent(70);
  tcp.delayed_ack = dice.pick({ms(1), ms(40), ms(200), ms(499)});
  tcp.ack_stretch_segments = {dice.pick({2u, 2u, 4u, 16u})};
  tcp.ack_stretch_after = {tcp.ack_stretch_segments.value == 4 ? 10'000u : 0u};
  tcp.sws_override = dice.pick({ms(100), ms(200), seconds(1)});
  tcp.quantum_segments = {dice.pick({1u, 2u, 8u, 64u})};
}

void draw_timers(Dice& dice, tcp::Config& tcp) {
  tcp.rto_initial = dice.pick({ms(100), seconds(1), seconds(3)});
  tcp.rto_min = dice.pick({ms(10), ms(200), seconds(1)});
  tcp.rto_max = dice.pick({seconds(60), seconds(120)});
  tcp.rto_after_syn_loss = dice.pick({seconds(1), seconds(3)});
  tcp.rto_granularity = dice.pick({Duration{1}, ms(1), ms(100)});
  tcp.r1_retransmissions = {dice.pick({3u, 5u})};
  tcp.user_timeout = dice.pick({seconds(3), seconds(20), seconds(100), seconds(300)});
  tcp.syn_timeout = dice.pick({seconds(3), seconds(30), seconds(180)});
  tcp.persist_max = dice.pick({ms(500), seconds(5), seconds(60)});
  tcp.keepalive = dice.percent(75);
  tcp.keepalive_garbage = dice.percent(30);
  tcp.keepalive_idle = dice.pick({ms(200), seconds(2), seconds(30)});
  tcp.keepalive_interval = dice.pick({ms(100), seconds(1), seconds(10)});
  tcp.keepalive_probes = {dice.pick({1u, 3u, 9u})};
  tcp.msl = dice.pick({ms(1), ms(500), seconds(5), seconds(30)});
  tcp.fin_wait_2 = dice.pick({ms(100), seconds(5), seconds(60)});
  tcp.quiet_time = dice.percent(10) ? dice.pick({ms(10), seconds(2)}) : Duration{};
}

void draw_recovery(Dice& dice, tcp::Config& tcp) {
  tcp.sack = dice.percent(75);
  tcp.dsack = dice.percent(60);
  tcp.prr = dice.percent(50);
  tcp.prr_conservative = dice.percent(30);
  tcp.rack = dice.percent(60);
  tcp.tail_probe = dice.percent(60);
  tcp.tail_probe_ack_delay = dice.pick({Duration{}, ms(40), ms(200)});
  tcp.least_rtt_window = dice.pick({ms(300), seconds(10)});
  tcp.frto = dice.percent(60);
  tcp.undo = dice.percent(60);
  tcp.undo_by_timestamps = dice.percent(60);
  tcp.prr_rfc6937 = dice.percent(30);
}

void draw_policies(Dice& dice, tcp::Config& tcp) {
  using tcp::InitialWindow;
  using tcp::ResetPolicy;
  tcp.time_wait_ignores_reset = dice.percent(60);
  tcp.time_wait_reuse = dice.percent(70);
  tcp.initial_window = dice.percent(50) ? InitialWindow::rfc5681 : InitialWindow::rfc6928;
  tcp.duplicate_acks = {dice.pick({3u, 3u, 1u, 10u})};
  tcp.limited_transmit = dice.percent(60);
  using tcp::FastRecovery;
  tcp.fast_recovery = dice.fork("fast_recovery")
                          .pick({FastRecovery::newreno, FastRecovery::newreno, FastRecovery::reno,
                                 FastRecovery::tahoe});
  tcp.restart_after_idle = dice.percent(60);
  tcp.reset_policy = dice.percent(30) ? ResetPolicy::rfc793 : ResetPolicy::rfc5961;
  if (Dice own = dice.fork("reset_policy"); own.percent(10)) {
    tcp.reset_policy = own.pick({ResetPolicy::rfc5961_syn, ResetPolicy::rfc5961_reset});
  }
  tcp.challenges_per_second = {dice.pick({0u, 1u, 100u, 1'000u})};
  tcp.challenge_jitter = dice.percent(50);
  tcp.challenges_per_connection = {dice.pick({1u, 10u, 65'535u})};
  tcp.syn_cookies = dice.pick({tcp::SynCookies::off, tcp::SynCookies::on, tcp::SynCookies::always});
  // Every keep-alive probe must be answered.
  tcp.empty_answers_per_second = {dice.pick({100u, 1'000u})};
  if (dice.percent(20)) {
    tcp.port_first = {50'000};
    tcp.port_last = {static_cast<std::uint16_t>(50'000 + dice.pick({0, 1, 7, 63}))};
    tcp.port_tries = {dice.pick({1u, 4u, 64u})};
  }
  tcp.ttl = dice.pick({std::uint8_t{1}, std::uint8_t{64}, std::uint8_t{255}});
}

void draw_options(Dice& dice, tcp::Config& tcp) {
  using wire::OptionOrder;
  tcp.option_order = dice.percent(30) ? OptionOrder::like_freebsd : OptionOrder::like_linux;
  tcp.window_scale = dice.percent(70);
  tcp.window_shift_automatic = dice.percent(60);
  tcp.window_shift =
      dice.pick({std::uint8_t{0}, std::uint8_t{1}, std::uint8_t{7}, std::uint8_t{14}});
  tcp.timestamps = dice.percent(70);
  tcp.timestamps_required = dice.percent(80);
  tcp.fast_open_server = dice.percent(70);
  tcp.fast_open_client = dice.percent(70);
  tcp.fast_open_cache_max = {dice.pick({1u, 64u})};
  tcp.fast_open_rotation = dice.pick({ms(500), seconds(3600)});
  tcp.fast_open_retry = dice.pick({Duration{}, seconds(10)});
  tcp.user_timeout_option = dice.percent(50);
  tcp.user_timeout_advertised = dice.pick({Duration{}, seconds(1), seconds(50)});
  tcp.user_timeout_least = dice.pick({seconds(1), seconds(100)});
  tcp.user_timeout_most = dice.pick({seconds(100), seconds(3600)});
  tcp.timestamp_tick = dice.pick({ms(1), ms(10), seconds(1)});
}

void draw_congestion(Dice& dice, tcp::Config& tcp) {
  using tcp::Congestion;
  using tcp::EcnPolicy;
  tcp.congestion =
      dice.pick({Congestion::reno, Congestion::cubic, Congestion::cubic, Congestion::dctcp});
  tcp.hystart = dice.percent(50);
  tcp.slow_start_segments = {dice.pick({1u, 2u, 8u, 65'535u})};
  tcp.ecn = dice.pick({EcnPolicy::off, EcnPolicy::accept, EcnPolicy::on, EcnPolicy::on});
  tcp.pacing = dice.percent(40);
  tcp.pacing_start = {dice.pick({100u, 200u, 1'000u})};
  tcp.pacing_gain = {dice.pick({100u, 120u})};
  tcp.pacing_quantum = dice.pick({Duration{0}, ms(1), ms(1), seconds(1)});
  tcp.rate_samples = dice.percent(30);
  tcp.marks_max = {dice.pick({1u, 16u, 4'096u})};
}

// What imitates one system, each setting apart from the others of its profile.
void draw_imitations(Dice dice, tcp::Config& tcp) {
  for (bool tcp::Config::* const setting :
       {&tcp::Config::ack_each_second,        &tcp::Config::timer_steps,
        &tcp::Config::probe_from_answer,      &tcp::Config::user_timeout_while_answered,
        &tcp::Config::simultaneous_answered,  &tcp::Config::duplicates_in_flight,
        &tcp::Config::unsent_answered,        &tcp::Config::soft_errors_end_open,
        &tcp::Config::bad_cookie_reset,       &tcp::Config::segment_half_window,
        &tcp::Config::window_smaller_ignored, &tcp::Config::shrunk_retransmitted,
        &tcp::Config::path_mtu_plateaus,      &tcp::Config::path_mtu_slow_start,
        &tcp::Config::rto_min_added,          &tcp::Config::window_probe_data,
        &tcp::Config::slow_start_below_twice, &tcp::Config::reset_acknowledges,
        &tcp::Config::reset_stamps,           &tcp::Config::syn_data,
        &tcp::Config::push_syn_data,          &tcp::Config::fast_open_needs_cookie,
        &tcp::Config::fast_open_by_addresses, &tcp::Config::push_bursts,
        &tcp::Config::window_update_doubles,  &tcp::Config::window_each_ack,
        &tcp::Config::receive_buffer_rounded, &tcp::Config::dsack_before_reordering,
        &tcp::Config::recovery_held,          &tcp::Config::syn_fin_dropped,
        &tcp::Config::give_up_at_timer}) {
    tcp.*setting = dice.percent(20) ? !(tcp.*setting) : tcp.*setting;
  }
  const auto at_times = [&dice](auto value, auto& setting) {
    setting = dice.percent(30) ? value : setting;
  };
  at_times(Count{dice.pick({0u, 2u, 16u, 31u})}, tcp.quick_acks);
  at_times(Count{dice.pick({0u, 4u})}, tcp.syn_linear_timeouts);
  at_times(Count{dice.pick({0u, 1u})}, tcp.timestamps_behind);
  at_times(Count{dice.pick({0u, 1u, 5u})}, tcp.ecn_syn_retries);
  at_times(dice.pick({Duration{}, seconds(3), seconds(63)}), tcp.syn_received_timeout);
  at_times(dice.pick({Duration{}, ms(10), ms(500)}), tcp.answer_interval);
  at_times(dice.pick({Duration{}, ms(2)}), tcp.syn_after_bad_ack);
  at_times(dice.pick({Duration{}, ms(500), seconds(3)}), tcp.path_mtu_stalled);
}

}  // namespace

Config draw_profile(Dice& dice) {
  Config config = profile_at(dice.below32(profile_count));
  // Words that the fault `substitute` exchanges between options and data are in no checksum: only
  // the malformed options that come of it protect the stream.
  config.tcp.options_lenient = false;
  // With the short intervals that are drawn, it would end connections that still transfer data.
  config.tcp.orphan_until_persist_max = false;
  return config;
}

// The settings that an administrator would keep.
void draw_plain(Dice& dice, Config& config) {
  tcp::Config& tcp = config.tcp;
  tcp.connections_max = {64};
  tcp.active_max = {64};
  tcp.time_wait_max = {64};
  tcp.listeners_max = {16};
  tcp.blocks_max = {512};
  tcp.pieces_max = {1'024};
  tcp.extents_max = {256};
  tcp.owed_max = {256};
  tcp.sent_max = {1'024};
  tcp.sent_per_connection = {256};
  tcp.msl = dice.pick({ms(500), seconds(30)});
  tcp.keepalive = dice.percent(75);
  tcp.keepalive_idle = seconds(10);
  tcp.keepalive_interval = seconds(2);
}

void draw_keys(Dice& dice, Config& config) {
  config.tcp.table_key = draw_key(dice);
  config.tcp.isn_key = draw_key(dice);
  config.tcp.port_key = draw_key(dice);
  config.tcp.timestamp_key = draw_key(dice);
  config.tcp.fast_open_key = draw_key(dice);
  config.tcp.isn_base = {static_cast<std::uint32_t>(dice.word())};
}

void draw_config(Dice& dice, Config& config) {
  draw_plain(dice, config);
  // Each group of settings departs from the defaults independently, so that both mix.
  if (dice.percent(50)) {
    draw_turns(dice, config);
  }
  if (dice.percent(50)) {
    draw_pools(dice, config.tcp);
  }
  if (dice.percent(60)) {
    draw_buffers(dice, config.tcp);
  }
  if (dice.percent(60)) {
    draw_timers(dice, config.tcp);
  }
  if (dice.percent(60)) {
    draw_policies(dice, config.tcp);
  }
  if (dice.percent(50)) {
    draw_congestion(dice, config.tcp);
  }
  draw_keys(dice, config);
  if (Dice own = dice.fork("imitations"); own.percent(30)) {
    draw_imitations(own, config.tcp);
  }
  if (dice.percent(60)) {
    draw_options(dice, config.tcp);
  }
  if (dice.percent(60)) {
    draw_recovery(dice, config.tcp);
  }
  config.tcp.syn_cache_max = {dice.pick({0u, 1u, 8u, 64u})};
  config.tcp.syn_cache_after = {dice.pick({0u, 0u, 50u, 100u})};
  // A cookie whose use was forgotten opens a second connection with the numbers of the first, which
  // no checker can tell from an error. The table of used cookies has as many places as TIME-WAIT.
  constexpr Count used_least{64};
  if (config.tcp.syn_cookies != tcp::SynCookies::off && config.tcp.time_wait_max < used_least) {
    config.tcp.time_wait_max = used_least;
  }
}

void draw_host(Dice& dice, HostSpec& host) {
  if (dice.percent(40)) {
    // From zero to a day before the end of time; no run lasts that long.
    host.clock.origin = {dice.pick({std::uint64_t{1}, seconds(3'600).ns, std::uint64_t{1} << 63,
                                    Duration::ns_max - seconds(86'400).ns})};
  }
  if (dice.percent(30)) {
    host.clock.skew_ppb =
        dice.pick({100'000, -100'000, 100'000'000, -100'000'000, 500'000'000, -500'000'000});
  }
  if (dice.percent(25)) {
    host.poll = dice.pick({Duration{10'000}, ms(1), ms(20)});
  }
  if (dice.percent(30)) {
    host.transmit_ring = dice.pick({1u, 2u, 16u});
  }
  if (dice.percent(20)) {
    host.receive_ring = dice.pick({1u, 4u, 32u});
  }
}

}  // namespace lockstep::sim
