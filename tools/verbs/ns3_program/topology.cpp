// Ready-made ns-3 networks: nodes, links, the bottleneck, and addresses.
#include "tools/verbs/ns3_program/topology.hpp"

#include <fmt/core.h>
#include <ns3/boolean.h>
#include <ns3/csma-helper.h>
#include <ns3/data-rate.h>
#include <ns3/double.h>
#include <ns3/error-model.h>
#include <ns3/internet-stack-helper.h>
#include <ns3/ipv4-address-helper.h>
#include <ns3/ipv4-global-routing-helper.h>
#include <ns3/mobility-helper.h>
#include <ns3/nstime.h>
#include <ns3/point-to-point-helper.h>
#include <ns3/pointer.h>
#include <ns3/queue-size.h>
#include <ns3/ssid.h>
#include <ns3/string.h>
#include <ns3/traffic-control-helper.h>
#include <ns3/uinteger.h>
#include <ns3/wifi-helper.h>
#include <ns3/wifi-mac-helper.h>
#include <ns3/yans-wifi-helper.h>

#include <algorithm>

#include "tools/base/process/failure.hpp"
#include "tools/verbs/ns3_program/trial.hpp"

namespace lockstep::tools {
namespace {

using namespace ns3;

/// Allocates networks of 10.0.0.0/8 in sequence.
class Networks {
 public:
  Networks() { helper_.SetBase("10.1.0.0", "255.255.255.0"); }
  Ipv4InterfaceContainer assign(const NetDeviceContainer& devices) {
    auto const interfaces = helper_.Assign(devices);
    helper_.NewNetwork();
    return interfaces;
  }

