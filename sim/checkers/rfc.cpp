// Feeds each host's segments to that host's referee and reports the certain violations.
#include "sim/checkers/rfc.hpp"

#include "core/units/hash.hpp"
#include "sim/kernel/kernel.hpp"

namespace lockstep::sim {
namespace {

// No station or fault forges or alters frames: each arrives as the host at its source address sent
// it.
bool all_honest(const World& world) {
  bool honest = world.stations.empty();
  for (const LaneFaultSpec& spec : world.lane_faults) {
    honest = honest && !std::holds_alternative<Substitute>(spec.fault) &&
             !std::holds_alternative<Corrupt>(spec.fault);
  }
  return honest;
}

constexpr std::uint32_t sampled_one_of = 8;

// The number of violations that one host's referee keeps, over all rules.
constexpr std::uint32_t violations_max = 256;

// If no frame is forged or altered, each host's referee also judges the segments of the other
// hosts as they arrive: late, out of order and with losses.
referee::Terms terms_of_run(const World& world) {
  referee::Terms terms = host_terms({});
  terms.others = all_honest(world);
  terms.mss_least = referee::Terms{}.mss_least;
  for (const HostSpec& host : world.hosts) {
    terms.mss_least = most(terms.mss_least, host.config.tcp.mss_least);
  }
  return terms;
}

}  // namespace

referee::Terms host_terms(const Config& config) {
  referee::Terms terms;
  terms.whole = true;
  terms.at_host = true;
  terms.likely = false;
  terms.others = false;
  terms.mss_least = most(terms.mss_least, config.tcp.mss_least);
  terms.connections_max = ~std::uint32_t{0};
  terms.violations_max = violations_max;
  terms.reported_max = FindingGroup::kept_max;
  terms.kept_octets_max = 65'536;
  return terms;
}

referee::Allowances allowances_of(const Config& config) {
  referee::Allowances out;
  out.cookies = config.tcp.syn_cookies != tcp::SynCookies::off;
  out.syn_cache = config.tcp.syn_cache_max.value != 0;
  out.fast_open_client = config.tcp.fast_open_client;
  out.fast_open_server = config.tcp.fast_open_server;
  out.unsent = config.link != LinkType::ip && config.static_neighbour_count.value == 0;
  out.lone_marks = false;
  return out;
}

referee::Sighting sighting_of(const SegmentView& view, Instant at) {
  referee::Sighting out;
  out.at = at;
  out.source = view.source;
  out.destination = view.destination;
  out.segment = view.segment;
  out.ecn = view.ecn;
  return out;
}

RfcChecker::RfcChecker(const World& world, Findings& findings, Checks checks)
    : world_(world), findings_(findings), checks_(checks) {
  for (std::size_t i = 0; i < world.hosts.size(); ++i) {
    benches_.push_back(std::make_unique<Bench>(terms_of_run(world)));
  }
}

// The same for both directions and in every run.
bool RfcChecker::judges(const SegmentView& view) const {
  if (checks_ != Checks::sampled) {
    return checks_ == Checks::all;
  }
  std::uint64_t sum = 0;
  for (Endpoint const& end : {view.source, view.destination}) {
    Fingerprint mixed;
    mixed.add(end.address.high);
    mixed.add(end.address.low);
    mixed.add(end.port.value);
    sum += mixed.value();
  }
  return (sum >> 32) % sampled_one_of == 0;
}

void RfcChecker::report(HostIndex host, const Finding& finding, std::uint64_t times) {
  Finding named = finding;
  named.checker = CheckerKind::rfc;
  named.where = world_.hosts[host.value].name;
  findings_.add(named, times);
}

// Reports the violations that the referee counted but did not keep since the last call.
void RfcChecker::tell_counted(HostIndex host, Instant at) {
  Bench& bench = *benches_[host.value];
  if (bench.violations.dropped() == bench.dropped) {
    return;
  }
  bench.dropped = bench.violations.dropped();
  for (std::uint32_t i = 0; i < referee::rule_count; ++i) {
    std::uint64_t const all = bench.violations.dropped_certain(i);
    if (all != bench.counted[i]) {
      report(host, {CheckerKind::rfc, at, {}, referee::rule_texts[i].words, 0, 0},
             all - bench.counted[i]);
      bench.counted[i] = all;
    }
  }
}

void RfcChecker::tell(HostIndex host, Instant at) {
  Bench& bench = *benches_[host.value];
  for (; bench.reported < bench.violations.kept().size(); ++bench.reported) {
    referee::Violation const& violation = bench.violations.kept()[bench.reported];
    if (violation.certainty() == referee::Certainty::certain) {
      report(host, {CheckerKind::rfc,
                    violation.at,
                    {},
                    text_of(violation.rule).words,
                    violation.numbers.expected,
                    violation.numbers.found});
    }
  }
  tell_counted(host, at);
}

void RfcChecker::sent(const Kernel& kernel, const FrameNote& note) {
  if (note.node.kind != NodeKind::host) {
    return;
  }
  HostIndex const host{note.node.index};
  Config const& config = world_.hosts[host.value].config;
  SegmentView view;
  FrameContent const content = read_frame(config.link, note.bytes, view);
  if (content == FrameContent::malformed) {
    report(host,
           {CheckerKind::rfc, note.at, {}, "a malformed frame was sent", 0, note.bytes.size()});
  }
  if (content != FrameContent::tcp) {
    return;
  }
  if (view.packet_bytes > config.mtu.count) {
    report(host, {CheckerKind::rfc,
                  note.at,
                  {},
                  "a packet is larger than the link's MTU",
                  config.mtu.count,
                  view.packet_bytes});
  }
  Nic const* const nic = kernel.host(host).nic();
  judge_sent({host, note.at, view, nic != nullptr && nic->losses().out != 0});
}

void RfcChecker::delivered(const Kernel&, const FrameNote& note) {
  if (note.node.kind != NodeKind::host) {
    return;
  }
  SegmentView view;
  Config const& config = world_.hosts[note.node.index].config;
  OptionReading const reading =
      config.tcp.options_lenient ? OptionReading::lenient : OptionReading::strict;
  if (read_frame(config.link, note.bytes, view, reading) == FrameContent::tcp) {
    judge_arrived({{note.node.index}, note.at, view});
  }
}

void RfcChecker::judge_sent(const SegmentSeen& said) {
  if (!judges(said.view)) {
    return;
  }
  Bench& bench = *benches_[said.host.value];
  referee::Allowances may = allowances_of(world_.hosts[said.host.value].config);
  may.unsent = may.unsent || said.unseen;
  bench.judge.see_own(sighting_of(said.view, said.at), may);
  tell(said.host, said.at);
}

void RfcChecker::judge_arrived(const SegmentSeen& heard) {
  if (!judges(heard.view)) {
    return;
  }
  benches_[heard.host.value]->judge.see(sighting_of(heard.view, heard.at));
  tell(heard.host, heard.at);
}

}  // namespace lockstep::sim
