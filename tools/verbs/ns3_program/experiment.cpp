// One run: flows of our TCP and of ns-3's over a ready-made topology, and the recorded results.
#include "tools/verbs/ns3_program/experiment.hpp"

#include <fmt/core.h>
#include <ns3/application-container.h>
#include <ns3/boolean.h>
#include <ns3/bulk-send-application.h>
#include <ns3/bulk-send-helper.h>
#include <ns3/channel.h>
#include <ns3/config.h>
#include <ns3/csma-helper.h>
#include <ns3/inet-socket-address.h>
#include <ns3/packet-sink-helper.h>
#include <ns3/packet-sink.h>
#include <ns3/point-to-point-helper.h>
#include <ns3/pointer.h>
#include <ns3/queue-disc.h>
#include <ns3/queue.h>
#include <ns3/rng-seed-manager.h>
#include <ns3/simulator.h>
#include <ns3/string.h>
#include <ns3/tcp-l4-protocol.h>
#include <ns3/traffic-control-layer.h>
#include <ns3/uinteger.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/stack/statistics.hpp"
#include "sim/ns3/helper.hpp"
#include "tools/base/output/json.hpp"
#include "tools/base/output/table.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/verbs/ns3_program/recorder.hpp"
#include "tools/verbs/ns3_program/ruled.hpp"
#include "tools/verbs/ns3_program/trial.hpp"