 private:
  Ipv4AddressHelper helper_;
};

PointToPointHelper link_of(const std::string& rate, const std::string& delay, std::uint32_t queue) {
  PointToPointHelper link;
  link.SetDeviceAttribute("DataRate", StringValue(rate));
  link.SetChannelAttribute("Delay", StringValue(delay));
  link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue(fmt::format("{}p", queue)));
  return link;
}

/// The link of an end host, which is never the bottleneck.
PointToPointHelper access_link(const TopologySettings& settings) {
  bool const quick = settings.name == "datacenter";
  return link_of("10Gbps", quick ? "5us" : "1ms", 1000);
}

void set_disc(const TopologySettings& settings, Ptr<NetDevice> device) {
  TrafficControlHelper::Default().Uninstall(device);
  TrafficControlHelper discs;
  auto const size = QueueSizeValue(QueueSize(fmt::format("{}p", settings.queue)));
  if (settings.disc == "none") {
    return;
  }
  if (settings.disc == "pfifo") {
    discs.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", size);
  } else if (settings.disc == "codel") {
    discs.SetRootQueueDisc("ns3::CoDelQueueDisc", "MaxSize", size, "UseEcn",
                           BooleanValue(settings.ecn));
  } else if (settings.disc == "fqcodel") {
    discs.SetRootQueueDisc("ns3::FqCoDelQueueDisc", "MaxSize", size, "UseEcn",
                           BooleanValue(settings.ecn));
  } else if (settings.disc == "pie") {
    discs.SetRootQueueDisc("ns3::PieQueueDisc", "MaxSize", size, "UseEcn",
                           BooleanValue(settings.ecn));
  } else if (settings.disc == "red1993") {
    // Floyd and Jacobson's, with ns-3's defaults or those of --default.
    discs.SetRootQueueDisc("ns3::RedQueueDisc", "MaxSize", size, "UseEcn",
                           BooleanValue(settings.ecn), "LinkBandwidth", StringValue(settings.rate));
  } else {
    // A marking threshold at a sixth of the queue, as in data centre switches.
    discs.SetRootQueueDisc("ns3::RedQueueDisc", "MaxSize", size, "UseEcn",
                           BooleanValue(settings.ecn), "MinTh", DoubleValue(settings.queue / 6.0),
                           "MaxTh", DoubleValue(settings.queue / 6.0 + 1), "QW", DoubleValue(1),
                           "UseHardDrop", BooleanValue(!settings.ecn));
  }
  discs.Install(device);
}

/// Connects two routers; the first one's device towards the second is a bottleneck.
void join_routers(const TopologySettings& settings, Topology& out, Networks& networks,
                  std::uint32_t first) {
  // With a queue disc, the device's own queue is as short as possible.
  std::uint32_t const held = settings.disc == "none" ? settings.queue : 1;
  auto const devices = link_of(settings.rate, settings.delay, held)
                           .Install(out.routers.Get(first), out.routers.Get(first + 1));
  networks.assign(devices);
  set_disc(settings, devices.Get(0));
  set_disc(settings, devices.Get(1));
  out.bottlenecks.push_back(devices.Get(0));
  if (settings.loss > 0) {
    auto const losses = CreateObject<RateErrorModel>();
    losses->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
    losses->SetRate(settings.loss);
    losses->AssignStreams(first);
    devices.Get(1)->SetAttribute("ReceiveErrorModel", PointerValue(losses));
  }
}

/// Connects a host to a router; returns its address.
Ipv4Address join_host(const TopologySettings& settings, Networks& networks, Ptr<Node> host,
                      Ptr<Node> router) {
  auto const devices = access_link(settings).Install(host, router);
  return networks.assign(devices).GetAddress(0);
}

Topology chain(const TopologySettings& settings) {
  Topology out;
  std::uint32_t const hops = settings.name == "parking-lot" ? 3 : 1;
  out.routers.Create(hops + 1);
  out.hosts.Create(2 * settings.pairs);
  InternetStackHelper().Install(out.routers);
  InternetStackHelper().Install(out.hosts);
  Networks networks;
  for (std::uint32_t i = 0; i < hops; ++i) {
    join_routers(settings, out, networks, i);
  }
  for (std::uint32_t i = 0; i < settings.pairs; ++i) {
    // In a parking lot the first flow crosses all hops, each other flow one.
    bool const whole = hops == 1 || i == 0;
    std::uint32_t const enters = whole ? 0 : (i - 1) % hops;
    std::uint32_t const leaves = whole ? hops : enters + 1;
    Pair pair{out.hosts.Get(2 * i), out.hosts.Get(2 * i + 1), {}};
    join_host(settings, networks, pair.from, out.routers.Get(enters));
    pair.address = join_host(settings, networks, pair.to, out.routers.Get(leaves));
    out.pairs.push_back(pair);
  }
  Ipv4GlobalRoutingHelper::PopulateRoutingTables();
  return out;
}

Topology lan(const TopologySettings& settings) {
  Topology out;
  out.hosts.Create(2 * settings.pairs);
  InternetStackHelper().Install(out.hosts);
  CsmaHelper link;
  link.SetChannelAttribute("DataRate", StringValue(settings.rate));
  link.SetChannelAttribute("Delay", StringValue(settings.delay));
  link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue(fmt::format("{}p", settings.queue)));
  auto const devices = link.Install(out.hosts);
  Networks networks;
  auto const interfaces = networks.assign(devices);
  for (std::uint32_t i = 0; i < settings.pairs; ++i) {
    out.pairs.push_back(
        {out.hosts.Get(2 * i), out.hosts.Get(2 * i + 1), interfaces.GetAddress(2 * i + 1)});
  }
  out.bottlenecks.push_back(devices.Get(0));
  return out;
}

NetDeviceContainer join_by_wifi(const NodeContainer& stations, Ptr<Node> access) {
  YansWifiPhyHelper phy;
  phy.SetChannel(YansWifiChannelHelper::Default().Create());
  WifiHelper wifi;
  wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager", "DataMode",
                               StringValue("OfdmRate54Mbps"));
  wifi.SetStandard(WIFI_STANDARD_80211a);
  WifiMacHelper mac;
  Ssid const ssid("lockstep");
  mac.SetType("ns3::ApWifiMac", "Ssid", SsidValue(ssid));
  NetDeviceContainer devices = wifi.Install(phy, mac, access);
  mac.SetType("ns3::StaWifiMac", "Ssid", SsidValue(ssid));
  devices.Add(wifi.Install(phy, mac, stations));
  MobilityHelper mobility;
  mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
  mobility.Install(access);
  mobility.Install(stations);
  return devices;
}

