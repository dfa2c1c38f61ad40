// The sysctls of Linux and FreeBSD that correspond to settings of this stack.
#include "conformance/script/sysctl.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>

#include "conformance/script/cursor.hpp"

namespace lockstep::conformance::script {
namespace {

using Number = std::uint64_t;

/// A sysctl with one number, up to `most`.
struct Sysctl {
  std::string_view name;
  Number most;
  std::string_view fields;  ///< fields of Config
  void (*set)(Config& config, Number value);
};

constexpr Number seconds_max = 86'400;

/// The time of a SYN and `retries` more, with a timeout of 1 s that doubles.
Duration syn_time(Number retries) { return Duration::seconds((Number{2} << retries) - 1); }

tcp::EcnPolicy ecn_of(Number value) {
  return value == 0   ? tcp::EcnPolicy::off
         : value == 1 ? tcp::EcnPolicy::on
                      : tcp::EcnPolicy::accept;
}
tcp::ResetPolicy policy_of(bool resets, bool syns) {
  using tcp::ResetPolicy;
  return resets ? (syns ? ResetPolicy::rfc5961 : ResetPolicy::rfc5961_reset)
                : (syns ? ResetPolicy::rfc5961_syn : ResetPolicy::rfc793);
}
Count count_of(Number value) { return Count{static_cast<std::uint32_t>(value)}; }
Bytes bytes_of(Number value) { return Bytes{static_cast<std::uint32_t>(value)}; }

constexpr std::array linux_names{
    Sysctl{"net.ipv4.ip_default_ttl", 255, "ttl",
           [](Config& c, Number v) { c.tcp.ttl = static_cast<std::uint8_t>(v); }},
    Sysctl{"net.ipv4.ip_no_pmtu_disc", 1, "path_mtu_discovery",
           [](Config& c, Number v) { c.tcp.path_mtu_discovery = v == 0; }},
    Sysctl{"net.ipv4.tcp_challenge_ack_limit", 1'000'000, "challenges_per_second",
           [](Config& c, Number v) { c.tcp.challenges_per_second = count_of(v); }},
    Sysctl{"net.ipv4.tcp_dsack", 1, "dsack", [](Config& c, Number v) { c.tcp.dsack = v != 0; }},
    Sysctl{"net.ipv4.tcp_early_retrans", 4, "tail_probe",
           [](Config& c, Number v) { c.tcp.tail_probe = v >= 3; }},
    Sysctl{"net.ipv4.tcp_ecn", 2, "ecn", [](Config& c, Number v) { c.tcp.ecn = ecn_of(v); }},
    Sysctl{"net.ipv4.tcp_fastopen", 0xffff, "fast_open_client, fast_open_server",
           [](Config& c, Number v) {
             c.tcp.fast_open_client = (v & 1) != 0;
             c.tcp.fast_open_server = (v & 2) != 0;
           }},
    Sysctl{"net.ipv4.tcp_fin_timeout", seconds_max, "fin_wait_2",
           [](Config& c, Number v) { c.tcp.fin_wait_2 = Duration::seconds(v); }},
    Sysctl{"net.ipv4.tcp_frto", 2, "frto", [](Config& c, Number v) { c.tcp.frto = v != 0; }},
    Sysctl{"net.ipv4.tcp_keepalive_intvl", seconds_max, "keepalive_interval",
           [](Config& c, Number v) { c.tcp.keepalive_interval = Duration::seconds(v); }},
    Sysctl{"net.ipv4.tcp_keepalive_probes", 255, "keepalive_probes",
           [](Config& c, Number v) { c.tcp.keepalive_probes = count_of(v); }},
    Sysctl{"net.ipv4.tcp_keepalive_time", seconds_max, "keepalive_idle",
           [](Config& c, Number v) { c.tcp.keepalive_idle = Duration::seconds(v); }},
    Sysctl{"net.ipv4.tcp_min_rtt_wlen", seconds_max, "least_rtt_window",
           [](Config& c, Number v) { c.tcp.least_rtt_window = Duration::seconds(v); }},
    Sysctl{"net.ipv4.tcp_moderate_rcvbuf", 1, "receive_buffer_max_bytes",
           [](Config& c, Number v) {
             c.tcp.receive_buffer_max = v != 0 ? c.tcp.receive_buffer_max : c.tcp.receive_buffer;
           }},
    Sysctl{"net.ipv4.tcp_mtu_probing", 2, "path_mtu_probing",
           [](Config& c, Number v) { c.tcp.path_mtu_probing = v != 0; }},
    Sysctl{"net.ipv4.tcp_pacing_ca_ratio", 1000, "pacing_gain_percent",
           [](Config& c, Number v) { c.tcp.pacing_gain = count_of(v); }},
    Sysctl{"net.ipv4.tcp_pacing_ss_ratio", 1000, "pacing_start_percent",
           [](Config& c, Number v) { c.tcp.pacing_start = count_of(v); }},
    Sysctl{"net.ipv4.tcp_recovery", 7, "rack",
           [](Config& c, Number v) { c.tcp.rack = (v & 1) != 0; }},
    Sysctl{"net.ipv4.tcp_reordering", 127, "duplicate_acks",
           [](Config& c, Number v) { c.tcp.duplicate_acks = count_of(v); }},
    Sysctl{"net.ipv4.tcp_retries1", 255, "r1_retransmissions",
           [](Config& c, Number v) { c.tcp.r1_retransmissions = count_of(v); }},
    Sysctl{"net.ipv4.tcp_rfc1337", 1, "time_wait_ignores_reset",
           [](Config& c, Number v) { c.tcp.time_wait_ignores_reset = v != 0; }},
    Sysctl{"net.ipv4.tcp_rto_max_ms", 86'400'000, "rto_max",
           [](Config& c, Number v) { c.tcp.rto_max = Duration::milliseconds(v); }},
    Sysctl{"net.ipv4.tcp_rto_min_us", 86'400'000'000, "rto_min",
           [](Config& c, Number v) { c.tcp.rto_min = Duration::microseconds(v); }},
    Sysctl{"net.ipv4.tcp_sack", 1, "sack", [](Config& c, Number v) { c.tcp.sack = v != 0; }},
    Sysctl{"net.ipv4.tcp_slow_start_after_idle", 1, "restart_after_idle",
           [](Config& c, Number v) { c.tcp.restart_after_idle = v != 0; }},
    Sysctl{"net.ipv4.tcp_syn_linear_timeouts", 127, "syn_linear_timeouts",
           [](Config& c, Number v) { c.tcp.syn_linear_timeouts = count_of(v); }},
    Sysctl{"net.ipv4.tcp_syn_retries", 15, "syn_timeout",
           [](Config& c, Number v) { c.tcp.syn_timeout = syn_time(v); }},
    Sysctl{"net.ipv4.tcp_syncookies", 2, "syn_cookies",
           [](Config& c, Number v) { c.tcp.syn_cookies = static_cast<tcp::SynCookies>(v); }},
    Sysctl{"net.ipv4.tcp_timestamps", 2, "timestamps",
           [](Config& c, Number v) { c.tcp.timestamps = v != 0; }},
    Sysctl{"net.ipv4.tcp_tw_reuse", 2, "time_wait_reuse",
           [](Config& c, Number v) { c.tcp.time_wait_reuse = v != 0; }},
    Sysctl{"net.ipv4.tcp_window_scaling", 1, "window_scale",
           [](Config& c, Number v) { c.tcp.window_scale = v != 0; }},
};

constexpr std::array freebsd_names{
    Sysctl{"net.inet.ip.portrange.first", 65535, "port_first",
           [](Config& c, Number v) { c.tcp.port_first = Port{static_cast<std::uint16_t>(v)}; }},
    Sysctl{"net.inet.ip.portrange.last", 65535, "port_last",
           [](Config& c, Number v) { c.tcp.port_last = Port{static_cast<std::uint16_t>(v)}; }},
    Sysctl{"net.inet.ip.ttl", 255, "ttl",
           [](Config& c, Number v) { c.tcp.ttl = static_cast<std::uint8_t>(v); }},
    Sysctl{"net.inet.tcp.abc_l_var", 65535, "slow_start_segments",
           [](Config& c, Number v) { c.tcp.slow_start_segments = count_of(v); }},
    Sysctl{"net.inet.tcp.always_keepalive", 1, "keepalive",
           [](Config& c, Number v) { c.tcp.keepalive = v != 0; }},
    Sysctl{"net.inet.tcp.blackhole", 2, "closed_silent",
           [](Config& c, Number v) { c.tcp.closed_silent = count_of(v); }},
    Sysctl{"net.inet.tcp.delacktime", 499, "delayed_ack",
           [](Config& c, Number v) { c.tcp.delayed_ack = Duration::milliseconds(v); }},
    Sysctl{"net.inet.tcp.delayed_ack", 1, "delayed_acks",
           [](Config& c, Number v) { c.tcp.delayed_acks = v != 0; }},
    Sysctl{"net.inet.tcp.do_prr", 1, "prr", [](Config& c, Number v) { c.tcp.prr = v != 0; }},
    Sysctl{"net.inet.tcp.drop_synfin", 1, "syn_fin_dropped",
           [](Config& c, Number v) { c.tcp.syn_fin_dropped = v != 0; }},
    Sysctl{"net.inet.tcp.ecn.enable", 2, "ecn", [](Config& c, Number v) { c.tcp.ecn = ecn_of(v); }},
    Sysctl{"net.inet.tcp.ecn.maxretries", 255, "ecn_syn_retries",
           [](Config& c, Number v) { c.tcp.ecn_syn_retries = count_of(v); }},
    Sysctl{"net.inet.tcp.fastopen.client_enable", 1, "fast_open_client",
           [](Config& c, Number v) { c.tcp.fast_open_client = v != 0; }},
    Sysctl{"net.inet.tcp.fastopen.server_enable", 1, "fast_open_server",
           [](Config& c, Number v) { c.tcp.fast_open_server = v != 0; }},
    Sysctl{"net.inet.tcp.finwait2_timeout", 86'400'000, "fin_wait_2",
           [](Config& c, Number v) { c.tcp.fin_wait_2 = Duration::milliseconds(v); }},
    Sysctl{"net.inet.tcp.insecure_rst", 1, "reset_policy",
           [](Config& c, Number v) {
             c.tcp.reset_policy = policy_of(v == 0, challenges_syns(c.tcp.reset_policy));
           }},
    Sysctl{"net.inet.tcp.insecure_syn", 1, "reset_policy",
           [](Config& c, Number v) {
             c.tcp.reset_policy = policy_of(challenges_resets(c.tcp.reset_policy), v == 0);
           }},
    Sysctl{"net.inet.tcp.keepcnt", 255, "keepalive_probes",
           [](Config& c, Number v) { c.tcp.keepalive_probes = count_of(v); }},
    Sysctl{"net.inet.tcp.keepidle", 86'400'000, "keepalive_idle",
           [](Config& c, Number v) { c.tcp.keepalive_idle = Duration::milliseconds(v); }},
    Sysctl{"net.inet.tcp.keepinit", 86'400'000, "syn_timeout",
           [](Config& c, Number v) { c.tcp.syn_timeout = Duration::milliseconds(v); }},
    Sysctl{"net.inet.tcp.keepintvl", 86'400'000, "keepalive_interval",
           [](Config& c, Number v) { c.tcp.keepalive_interval = Duration::milliseconds(v); }},
    Sysctl{"net.inet.tcp.minmss", 65535, "mss_least_bytes",
           [](Config& c, Number v) { c.tcp.mss_least = bytes_of(v); }},
    Sysctl{"net.inet.tcp.msl", 86'400'000, "msl",
           [](Config& c, Number v) { c.tcp.msl = Duration::milliseconds(v); }},
    Sysctl{"net.inet.tcp.path_mtu_discovery", 1, "path_mtu_discovery",
           [](Config& c, Number v) { c.tcp.path_mtu_discovery = v != 0; }},
    Sysctl{"net.inet.tcp.persmax", 86'400'000, "persist_max",
           [](Config& c, Number v) { c.tcp.persist_max = Duration::milliseconds(v); }},
    Sysctl{"net.inet.tcp.pmtud_blackhole_detection", 3, "path_mtu_probing",
           [](Config& c, Number v) { c.tcp.path_mtu_probing = v != 0; }},
    Sysctl{"net.inet.tcp.recvbuf_auto", 1, "receive_buffer_max_bytes",
           [](Config& c, Number v) {
             c.tcp.receive_buffer_max = v != 0 ? c.tcp.receive_buffer_max : c.tcp.receive_buffer;
           }},
    Sysctl{"net.inet.tcp.recvbuf_max", 0x3fff'ffff, "receive_buffer_max_bytes",
           [](Config& c, Number v) { c.tcp.receive_buffer_max = bytes_of(v); }},
    Sysctl{"net.inet.tcp.recvspace", 0x3fff'ffff, "receive_buffer_bytes",
           [](Config& c, Number v) { c.tcp.receive_buffer = bytes_of(v); }},
    Sysctl{"net.inet.tcp.rexmit_drop_options", 1, "syn_plain_from",
           [](Config& c, Number v) { c.tcp.syn_plain_from = Count{v != 0 ? 3u : 0u}; }},
    Sysctl{"net.inet.tcp.rexmit_initial", 86'400'000, "rto_initial",
           [](Config& c, Number v) { c.tcp.rto_initial = Duration::milliseconds(v); }},
    Sysctl{"net.inet.tcp.rexmit_min", 86'400'000, "rto_min",
           [](Config& c, Number v) { c.tcp.rto_min = Duration::milliseconds(v); }},
    Sysctl{"net.inet.tcp.rfc1323", 3, "window_scale, timestamps",
           [](Config& c, Number v) {
             c.tcp.window_scale = v == 1 || v == 2;
             c.tcp.timestamps = v == 1 || v == 3;
           }},
    Sysctl{"net.inet.tcp.rfc3042", 1, "limited_transmit",
           [](Config& c, Number v) { c.tcp.limited_transmit = v != 0; }},
    Sysctl{"net.inet.tcp.sack.enable", 1, "sack", [](Config& c, Number v) { c.tcp.sack = v != 0; }},
    Sysctl{"net.inet.tcp.sendbuf_auto", 1, "send_buffer_max_bytes",
           [](Config& c, Number v) {
             c.tcp.send_buffer_max = v != 0 ? c.tcp.send_buffer_max : c.tcp.send_buffer;
           }},
    Sysctl{"net.inet.tcp.sendbuf_max", 0x3fff'ffff, "send_buffer_max_bytes",
           [](Config& c, Number v) { c.tcp.send_buffer_max = bytes_of(v); }},
    Sysctl{"net.inet.tcp.sendspace", 0x3fff'ffff, "send_buffer_bytes",
           [](Config& c, Number v) { c.tcp.send_buffer = bytes_of(v); }},
    Sysctl{"net.inet.tcp.syncookies", 1, "syn_cookies",
           [](Config& c, Number v) { c.tcp.syn_cookies = static_cast<tcp::SynCookies>(v); }},
    Sysctl{"net.inet.tcp.syncookies_only", 1, "syn_cookies",
           [](Config& c, Number v) {
             c.tcp.syn_cookies = v != 0 ? tcp::SynCookies::always : c.tcp.syn_cookies;
           }},
    Sysctl{"net.inet.tcp.tolerate_missing_ts", 1, "timestamps_required",
           [](Config& c, Number v) { c.tcp.timestamps_required = v == 0; }},
};

/// Sysctls of systems that have no counterpart here: with these values, separated by blanks, or
/// with any (`*`), they change nothing that a script can see. A name that ends in a dot stands for
/// all that begin with it.
struct Neutral {
  std::string_view name, values;
};
constexpr std::array neutrals{
    Neutral{"route.initrwnd", "*"},
    Neutral{"net.core.", "*"},
    Neutral{"net.mptcp.", "*"},
    Neutral{"net.ipv4.conf.", "*"},
    Neutral{"net.ipv4.route.", "*"},
    Neutral{"net.ipv6.", "*"},
    Neutral{"kernel.", "*"},
    Neutral{"net.ipv4.icmp_ratelimit", "*"},
    Neutral{"net.ipv4.icmp_ratemask", "*"},
    Neutral{"net.ipv4.icmp_msgs_per_sec", "*"},
    Neutral{"net.ipv4.icmp_msgs_burst", "*"},
    Neutral{"net.ipv4.tcp_abort_on_overflow", "0"},
    Neutral{"net.ipv4.tcp_adv_win_scale", "1"},
    Neutral{"net.ipv4.tcp_app_win", "31"},
    Neutral{"net.ipv4.tcp_autocorking", "*"},
    Neutral{"net.ipv4.tcp_backlog_ack_defer", "*"},
    Neutral{"net.ipv4.tcp_comp_sack_delay_ns", "*"},
    Neutral{"net.ipv4.tcp_comp_sack_nr", "*"},
    Neutral{"net.ipv4.tcp_comp_sack_slack_ns", "*"},
    Neutral{"net.ipv4.tcp_ecn_fallback", "1"},
    Neutral{"net.ipv4.tcp_fack", "*"},
    Neutral{"net.ipv4.tcp_fastopen_blackhole_timeout_sec", "0"},
    Neutral{"net.ipv4.tcp_invalid_ratelimit", "500"},
    Neutral{"net.ipv4.tcp_limit_output_bytes", "*"},
    Neutral{"net.ipv4.tcp_max_reordering", "*"},
    Neutral{"net.ipv4.tcp_max_syn_backlog", "*"},
    Neutral{"net.ipv4.tcp_mem", "*"},
    Neutral{"net.ipv4.tcp_min_snd_mss", "48"},
    Neutral{"net.ipv4.tcp_min_tso_segs", "*"},
    Neutral{"net.ipv4.tcp_no_metrics_save", "*"},
    Neutral{"net.ipv4.tcp_no_ssthresh_metrics_save", "*"},
    Neutral{"net.ipv4.tcp_notsent_lowat", "-1 4294967295"},
    Neutral{"net.ipv4.tcp_orphan_retries", "0"},
    Neutral{"net.ipv4.tcp_pingpong_thresh", "1"},
    Neutral{"net.ipv4.tcp_plb_enabled", "0"},
    Neutral{"net.ipv4.tcp_retries2", "15"},
    Neutral{"net.ipv4.tcp_shrink_window", "0"},
    Neutral{"net.ipv4.tcp_stdurg", "0"},
    Neutral{"net.ipv4.tcp_synack_retries", "5"},
    Neutral{"net.ipv4.tcp_thin_linear_timeouts", "0"},
    Neutral{"net.ipv4.tcp_tso_rtt_log", "*"},
    Neutral{"net.ipv4.tcp_tso_win_divisor", "*"},
    Neutral{"net.ipv4.tcp_workaround_signed_windows", "0"},
    Neutral{"debug.", "*"},
    Neutral{"kern.", "*"},
    Neutral{"security.", "*"},
    Neutral{"net.link.", "*"},
    Neutral{"net.inet6.", "*"},
    Neutral{"net.inet.icmp.", "*"},
    Neutral{"net.inet.tcp.bb.", "*"},
    Neutral{"net.inet.tcp.bbr.", "*"},
    Neutral{"net.inet.tcp.cc.abe", "0"},
    Neutral{"net.inet.tcp.cc.dctcp.", "*"},
    Neutral{"net.inet.tcp.do_tcpdrain", "*"},
    Neutral{"net.inet.tcp.ecn.generalized", "0"},
    Neutral{"net.inet.tcp.ecn.plusplus", "0"},
    Neutral{"net.inet.tcp.fast_finwait2_recycle", "0"},
    Neutral{"net.inet.tcp.fastopen.acceptany", "0"},
    Neutral{"net.inet.tcp.fastopen.autokey", "*"},
    Neutral{"net.inet.tcp.fastopen.ccache_bucket_limit", "*"},
    Neutral{"net.inet.tcp.fastopen.path_disable_time", "*"},
    Neutral{"net.inet.tcp.fastopen.setkey", "*"},
    Neutral{"net.inet.tcp.functions_default", "freebsd"},
    Neutral{"net.inet.tcp.hostcache.", "*"},
    Neutral{"net.inet.tcp.icmp_may_rst", "1"},
    Neutral{"net.inet.tcp.isn_reseed_interval", "*"},
    Neutral{"net.inet.tcp.log_debug", "*"},
    Neutral{"net.inet.tcp.log_in_vain", "*"},
    Neutral{"net.inet.tcp.lro.", "*"},
    Neutral{"net.inet.tcp.maxtcptw", "*"},
    Neutral{"net.inet.tcp.mssdflt", "536"},
    Neutral{"net.inet.tcp.nolocaltimewait", "*"},
    Neutral{"net.inet.tcp.persmin", "5000"},
    Neutral{"net.inet.tcp.rack.", "*"},
    Neutral{"net.inet.tcp.reass.", "*"},
    Neutral{"net.inet.tcp.recvbuf_inc", "*"},
    Neutral{"net.inet.tcp.retries", "12"},
    Neutral{"net.inet.tcp.rexmit_slop", "200"},
    Neutral{"net.inet.tcp.rfc3390", "1"},
    Neutral{"net.inet.tcp.rfc3465", "1"},
    Neutral{"net.inet.tcp.rfc6675_pipe", "*"},
    Neutral{"net.inet.tcp.sack.", "*"},
    Neutral{"net.inet.tcp.sendbuf_inc", "*"},
    Neutral{"net.inet.tcp.syncache.", "*"},
    Neutral{"net.inet.tcp.tcbhashsize", "*"},
    Neutral{"net.inet.tcp.ts_offset_per_conn", "*"},
    Neutral{"net.inet.tcp.tso", "*"},
    Neutral{"net.inet.tcp.udp_tunneling_port", "0"},
    Neutral{"net.inet.tcp.v6mssdflt", "1220"},
    Neutral{"net.inet.tcp.v6pmtud_blackhole_mss", "*"},
};

/// Sysctls that are not a single number.
struct Other {
  std::string_view name, values, fields;
};
constexpr std::array<Other, 7> others{
    {{"net.ipv4.tcp_fastopen_key", "four words in hexadecimal, with -", "fast_open_key"},
     {"net.ipv4.ip_local_port_range", "two ports", "port_first, port_last"},
     {"net.ipv4.tcp_congestion_control", "reno, cubic, dctcp", "congestion"},
     {"net.ipv4.tcp_rmem", "three numbers", "receive_buffer_bytes, receive_buffer_max_bytes"},
     {"net.ipv4.tcp_wmem", "three numbers", "send_buffer_bytes, send_buffer_max_bytes"},
     {"net.inet.tcp.cc.algorithm", "newreno, cubic, dctcp", "congestion"},
     {"net.inet.tcp.initcwnd_segments", "0 or 10", "initial_window"}}};

/// For a sysctl that may be set later, its socket option: in units of `unit`; the socket accepts
/// `least` to `most`.
struct LaterName {
  std::string_view name;
  LaterOption::What what;
  int unit, least, most;
  std::string_view expected;
};
constexpr std::string_view whole_seconds = "whole seconds, 1 to 32767, after the first call";
constexpr std::array<LaterName, 5> later_names{
    {{"net.ipv4.ip_default_ttl", LaterOption::What::ttl, 1, 1, 255, "1 to 255"},
     {"net.inet.ip.ttl", LaterOption::What::ttl, 1, 1, 255, "1 to 255"},
     {"net.ipv4.tcp_keepalive_time", LaterOption::What::keepalive_idle, 1, 1, 32767, whole_seconds},
     {"net.inet.tcp.keepidle", LaterOption::What::keepalive_idle, 1000, 1, 32767, whole_seconds},
     {"net.inet.tcp.always_keepalive", LaterOption::What::keepalive, 1, 0, 1, "0 or 1"}}};

std::vector<Number> numbers_in(const std::string& text) {
  std::vector<Number> out;
  std::string word;
  for (char const c : text + " ") {
    if (c != ' ' && c != ',') {
      word += c;
    } else if (!word.empty()) {
      auto const number = parse_number(word);
      out.push_back(number && *number >= 0 ? static_cast<Number>(*number) : ~Number{0});
      word.clear();
    }
  }
  return out;
}

std::string wrong(const std::string& name, const std::string& value, const std::string& expected) {
  return fmt::format("{} is set to '{}', expected {}: correct it", name, value, expected);
}

std::string set_congestion(const std::string& name, const std::string& value, Config& config) {
  constexpr std::array<std::string_view, 3> words{"reno", "cubic", "dctcp"};
  std::string const known = value == "newreno" ? "reno" : value;
  auto const found = std::find(words.begin(), words.end(), known);
  if (found == words.end()) {
    return wrong(name, value, "reno, newreno, cubic or dctcp");
  }
  config.tcp.congestion = static_cast<tcp::Congestion>(found - words.begin());
  return {};
}

/// net.core.rmem_max, unless changed: no socket's window needs a smaller shift than this one does.
constexpr Number linux_rmem_max = 212'992;
std::uint8_t shift_for(Number most);

/// Minimum, default and maximum octets of a buffer.
std::string set_buffer(const std::string& name, const std::string& value, Config& config) {
  auto const numbers = numbers_in(value);
  bool const fits = numbers.size() == 3 && numbers[0] <= numbers[1] && numbers[1] <= numbers[2] &&
                    numbers[1] > 0 && numbers[2] <= 0x3fff'ffff;
  if (!fits) {
    return wrong(name, value, "three numbers of octets that do not decrease, up to 1073741823");
  }
  bool const receive = name == "net.ipv4.tcp_rmem";
  (receive ? config.tcp.receive_buffer : config.tcp.send_buffer) = bytes_of(numbers[1]);
  (receive ? config.tcp.receive_buffer_max : config.tcp.send_buffer_max) = bytes_of(numbers[2]);
  if (receive && !config.tcp.window_shift_automatic) {
    config.tcp.window_shift = shift_for(std::max(numbers[2], linux_rmem_max));
  }
  return {};
}

/// The key of Fast Open cookies, and perhaps a second one behind a comma, which is older.
std::string set_fast_open_key(const std::string& name, const std::string& value, Config& config) {
  constexpr std::size_t word = 8, whole = 35;
  std::string const first = value.substr(0, value.find(','));
  std::array<std::uint64_t, 4> words{};
  bool fits = first.size() == whole;
  for (std::size_t i = 0; fits && i < words.size(); ++i) {
    auto const number = parse_number("0x" + first.substr(i * (word + 1), word));
    fits = number.has_value() && *number >= 0 && (i == 3 || first[i * (word + 1) + word] == '-');
    words[i] = static_cast<std::uint64_t>(number.value_or(0));
  }
  if (!fits) {
    return wrong(name, value, "four words of eight hexadecimal digits, with '-' between them");
  }
  if ((words[0] | words[1] | words[2] | words[3]) == 0) {
    return wrong(name, value, "another key, because zero is none to this stack");
  }
  config.tcp.fast_open_key = {words[1] << 32 | words[0], words[3] << 32 | words[2]};
  return {};
}

std::string set_ports(const std::string& name, const std::string& value, Config& config) {
  auto const numbers = numbers_in(value);
  bool const fits =
      numbers.size() == 2 && numbers[0] > 0 && numbers[0] <= numbers[1] && numbers[1] <= 65535;
  if (!fits) {
    return wrong(name, value, "two ports, the lower one first");
  }
  config.tcp.port_first = Port{static_cast<std::uint16_t>(numbers[0])};
  config.tcp.port_last = Port{static_cast<std::uint16_t>(numbers[1])};
  return {};
}

/// What a route or a link may set, by the words of ip(8) and ifconfig(8).
std::string set_route(const std::string& name, const std::string& value, Config& config) {
  std::string text = value;
  bool const time = name == "route.rto_min";
  if (time && text.ends_with("ms")) {
    text.resize(text.size() - 2);
  }
  auto const number = parse_number(text);
  if (!number || *number < 0 || *number > 65535) {
    return wrong(name, value, "a number up to 65535");
  }
  auto const v = static_cast<Number>(*number);
  if (name == "route.mtu") {
    set_mtu(config, bytes_of(v));
  } else if (time) {
    config.tcp.rto_min = Duration::milliseconds(v);
  } else if (name == "route.initcwnd") {
    if (v != 10) {
      return wrong(name, value, "10: the stack has no other");
    }
    config.tcp.initial_window = tcp::InitialWindow::rfc6928;
  }
  return {};
}

/// 0 is the initial window of RFC 3390, which is RFC 5681's; a number of segments is only that of
/// RFC 6928.
std::string set_initial_window(const std::string& name, const std::string& value, Config& config) {
  auto const number = parse_number(value);
  if (!number || (*number != 0 && *number != 10)) {
    return wrong(name, value, "0 (that of RFC 5681) or 10: the stack has no other");
  }
  config.tcp.initial_window =
      *number == 10 ? tcp::InitialWindow::rfc6928 : tcp::InitialWindow::rfc5681;
  return {};
}

/// The shift that Linux offers for the largest receive buffer: tcp(7), tcp_rmem.
std::uint8_t shift_for(Number most) {
  int shift = 0;
  for (Number space = most; space > 65535 && shift < 14; space >>= 1) {
    ++shift;
  }
  return static_cast<std::uint8_t>(shift);
}

const Sysctl* find(const std::string& name) {
  for (Sysctl const& one : linux_names) {
    if (one.name == name) {
      return &one;
    }
  }
  for (Sysctl const& one : freebsd_names) {
    if (one.name == name) {
      return &one;
    }
  }
  return nullptr;
}

}  // namespace

bool is_neutral(const std::string& name, const std::string& value) {
  if (find(name) != nullptr) {
    return false;
  }
  for (Neutral const& one : neutrals) {
    bool const named = one.name.ends_with('.') ? name.starts_with(one.name) : name == one.name;
    if (named) {
      std::string const values = " " + std::string(one.values) + " ";
      return one.values == "*" || values.find(" " + value + " ") != std::string::npos;
    }
  }
  return false;
}

std::string set_sysctl(const std::string& name, const std::string& value, Config& config) {
  if (name.starts_with("route.")) {
    return set_route(name, value, config);
  }
  bool const accurate = name == "net.ipv4.tcp_ecn" || name == "net.inet.tcp.ecn.enable";
  if (accurate && (value == "3" || value == "4" || value == "5")) {
    return fmt::format(
        "{}={} is accurate ECN (RFC 9768), which this stack does not have, expected "
        "0 to 2: correct it",
        name, value);
  }
  if (name == "net.ipv4.tcp_congestion_control" || name == "net.inet.tcp.cc.algorithm") {
    return set_congestion(name, value, config);
  }
  if (name == "net.ipv4.tcp_rmem" || name == "net.ipv4.tcp_wmem") {
    return set_buffer(name, value, config);
  }
  if (name == "net.ipv4.tcp_fastopen_key") {
    return set_fast_open_key(name, value, config);
  }
  if (name == "net.ipv4.ip_local_port_range") {
    return set_ports(name, value, config);
  }
  if (name == "net.inet.tcp.initcwnd_segments") {
    return set_initial_window(name, value, config);
  }
  const Sysctl* const found = find(name);
  if (found == nullptr) {
    for (Neutral const& one : neutrals) {
      if (one.name == name) {
        return wrong(name, value, fmt::format("{}, as this stack behaves", one.values));
      }
    }
    return fmt::format(
        "the sysctl {} has no effect on this stack, expected one that "
        "'lockstep pkt sysctls' lists: remove it",
        name);
  }
  auto const number = parse_number(value);
  if (!number || *number < 0 || static_cast<Number>(*number) > found->most) {
    return wrong(name, value, fmt::format("0 to {}", found->most));
  }
  found->set(config, static_cast<Number>(*number));
  return {};
}

bool is_socket_default(const std::string& name) {
  return std::any_of(later_names.begin(), later_names.end(),
                     [&name](LaterName const& one) { return one.name == name; });
}

std::string set_later(const std::string& name, const std::string& value, LaterOption& out) {
  auto const found = std::find_if(later_names.begin(), later_names.end(),
                                  [&name](LaterName const& one) { return one.name == name; });
  if (found == later_names.end()) {
    return fmt::format("{} is no default of sockets, expected one: set it in the stack", name);
  }
  auto const number = parse_number(value);
  if (!number || *number % found->unit != 0 || *number / found->unit < found->least ||
      *number / found->unit > found->most) {
    return wrong(name, value, std::string(found->expected));
  }
  out = {found->what, static_cast<int>(*number / found->unit)};
  return {};
}

std::vector<SysctlRow> sysctl_rows() {
  std::vector<SysctlRow> out;
  const auto add = [&out](std::string_view name, std::string values, std::string_view fields) {
    bool const later = std::any_of(later_names.begin(), later_names.end(),
                                   [name](LaterName const& one) { return one.name == name; });
    bool const freebsd = name.starts_with("net.inet.");
    out.push_back({std::string(name), freebsd ? "FreeBSD" : "Linux", std::move(values),
                   std::string(fields), later});
  };
  for (Other const& one : others) {
    add(one.name, std::string(one.values), one.fields);
  }
  for (Sysctl const& one : linux_names) {
    add(one.name, fmt::format("0 to {}", one.most), one.fields);
  }
  for (Sysctl const& one : freebsd_names) {
    add(one.name, fmt::format("0 to {}", one.most), one.fields);
  }
  std::sort(out.begin(), out.end(),
            [](SysctlRow const& a, SysctlRow const& b) { return a.name < b.name; });
  return out;
}

}  // namespace lockstep::conformance::script