namespace lockstep::tools {
namespace {

using namespace ns3;

constexpr std::uint16_t port = 5001;
constexpr double start_s = 1;  // every Wi-Fi station has joined by then
constexpr std::uint32_t buffer_bytes = 1 << 20;
constexpr double stagger_s = 0.01;  // between the starts of two flows

std::optional<TypeId> type_of(const std::string& kind) {
  if (kind == "newreno-ruled") {
    return RuledNewReno::GetTypeId();
  }
  if (kind == "cubic-ruled") {
    return RuledCubic::GetTypeId();
  }
  constexpr std::array<std::pair<std::string_view, const char*>, 6> types{
      {{"newreno", "ns3::TcpNewReno"},
       {"cubic", "ns3::TcpCubic"},
       {"bbr", "ns3::TcpBbr"},
       {"dctcp", "ns3::TcpDctcp"},
       {"vegas", "ns3::TcpVegas"},
       {"linuxreno", "ns3::TcpLinuxReno"}}};
  for (const auto& [name, type] : types) {
    if (name == kind) {
      return TypeId::LookupByName(type);
    }
  }
  return std::nullopt;
}

void check(const ExperimentSettings& settings) {
  for (const auto& kind : settings.flows) {
    if (kind != "ours" && !type_of(kind)) {
      throw Failure(ExitCode::bad_input,
                    fmt::format("--flows: unknown TCP '{}': use ours, newreno, cubic, bbr, "
                                "dctcp, vegas, linuxreno, newreno-ruled or cubic-ruled",
                                kind));
    }
  }
  for (const auto& [name, value] : settings.attributes) {
    if (!ns3_takes([&] {
          return CreateObject<LockstepStack>()->SetAttributeFailSafe(name, StringValue(value));
        })) {
      throw Failure(ExitCode::bad_input,
                    fmt::format("--set {}={}: LockstepStack has no such attribute, or the value "
                                "is out of range: core/stack/README.md lists them",
                                name, value));
    }
  }
  for (const auto& [name, value] : settings.defaults) {
    if (!ns3_takes([&] { return ns3::Config::SetDefaultFailSafe(name, StringValue(value)); })) {
      throw Failure(ExitCode::bad_input,
                    fmt::format("--default {}={}: ns-3 has no such attribute, or the value is out "
                                "of range: write it like ns3::TcpSocketBase::MinRto=200ms",
                                name, value));
    }
  }
  if (settings.measure_from >= settings.stop) {
    throw Failure(ExitCode::bad_input, fmt::format("--measure-from {}: the run ends at {} (--stop)",
                                                   settings.measure_from, settings.stop));
  }
}

struct Running {
  Topology topology;
  std::vector<Ptr<BulkSendApplication>> sources;
  std::vector<Ptr<PacketSink>> sinks;
};

bool receiver_is_ours(const ExperimentSettings& settings, std::size_t flow) {
  return settings.receivers == "ours" ||
         (settings.receivers == "same" && settings.flows[flow] == "ours");
}

/// The receiver for ns-3's senders, with a buffer of a megabyte from the start, like ns-3's own
/// receiver: with a smaller window ns-3's TcpRateLinux writes outside its memory.
LockstepHelper receiver_of_theirs(const ExperimentSettings& settings, const LockstepHelper& ours) {
  LockstepHelper lockstep = ours;
  if (settings.profile == "default") {
    for (const char* name : {"ReceiveBufferBytes", "ReceiveBufferMaxBytes"}) {
      bool const said = std::ranges::any_of(settings.attributes,
                                            [&](const auto& each) { return each.first == name; });
      if (!said) {
        lockstep.Set(name, UintegerValue(buffer_bytes));
      }
    }
  }
  return lockstep;
}

void install_stacks(const ExperimentSettings& settings, const Topology& topology) {
  LockstepHelper lockstep;
  lockstep.SetProfile(settings.profile);
  // Like ns-3's sender, which sets TcpNoDelay; else the last octets wait for a delayed ACK.
  lockstep.Set("Nagle", BooleanValue(false));
  if (settings.topology.ecn) {
    lockstep.Set("Ecn", StringValue("on"));
  }
  for (const auto& [name, value] : settings.attributes) {
    lockstep.Set(name, StringValue(value));
  }
  auto const theirs = receiver_of_theirs(settings, lockstep);
  for (std::size_t i = 0; i < settings.flows.size(); ++i) {
    Pair const& pair = topology.pairs[i];
    if (settings.flows[i] == "ours") {
      lockstep.Install(pair.from);
    } else {
      pair.from->GetObject<TcpL4Protocol>()->SetAttribute(
          "SocketType", TypeIdValue(type_of(settings.flows[i]).value()));
    }
    if (receiver_is_ours(settings, i)) {
      (settings.flows[i] == "ours" ? lockstep : theirs).Install(pair.to);
    }
  }
  for (const auto& [device, gateway] : topology.gateways) {
    if (LockstepHelper::GetStack(device) != nullptr) {
      lockstep.SetGateway(device, gateway);
    }
  }
  lockstep.AssignStreams(topology.hosts, 1000);
}

void start_flow(const ExperimentSettings& settings, Running& running, std::size_t i) {
  Pair const& pair = running.topology.pairs[i];
  Address const remote = InetSocketAddress(pair.address, port);
  auto const factory = [](bool ours) {
    return ours ? "ns3::LockstepSocketFactory" : "ns3::TcpSocketFactory";
  };
  PacketSinkHelper sink(factory(receiver_is_ours(settings, i)), remote);
  running.sinks.push_back(DynamicCast<PacketSink>(sink.Install(pair.to).Get(0)));
  BulkSendHelper source(factory(settings.flows[i] == "ours"), remote);
  source.SetAttribute("MaxBytes", UintegerValue(settings.bytes));
  source.SetAttribute("SendSize", UintegerValue(1448));
  auto sources = source.Install(pair.from);
  sources.Start(Seconds(start_s + stagger_s * static_cast<double>(i)));
  running.sources.push_back(DynamicCast<BulkSendApplication>(sources.Get(0)));
}

/// The socket of a flow exists only once its application has started.
void follow_flow(Recorder* recorder, Ptr<BulkSendApplication> source, std::uint32_t flow) {
  recorder->follow_socket(source->GetSocket(), flow);
  recorder->follow_segments(source->GetSocket(), flow);
}

Ptr<Object> queue_of(Ptr<NetDevice> device) {
  auto const control = device->GetNode()->GetObject<TrafficControlLayer>();
  auto const disc = control == nullptr ? nullptr : control->GetRootQueueDiscOnDevice(device);
  if (disc != nullptr) {
    return disc;
  }
  PointerValue queue;
  device->GetAttribute("TxQueue", queue);
  return queue.GetObject();
}

void follow(const ExperimentSettings& settings, Running& running, Recorder& recorder) {
  for (std::uint32_t i = 0; i < settings.flows.size(); ++i) {
    Simulator::Schedule(Seconds(start_s + stagger_s * i) + NanoSeconds(1), &follow_flow, &recorder,
                        running.sources[i], i);
    recorder.follow_arrivals(running.sinks[i], i, Seconds(settings.measure_from));
  }
  for (std::uint32_t i = 0; settings.speed && i < running.topology.hosts.GetN(); ++i) {
    // If ns-3's stack was installed before the link, the host's first device is the loopback.
    auto const host = running.topology.hosts.Get(i);
    for (std::uint32_t j = 0; j < host->GetNDevices(); ++j) {
      recorder.follow_frames(host->GetDevice(j));
    }
  }
  for (std::uint32_t i = 0; i < running.topology.bottlenecks.size(); ++i) {
    auto const device = running.topology.bottlenecks[i];
    recorder.follow_queue(queue_of(device), i);
    if (settings.measure_from > 0) {
      recorder.follow_delays(queue_of(device), device, i, Seconds(settings.measure_from));
    }
    recorder.follow_drops(device->GetNode()->GetObject<TrafficControlLayer>(), i);
    auto const channel = device->GetChannel();
    for (std::size_t j = 0; j < channel->GetNDevices(); ++j) {
      recorder.follow_losses(channel->GetDevice(j));
    }
  }
}

void capture(const ExperimentSettings& settings) {
  if (settings.folder.empty() || !settings.pcap) {
    return;
  }
  auto const prefix = settings.folder + "/" + settings.topology.name;
  PointToPointHelper().EnablePcapAll(prefix);
  if (settings.topology.name == "lan") {
    CsmaHelper().EnablePcapAll(prefix);
  }
}

FlowResult result_of(const ExperimentSettings& settings, const Running& running,
                     const Recorder& recorder, std::uint32_t i) {
  FlowResult flow;
  flow.kind = settings.flows[i];
  flow.received = running.sinks[i]->GetTotalRx();
  flow.complete = flow.received == settings.bytes;
  auto const& arrived = recorder.arrived[i];
  double const began = start_s + stagger_s * i;
  flow.first_s = arrived.first.GetSeconds();
  flow.last_s = arrived.last.GetSeconds();
  double const took = flow.last_s - began;
  flow.goodput_bit_s = took > 0 ? static_cast<double>(flow.received) * 8 / took : 0;
  flow.segments = recorder.sent[i].segments;
  flow.retransmissions = recorder.sent[i].again;
  flow.timeouts = recorder.sent[i].timeouts;
  double const late_s = Simulator::Now().GetSeconds() - std::max(began, settings.measure_from);
  flow.late_bit_s = late_s > 0 ? static_cast<double>(arrived.late_octets) * 8 / late_s : 0;
  if (flow.kind == "ours") {
    auto const host = running.topology.pairs[i].from->GetObject<LockstepHost>();
    auto const& counters = host->GetStacks().front()->GetCore().statistics().tcp;
    flow.segments = counters.data_segments_out;
    flow.retransmissions = counters.retransmissions;
    flow.timeouts = counters.timeouts;
  }
  return flow;
}

void add_delays(std::vector<std::int64_t> delays_ns, QueueResult& out) {
  if (delays_ns.empty()) {
    return;
  }
  double sum = 0;
  for (auto const each : delays_ns) {
    sum += static_cast<double>(each);
  }
  out.delay_mean_ms = sum / static_cast<double>(delays_ns.size()) / 1e6;
  auto const at = delays_ns.begin() + static_cast<std::ptrdiff_t>(delays_ns.size() * 95 / 100);
  std::ranges::nth_element(delays_ns, at);
  out.delay_p95_ms = static_cast<double>(*at) / 1e6;
}

QueueResult queue_result(const Running& running, const Recorder& recorder, std::uint32_t i) {
  QueueResult out;
  auto const& seen = recorder.queues[i];
  out.most = seen.most;
  out.drops = seen.drops;
  double const now = Simulator::Now().GetSeconds();
  out.mean = (seen.packet_seconds + seen.now * (now - seen.since.GetSeconds())) / now;
  add_delays(seen.delays_ns, out);
  auto const object = queue_of(running.topology.bottlenecks[i]);
  if (auto const disc = DynamicCast<QueueDisc>(object)) {
    out.drops += disc->GetStats().nTotalDroppedPackets;
    out.marks = disc->GetStats().nTotalMarkedPackets;
  } else if (auto const queue = DynamicCast<QueueBase>(object)) {
    out.drops += queue->GetTotalDroppedPackets();
  }
  return out;
}

/// Jain's index (sum x)^2 / (n sum x^2) of the goodputs.
double jain_of(const std::vector<FlowResult>& flows) {
  double sum = 0;
  double squares = 0;
  for (const auto& flow : flows) {
    sum += flow.goodput_bit_s;
    squares += flow.goodput_bit_s * flow.goodput_bit_s;
  }
  return squares > 0 ? sum * sum / (static_cast<double>(flows.size()) * squares) : 0;
}

void prepare(const ExperimentSettings& settings) {
  check(settings);
  if (!settings.folder.empty()) {
    std::error_code error;
    std::filesystem::create_directories(settings.folder, error);
    if (error) {
      throw Failure(ExitCode::environment,
                    fmt::format("--out {}: {}", settings.folder, error.message()));
    }
  }
  RngSeedManager::SetSeed(settings.seed);
  RngSeedManager::SetRun(settings.run);
  // As in our stacks: Ethernet-sized segments with timestamps, and buffers of a megabyte.
  ns3::Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
  ns3::Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(buffer_bytes));
  ns3::Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(buffer_bytes));
  ns3::Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
  if (settings.topology.ecn) {
    ns3::Config::SetDefault("ns3::TcpSocketBase::UseEcn", StringValue("On"));
  }
  for (const auto& [name, value] : settings.defaults) {
    ns3::Config::SetDefault(name, StringValue(value));
  }
}

}  // namespace