/// Wi-Fi stations reach servers on a wire through an access point.
Topology wifi(const TopologySettings& settings) {
  Topology out;
  NodeContainer stations(settings.pairs);
  NodeContainer servers(settings.pairs);
  out.routers.Create(2);
  out.hosts.Add(stations);
  out.hosts.Add(servers);
  InternetStackHelper().Install(out.routers);
  InternetStackHelper().Install(out.hosts);
  Networks networks;
  auto const devices = join_by_wifi(stations, out.routers.Get(0));
  auto const access = networks.assign(devices).GetAddress(0);
  join_routers(settings, out, networks, 0);
  for (std::uint32_t i = 0; i < settings.pairs; ++i) {
    auto const address = join_host(settings, networks, servers.Get(i), out.routers.Get(1));
    out.pairs.push_back({stations.Get(i), servers.Get(i), address});
    out.gateways.emplace_back(devices.Get(i + 1), access);
  }
  Ipv4GlobalRoutingHelper::PopulateRoutingTables();
  return out;
}

/// ns-3 reads a unit without a number as zero.
bool begins_as_number(const std::string& text) {
  return !text.empty() && text.front() >= '0' && text.front() <= '9';
}

void check_link(const TopologySettings& settings) {
  bool const rate = begins_as_number(settings.rate) && ns3_takes([&] {
                      auto const bits = DataRate(settings.rate).GetBitRate();
                      return bits >= 1'000 && bits <= 1'000'000'000'000;
                    });
  if (!rate) {
    throw Failure(ExitCode::bad_input,
                  fmt::format("--rate {}: expected a rate from 1kbps to 1000Gbps, like 10Mbps",
                              settings.rate));
  }
  bool const delay = begins_as_number(settings.delay) &&
                     ns3_takes([&] { return Time(settings.delay) <= Hours(1); });
  if (!delay) {
    throw Failure(
        ExitCode::bad_input,
        fmt::format("--delay {}: expected a time from 0s to 1h, like 20ms", settings.delay));
  }
}

/// Refuses options that a LAN has no use for.
void check_lan(const TopologySettings& settings) {
  const char* const option = settings.loss > 0                                   ? "--loss"
                             : !settings.disc.empty() && settings.disc != "none" ? "--disc"
                             : settings.ecn                                      ? "--ecn"
                                                                                 : nullptr;
  if (option != nullptr) {
    throw Failure(ExitCode::bad_input,
                  fmt::format("{}: the topology lan has no bottleneck that can lose or mark "
                              "packets or have a queue discipline: leave it out, or use "
                              "dumbbell, parking-lot, wifi, lossy or datacenter",
                              option));
  }
}

}  // namespace

TopologySettings completed(const TopologySettings& settings) {
  if (std::ranges::find(topology_names, settings.name) == topology_names.end()) {
    throw Failure(ExitCode::bad_input,
                  fmt::format("unknown topology '{}': use dumbbell, parking-lot, lan, wifi, "
                              "lossy or datacenter",
                              settings.name));
  }
  TopologySettings out = settings;
  bool const quick = out.name == "datacenter";
  bool const lan = out.name == "lan";
  auto const fill = [](std::string& field, const char* text) {
    field = field.empty() ? text : field;
  };
  if (lan) {
    check_lan(settings);
  }
  fill(out.rate, quick ? "1Gbps" : lan ? "100Mbps" : "10Mbps");
  fill(out.delay, quick ? "10us" : lan ? "5us" : "20ms");
  fill(out.disc, quick ? "red" : "none");
  out.queue = out.queue == 0 ? 100 : out.queue;
  out.ecn = out.ecn || quick;
  out.loss = out.loss < 0 ? (out.name == "lossy" ? 0.01 : 0) : out.loss;
  check_link(out);
  return out;
}

Topology build_topology(const TopologySettings& settings) {
  if (settings.name == "lan") {
    return lan(settings);
  }
  return settings.name == "wifi" ? wifi(settings) : chain(settings);
}

}  // namespace lockstep::tools
