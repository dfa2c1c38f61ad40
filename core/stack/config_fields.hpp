// The fields of Config by name, unit and range: one list for files, fingerprints and random
// configs.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/stack/config.hpp"
#include "core/tcp/congestion/added.hpp"
#include "core/units/shard.hpp"

namespace lockstep {

// How the number of a field is written as text.
enum class Unit : std::uint8_t { count, bytes, duration, boolean, octet, sequence, port };

// The values that a field may have, both ends included.
struct FieldRange {
  std::uint64_t least = 0;
  std::uint64_t most = ~std::uint64_t{0};  // durations: nanoseconds
};

// The value of a field as a number; durations in nanoseconds.
constexpr std::uint64_t number_of(const Count& value) { return value.value; }
constexpr std::uint64_t number_of(const Bytes& value) { return value.count; }
constexpr std::uint64_t number_of(const Duration& value) { return value.ns; }
constexpr std::uint64_t number_of(const Sequence& value) { return value.value; }
constexpr std::uint64_t number_of(const Port& value) { return value.value; }
constexpr std::uint64_t number_of(bool value) { return value ? 1 : 0; }
constexpr std::uint64_t number_of(std::uint8_t value) { return value; }

// For visit_fields: the pools of tcp::Config, buffers, ACKs and segment sizes.
template <class C, class Visit>
constexpr void visit_tcp_pools(C& tcp, Visit&& visit) {
  constexpr std::uint64_t million = 1'000'000;
  visit("connections_max", Unit::count, FieldRange{1, million * 4}, tcp.connections_max);
  visit("active_max", Unit::count, FieldRange{1, million * 4}, tcp.active_max);
  visit("time_wait_max", Unit::count, FieldRange{1, million * 4}, tcp.time_wait_max);
  visit("listeners_max", Unit::count, FieldRange{1, 65'535}, tcp.listeners_max);
  visit("blocks_max", Unit::count, FieldRange{4, million * 16}, tcp.blocks_max);
  visit("block_bytes", Unit::bytes, FieldRange{64, 65'536}, tcp.block_bytes);
  visit("pieces_max", Unit::count, FieldRange{1, million * 16}, tcp.pieces_max);
  visit("extents_max", Unit::count, FieldRange{1, million * 16}, tcp.extents_max);
  visit("extents_per_connection", Unit::count, FieldRange{1, 4096}, tcp.extents_per_connection);
  visit("owed_max", Unit::count, FieldRange{1, million * 16}, tcp.owed_max);
  visit("sent_max", Unit::count, FieldRange{1, million * 16}, tcp.sent_max);
  visit("sent_per_connection", Unit::count, FieldRange{1, 65'535}, tcp.sent_per_connection);
  visit("accounts", Unit::boolean, FieldRange{0, 1}, tcp.accounts);
  visit("receive_buffer_bytes", Unit::bytes, FieldRange{1, 0x3fff'ffff}, tcp.receive_buffer);
  visit("send_buffer_bytes", Unit::bytes, FieldRange{1, 0x3fff'ffff}, tcp.send_buffer);
  visit("receive_buffer_max_bytes", Unit::bytes, FieldRange{0, 0x3fff'ffff},
        tcp.receive_buffer_max);
  visit("send_buffer_max_bytes", Unit::bytes, FieldRange{0, 0x3fff'ffff}, tcp.send_buffer_max);
  visit("reserve_blocks", Unit::count, FieldRange{0, million}, tcp.reserve_blocks);
  visit("mss", Unit::bytes, FieldRange{28, 65'495}, tcp.mss);
  visit("nagle", Unit::boolean, FieldRange{0, 1}, tcp.nagle);
  visit("nagle_minshall", Unit::boolean, FieldRange{0, 1}, tcp.nagle_minshall);
  visit("delayed_acks", Unit::boolean, FieldRange{0, 1}, tcp.delayed_acks);
  visit("delayed_ack", Unit::duration, FieldRange{1, 499'999'999}, tcp.delayed_ack);
  visit("ack_each_second", Unit::boolean, FieldRange{0, 1}, tcp.ack_each_second);
  visit("quick_acks", Unit::count, FieldRange{0, 31}, tcp.quick_acks);
  visit("window_each_ack", Unit::boolean, FieldRange{0, 1}, tcp.window_each_ack);
  visit("receive_buffer_rounded", Unit::boolean, FieldRange{0, 1}, tcp.receive_buffer_rounded);
  visit("buffers_doubled", Unit::boolean, FieldRange{0, 1}, tcp.buffers_doubled);
  visit("errors_like_linux", Unit::boolean, FieldRange{0, 1}, tcp.errors_like_linux);
  visit("urgent_apart", Unit::boolean, FieldRange{0, 1}, tcp.urgent_apart);
  visit("recovery_held", Unit::boolean, FieldRange{0, 1}, tcp.recovery_held);
  visit("ack_stretch_segments", Unit::count, FieldRange{2, 1024}, tcp.ack_stretch_segments);
  visit("ack_stretch_after_bytes", Unit::bytes, FieldRange{0, 1 << 30}, tcp.ack_stretch_after);
  visit("sws_override", Unit::duration, FieldRange{100 * million, 1000 * million},
        tcp.sws_override);
  visit("quantum_segments", Unit::count, FieldRange{1, 255}, tcp.quantum_segments);
}

// For visit_fields: user timeout option, what imitates a system, Fast Open, path MTU probing, SYN
// cache and shards.
template <class C, class Visit>
constexpr void visit_tcp_extras(C& tcp, Visit&& visit) {
  constexpr std::uint64_t million = 1'000'000;
  constexpr std::uint64_t day = Duration::seconds(86'400).ns;
  visit("user_timeout_option", Unit::boolean, FieldRange{0, 1}, tcp.user_timeout_option);
  visit("user_timeout_advertised", Unit::duration, FieldRange{0, day}, tcp.user_timeout_advertised);
  visit("user_timeout_least", Unit::duration, FieldRange{1, day}, tcp.user_timeout_least);
  visit("user_timeout_most", Unit::duration, FieldRange{1000 * million, day},
        tcp.user_timeout_most);
  visit("fast_open_server", Unit::boolean, FieldRange{0, 1}, tcp.fast_open_server);
  visit("fast_open_client", Unit::boolean, FieldRange{0, 1}, tcp.fast_open_client);
  visit("push_syn_data", Unit::boolean, FieldRange{0, 1}, tcp.push_syn_data);
  visit("fast_open_needs_cookie", Unit::boolean, FieldRange{0, 1}, tcp.fast_open_needs_cookie);
  visit("push_bursts", Unit::boolean, FieldRange{0, 1}, tcp.push_bursts);
  visit("window_update_doubles", Unit::boolean, FieldRange{0, 1}, tcp.window_update_doubles);
  visit("fast_open_by_addresses", Unit::boolean, FieldRange{0, 1}, tcp.fast_open_by_addresses);
  visit("rto_min_added", Unit::boolean, FieldRange{0, 1}, tcp.rto_min_added);
  visit("syn_linear_timeouts", Unit::count, FieldRange{0, 127}, tcp.syn_linear_timeouts);
  visit("syn_plain_from", Unit::count, FieldRange{0, 255}, tcp.syn_plain_from);
  visit("window_probe_data", Unit::boolean, FieldRange{0, 1}, tcp.window_probe_data);
  visit("slow_start_below_twice", Unit::boolean, FieldRange{0, 1}, tcp.slow_start_below_twice);
  visit("syn_fin_dropped", Unit::boolean, FieldRange{0, 1}, tcp.syn_fin_dropped);
  visit("closed_silent", Unit::count, FieldRange{0, 2}, tcp.closed_silent);
  visit("reset_acknowledges", Unit::boolean, FieldRange{0, 1}, tcp.reset_acknowledges);
  visit("reset_stamps", Unit::boolean, FieldRange{0, 1}, tcp.reset_stamps);
  visit("syn_data", Unit::boolean, FieldRange{0, 1}, tcp.syn_data);
  visit("fast_open_cache_max", Unit::count, FieldRange{1, million}, tcp.fast_open_cache_max);
  visit("fast_open_rotation", Unit::duration, FieldRange{1, day}, tcp.fast_open_rotation);
  visit("fast_open_retry", Unit::duration, FieldRange{0, day}, tcp.fast_open_retry);
  visit("path_mtu_probing", Unit::boolean, FieldRange{0, 1}, tcp.path_mtu_probing);
  visit("path_mtu_low_bytes", Unit::bytes, FieldRange{68, 65'535}, tcp.path_mtu_low);
  visit("path_mtu_stalled", Unit::duration, FieldRange{0, day}, tcp.path_mtu_stalled);
  visit("path_mtu_plateaus", Unit::boolean, FieldRange{0, 1}, tcp.path_mtu_plateaus);
  visit("path_mtu_slow_start", Unit::boolean, FieldRange{0, 1}, tcp.path_mtu_slow_start);
  visit("syn_cache_max", Unit::count, FieldRange{0, million * 4}, tcp.syn_cache_max);
  visit("syn_cache_after_percent", Unit::count, FieldRange{0, 100}, tcp.syn_cache_after);
  visit("shards", Unit::count, FieldRange{1, ShardCount::most}, tcp.shards);
  visit("shard", Unit::count, FieldRange{0, ShardCount::most - 1}, tcp.shard);
}

// For visit_fields: the timers of tcp::Config, congestion control and loss recovery.
template <class C, class Visit>
constexpr void visit_tcp_rules(C& tcp, Visit&& visit) {
  constexpr std::uint64_t million = 1'000'000;
  constexpr std::uint64_t day = Duration::seconds(86'400).ns;
  visit("rto_initial", Unit::duration, FieldRange{1, day}, tcp.rto_initial);
  visit("rto_min", Unit::duration, FieldRange{1, day}, tcp.rto_min);
  visit("rto_max", Unit::duration, FieldRange{60'000 * million, day}, tcp.rto_max);
  visit("rto_after_syn_loss", Unit::duration, FieldRange{1, day}, tcp.rto_after_syn_loss);
  visit("rto_granularity", Unit::duration, FieldRange{1, day}, tcp.rto_granularity);
  visit("r1_retransmissions", Unit::count, FieldRange{3, 255}, tcp.r1_retransmissions);
  visit("user_timeout", Unit::duration, FieldRange{0, day}, tcp.user_timeout);
  visit("give_up_at_timer", Unit::boolean, FieldRange{0, 1}, tcp.give_up_at_timer);
  visit("user_timeout_while_answered", Unit::boolean, FieldRange{0, 1},
        tcp.user_timeout_while_answered);
  visit("syn_timeout", Unit::duration, FieldRange{0, day}, tcp.syn_timeout);
  visit("timer_steps", Unit::boolean, FieldRange{0, 1}, tcp.timer_steps);
  visit("simultaneous_answered", Unit::boolean, FieldRange{0, 1}, tcp.simultaneous_answered);
  visit("syn_received_timeout", Unit::duration, FieldRange{0, day}, tcp.syn_received_timeout);
  visit("persist_max", Unit::duration, FieldRange{1, day}, tcp.persist_max);
  visit("probe_from_answer", Unit::boolean, FieldRange{0, 1}, tcp.probe_from_answer);
  visit("keepalive", Unit::boolean, FieldRange{0, 1}, tcp.keepalive);
  visit("keepalive_garbage", Unit::boolean, FieldRange{0, 1}, tcp.keepalive_garbage);
  visit("keepalive_idle", Unit::duration, FieldRange{1, day}, tcp.keepalive_idle);
  visit("keepalive_interval", Unit::duration, FieldRange{1, day}, tcp.keepalive_interval);
  visit("keepalive_probes", Unit::count, FieldRange{1, 255}, tcp.keepalive_probes);
  visit("msl", Unit::duration, FieldRange{1, day}, tcp.msl);
  visit("fin_wait_2", Unit::duration, FieldRange{1, day}, tcp.fin_wait_2);
  visit("orphan_timeout", Unit::duration, FieldRange{0, day}, tcp.orphan_timeout);
  visit("orphan_until_persist_max", Unit::boolean, FieldRange{0, 1}, tcp.orphan_until_persist_max);
  visit("quiet_time", Unit::duration, FieldRange{0, day}, tcp.quiet_time);
  visit("time_wait_ignores_reset", Unit::boolean, FieldRange{0, 1}, tcp.time_wait_ignores_reset);
  visit("time_wait_reuse", Unit::boolean, FieldRange{0, 1}, tcp.time_wait_reuse);
  visit("slow_start_segments", Unit::count, FieldRange{1, 65'535}, tcp.slow_start_segments);
  visit("duplicate_acks", Unit::count, FieldRange{1, 255}, tcp.duplicate_acks);
  visit("duplicates_in_flight", Unit::boolean, FieldRange{0, 1}, tcp.duplicates_in_flight);
  visit("limited_transmit", Unit::boolean, FieldRange{0, 1}, tcp.limited_transmit);
  visit("restart_after_idle", Unit::boolean, FieldRange{0, 1}, tcp.restart_after_idle);
  visit("hystart", Unit::boolean, FieldRange{0, 1}, tcp.hystart);
  visit("ecn_syn_retries", Unit::count, FieldRange{0, 255}, tcp.ecn_syn_retries);
  visit("pacing", Unit::boolean, FieldRange{0, 1}, tcp.pacing);
  visit("pacing_start_percent", Unit::count, FieldRange{100, 1000}, tcp.pacing_start);
  visit("pacing_gain_percent", Unit::count, FieldRange{100, 1000}, tcp.pacing_gain);
  visit("pacing_quantum", Unit::duration, FieldRange{0, 1000 * million}, tcp.pacing_quantum);
  visit("rate_samples", Unit::boolean, FieldRange{0, 1}, tcp.rate_samples);
  visit("marks_max", Unit::count, FieldRange{1, million * 16}, tcp.marks_max);
  visit("sack", Unit::boolean, FieldRange{0, 1}, tcp.sack);
  visit("dsack", Unit::boolean, FieldRange{0, 1}, tcp.dsack);
  visit("dsack_before_reordering", Unit::boolean, FieldRange{0, 1}, tcp.dsack_before_reordering);
  visit("prr", Unit::boolean, FieldRange{0, 1}, tcp.prr);
  visit("prr_rfc6937", Unit::boolean, FieldRange{0, 1}, tcp.prr_rfc6937);
  visit("prr_conservative", Unit::boolean, FieldRange{0, 1}, tcp.prr_conservative);
  visit("rack", Unit::boolean, FieldRange{0, 1}, tcp.rack);
  visit("tail_probe", Unit::boolean, FieldRange{0, 1}, tcp.tail_probe);
  visit("tail_probe_ack_delay", Unit::duration, FieldRange{0, day}, tcp.tail_probe_ack_delay);
  visit("least_rtt_window", Unit::duration, FieldRange{1, day}, tcp.least_rtt_window);
  visit("frto", Unit::boolean, FieldRange{0, 1}, tcp.frto);
  visit("undo", Unit::boolean, FieldRange{0, 1}, tcp.undo);
  visit("undo_by_timestamps", Unit::boolean, FieldRange{0, 1}, tcp.undo_by_timestamps);
}

// For visit_fields: which segments are answered, the options, ports and the path MTU.
template <class C, class Visit>
constexpr void visit_tcp_answers(C& tcp, Visit&& visit) {
  constexpr std::uint64_t million = 1'000'000;
  constexpr std::uint64_t day = Duration::seconds(86'400).ns;
  visit("challenges_per_second", Unit::count, FieldRange{0, million}, tcp.challenges_per_second);
  visit("challenge_jitter", Unit::boolean, FieldRange{0, 1}, tcp.challenge_jitter);
  visit("challenges_per_connection", Unit::count, FieldRange{1, 65'535},
        tcp.challenges_per_connection);
  visit("empty_answers_per_second", Unit::count, FieldRange{1, 65'535},
        tcp.empty_answers_per_second);
  visit("answer_interval", Unit::duration, FieldRange{0, day}, tcp.answer_interval);
  visit("unsent_answered", Unit::boolean, FieldRange{0, 1}, tcp.unsent_answered);
  visit("syn_after_bad_ack", Unit::duration, FieldRange{0, day}, tcp.syn_after_bad_ack);
  visit("bad_cookie_reset", Unit::boolean, FieldRange{0, 1}, tcp.bad_cookie_reset);
  visit("options_lenient", Unit::boolean, FieldRange{0, 1}, tcp.options_lenient);
  visit("soft_errors_end_open", Unit::boolean, FieldRange{0, 1}, tcp.soft_errors_end_open);
  visit("window_scale", Unit::boolean, FieldRange{0, 1}, tcp.window_scale);
  visit("window_shift_automatic", Unit::boolean, FieldRange{0, 1}, tcp.window_shift_automatic);
  visit("window_shift", Unit::octet, FieldRange{0, 14}, tcp.window_shift);
  visit("timestamps", Unit::boolean, FieldRange{0, 1}, tcp.timestamps);
  visit("timestamps_required", Unit::boolean, FieldRange{0, 1}, tcp.timestamps_required);
  visit("timestamps_behind", Unit::count, FieldRange{0, 1000}, tcp.timestamps_behind);
  //= rfc7323#5.4
  //# 7323:TS-20 a tick of 1 ms to 1 s
  visit("timestamp_tick", Unit::duration, FieldRange{million, 1000 * million}, tcp.timestamp_tick);
  visit("port_first", Unit::port, FieldRange{1, 65'535}, tcp.port_first);
  visit("port_last", Unit::port, FieldRange{1, 65'535}, tcp.port_last);
  visit("port_tries", Unit::count, FieldRange{1, 65'535}, tcp.port_tries);
  visit("path_mtu_discovery", Unit::boolean, FieldRange{0, 1}, tcp.path_mtu_discovery);
  visit("segment_half_window", Unit::boolean, FieldRange{0, 1}, tcp.segment_half_window);
  visit("window_smaller_ignored", Unit::boolean, FieldRange{0, 1}, tcp.window_smaller_ignored);
  visit("shrunk_retransmitted", Unit::boolean, FieldRange{0, 1}, tcp.shrunk_retransmitted);
  visit("mss_least_bytes", Unit::bytes, FieldRange{28, 536}, tcp.mss_least);
  visit("path_mtu_least_bytes", Unit::bytes, FieldRange{68, 1280}, tcp.path_mtu_least);
  visit("ttl", Unit::octet, FieldRange{1, 255}, tcp.ttl);
  visit("isn_base", Unit::sequence, FieldRange{0, 0xffff'ffff}, tcp.isn_base);
}

// Calls visit(name, words, reference) for each enum field of tcp::Config; `words` are the names of
// the enumerators in order.
template <class C, class Visit>
constexpr void visit_choices(C& config, Visit&& visit) {
  using Two = std::array<std::string_view, 2>;
  using Three = std::array<std::string_view, 3>;
  using Four = std::array<std::string_view, 4>;
  visit("congestion", tcp::congestion_words(), config.tcp.congestion);
  visit("ecn", tcp::ecn_policy_names, config.tcp.ecn);
  visit("initial_window", Two{"rfc5681", "rfc6928"}, config.tcp.initial_window);
  visit("fast_recovery", Three{"newreno", "reno", "tahoe"}, config.tcp.fast_recovery);
  visit("reset_policy", Four{"rfc793", "rfc5961", "rfc5961_syn", "rfc5961_reset"},
        config.tcp.reset_policy);
  visit("option_order", Two{"linux", "freebsd"}, config.tcp.option_order);
  visit("syn_cookies", Three{"off", "on", "always"}, config.tcp.syn_cookies);
}

// Calls visit(name, unit, range, reference) for each scalar field in the order of declaration. The
// reference is Count&, Bytes&, Duration&, bool&, std::uint8_t&, Sequence& or Port&; const for a
// const Config. Enums, addresses and keys are not scalars; their users read them directly.
template <class C, class Visit>
constexpr void visit_fields(C& config, Visit&& visit) {
  constexpr std::uint64_t million = 1'000'000;
  constexpr std::uint64_t day = Duration::seconds(86'400).ns;
  visit("mtu_bytes", Unit::bytes, FieldRange{68, 65'535}, config.mtu);
  visit("burst_frames", Unit::count, FieldRange{1, 256}, config.burst_frames);
  visit("expire_max", Unit::count, FieldRange{1, million}, config.expire_max);
  visit("events_per_turn", Unit::count, FieldRange{1, million}, config.events_per_turn);
  visit("frames_per_turn", Unit::count, FieldRange{1, million}, config.frames_per_turn);
  visit("regions_max", Unit::count, FieldRange{0, 1024}, config.regions_max);
  visit("reply_bytes", Unit::bytes, FieldRange{4096, million * 64}, config.reply_bytes);
  visit("neighbours_max", Unit::count, FieldRange{1, 65'535}, config.neighbours_max);
  visit("neighbour_reachable", Unit::duration, FieldRange{1, day}, config.neighbour_reachable);
  visit("neighbour_retry", Unit::duration, FieldRange{1, day}, config.neighbour_retry);
  visit("neighbour_tries", Unit::count, FieldRange{1, 100}, config.neighbour_tries);
  visit("announcements", Unit::count, FieldRange{0, 10}, config.announcements);
  visit("address_probes", Unit::count, FieldRange{0, 10}, config.address_probes);
  visit("address_probe_interval", Unit::duration, FieldRange{1, day},
        config.address_probe_interval);
  visit("defend_addresses", Unit::boolean, FieldRange{0, 1}, config.defend_addresses);
  visit("icmp_replies_per_second", Unit::count, FieldRange{0, million},
        config.icmp_replies_per_second);
  visit("discovery_reachable", Unit::duration, FieldRange{1'000'000, day},
        config.discovery_reachable);
  visit("discovery_retransmission", Unit::duration, FieldRange{1'000'000, day},
        config.discovery_retransmission);
  visit("discovery_first_probe", Unit::duration, FieldRange{1, day}, config.discovery_first_probe);
  visit("duplicate_tests", Unit::count, FieldRange{0, 16}, config.duplicate_tests);
  visit("follow_routers", Unit::boolean, FieldRange{0, 1}, config.follow_routers);
  visit("reassembly_datagrams", Unit::count, FieldRange{0, 4096}, config.reassembly_datagrams);
  visit("reassembly_per_source", Unit::count, FieldRange{1, 4096}, config.reassembly_per_source);
  visit("reassembly_bytes", Unit::bytes, FieldRange{1480, 65'515}, config.reassembly_bytes);
  visit("reassembly_timeout", Unit::duration, FieldRange{Duration::seconds(15).ns, day},
        config.reassembly_timeout);
  visit("paths_max", Unit::count, FieldRange{1, 65'536}, config.paths_max);
  visit("path_age", Unit::duration, FieldRange{Duration::seconds(300).ns, day}, config.path_age);
  visit_tcp_pools(config.tcp, visit);
  visit_tcp_rules(config.tcp, visit);
  visit_tcp_answers(config.tcp, visit);
  visit_tcp_extras(config.tcp, visit);
}

}  // namespace lockstep