ExperimentResult run_experiment(const ExperimentSettings& wanted) {
  ExperimentSettings settings = wanted;
  settings.topology = completed(wanted.topology);
  settings.topology.pairs = static_cast<std::uint32_t>(settings.flows.size());
  prepare(settings);
  Running running{build_topology(settings.topology), {}, {}};
  install_stacks(settings, running.topology);
  for (std::size_t i = 0; i < settings.flows.size(); ++i) {
    start_flow(settings, running, i);
  }
  Recorder recorder(settings.folder.empty() ? "" : settings.folder + "/traces.csv",
                    static_cast<std::uint32_t>(settings.flows.size()));
  follow(settings, running, recorder);
  capture(settings);
  Simulator::Stop(Seconds(settings.stop));
  auto const began = std::chrono::steady_clock::now();
  Simulator::Run();
  ExperimentResult result;
  result.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  result.simulated_s = Simulator::Now().GetSeconds();
  result.events = Simulator::GetEventCount();
  result.host_frames = recorder.frames;
  result.lost = recorder.lost;
  for (std::uint32_t i = 0; i < settings.flows.size(); ++i) {
    result.flows.push_back(result_of(settings, running, recorder, i));
  }
  for (std::uint32_t i = 0; i < recorder.queues.size(); ++i) {
    result.queues.push_back(queue_result(running, recorder, i));
  }
  result.jain = jain_of(result.flows);
  recorder.close();
  Simulator::Destroy();
  return result;
}

