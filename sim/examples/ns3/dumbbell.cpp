// An ns-3 dumbbell with one flow between two of our stacks and one between two of ns-3's own TCP.
#include <ns3/bulk-send-helper.h>
#include <ns3/inet-socket-address.h>
#include <ns3/internet-stack-helper.h>
#include <ns3/ipv4-address-helper.h>
#include <ns3/ipv4-global-routing-helper.h>
#include <ns3/packet-sink-helper.h>
#include <ns3/packet-sink.h>
#include <ns3/point-to-point-dumbbell.h>
#include <ns3/point-to-point-helper.h>
#include <ns3/simulator.h>
#include <ns3/string.h>
#include <ns3/uinteger.h>

#include <iostream>
#include <string>

#include "sim/ns3/helper.hpp"

namespace {

constexpr uint16_t port = 5001;
constexpr int seconds = 30;

// One flow across the bottleneck between the hosts of this index, until the end of the run.
ns3::Ptr<ns3::PacketSink> add_flow(ns3::PointToPointDumbbellHelper& dumbbell, uint32_t index,
                                   const std::string& factory) {
  using namespace ns3;
  InetSocketAddress remote(dumbbell.GetRightIpv4Address(index), port);
  BulkSendHelper source(factory, remote);
  source.SetAttribute("MaxBytes", UintegerValue(0));
  source.Install(dumbbell.GetLeft(index));
  return PacketSinkHelper(factory, remote)
      .Install(dumbbell.GetRight(index))
      .Get(0)
      ->GetObject<PacketSink>();
}

void print_goodput(const std::string& name, const ns3::Ptr<ns3::PacketSink>& sink) {
  std::cout << name << ' ' << static_cast<double>(sink->GetTotalRx()) * 8e-6 / seconds
            << " Mbit/s\n";
}

}  // namespace

int main() {
  using namespace ns3;
  PointToPointHelper leaf;
  leaf.SetDeviceAttribute("DataRate", StringValue("100Mbps"));
  leaf.SetChannelAttribute("Delay", StringValue("1ms"));
  PointToPointHelper bottleneck;
  bottleneck.SetDeviceAttribute("DataRate", StringValue("10Mbps"));
  bottleneck.SetChannelAttribute("Delay", StringValue("10ms"));
  PointToPointDumbbellHelper dumbbell(2, leaf, 2, leaf, bottleneck);
  dumbbell.InstallStack(InternetStackHelper());
  dumbbell.AssignIpv4Addresses(Ipv4AddressHelper("10.1.1.0", "255.255.255.0"),
                               Ipv4AddressHelper("10.2.1.0", "255.255.255.0"),
                               Ipv4AddressHelper("10.3.1.0", "255.255.255.0"));
  Ipv4GlobalRoutingHelper::PopulateRoutingTables();

  LockstepHelper lockstep;
  lockstep.Install(NodeContainer(dumbbell.GetLeft(0), dumbbell.GetRight(0)));

  auto ours = add_flow(dumbbell, 0, "ns3::LockstepSocketFactory");
  auto theirs = add_flow(dumbbell, 1, "ns3::TcpSocketFactory");
  Simulator::Stop(Seconds(seconds));
  Simulator::Run();
  print_goodput("lockstep", ours);
  print_goodput("ns-3", theirs);
  Simulator::Destroy();
}