std::string result_text(const ExperimentResult& result) {
  using Align = TextTable::Align;
  TextTable flows({{"flow", Align::right},
                   {"TCP", Align::left},
                   {"received", Align::right},
                   {"took", Align::right},
                   {"goodput", Align::right},
                   {"segments", Align::right},
                   {"again", Align::right}});
  for (std::size_t i = 0; i < result.flows.size(); ++i) {
    FlowResult const& flow = result.flows[i];
    flows.add({fmt::format("{}", i), flow.kind, fmt::format("{}", flow.received),
               flow.complete ? fmt::format("{:.3f} s", flow.last_s - start_s -
                                                           stagger_s * static_cast<double>(i))
                             : "unfinished",
               fmt::format("{:.3f} Mbit/s", flow.goodput_bit_s / 1e6),
               fmt::format("{}", flow.segments), fmt::format("{}", flow.retransmissions)});
  }
  std::string text = flows.text(terminal_columns());
  for (std::size_t i = 0; i < result.queues.size(); ++i) {
    QueueResult const& queue = result.queues[i];
    text += fmt::format("queue {}: {} packets at most, {:.1f} on average, {} dropped, {} marked\n",
                        i, queue.most, queue.mean, queue.drops, queue.marks);
  }
  text += fmt::format("Jain's index {:.4f}; {:.1f} s simulated, {} events in {:.2f} s\n",
                      result.jain, result.simulated_s, result.events, result.wall_s);
  return text;
}

std::string result_json(const ExperimentSettings& settings, const ExperimentResult& result) {
  nlohmann::ordered_json out;
  out["topology"] = settings.topology.name;
  out["seed"] = settings.seed;
  out["run"] = settings.run;
  out["bytes"] = settings.bytes;
  for (const auto& flow : result.flows) {
    out["flows"].push_back({{"tcp", flow.kind},
                            {"received_bytes", flow.received},
                            {"complete", flow.complete},
                            {"first_s", flow.first_s},
                            {"last_s", flow.last_s},
                            {"goodput_bit_s", flow.goodput_bit_s},
                            {"data_segments", flow.segments},
                            {"retransmissions", flow.retransmissions},
                            {"timeouts", flow.timeouts}});
    if (settings.measure_from > 0) {
      out["flows"].back()["late_goodput_bit_s"] = flow.late_bit_s;
    }
  }
  for (const auto& queue : result.queues) {
    out["queues"].push_back({{"packets_most", queue.most},
                             {"packets_mean", queue.mean},
                             {"drops", queue.drops},
                             {"marks", queue.marks}});
    if (settings.measure_from > 0) {
      out["queues"].back()["delay_mean_ms"] = queue.delay_mean_ms;
      out["queues"].back()["delay_p95_ms"] = queue.delay_p95_ms;
    }
  }
  out["jain"] = result.jain;
  out["simulated_s"] = result.simulated_s;
  out["events"] = result.events;
  out["lost_by_chance"] = result.lost;
  if (settings.speed) {
    out["host_frames"] = result.host_frames;
    out["wall_s"] = result.wall_s;
  }
  return json_text(out);
}

}  // namespace lockstep::tools
