// Twenty pages of 10,000 octets between two ns-3 nodes, with an installed Lockstep.
#include <ns3/inet-socket-address.h>
#include <ns3/node-container.h>
#include <ns3/point-to-point-helper.h>
#include <ns3/simulator.h>
#include <ns3/string.h>
#include <ns3/uinteger.h>

#include <iostream>

#include "sim/ns3/helper.hpp"
#include "tools/lib/ns3_http/applications.hpp"

int main() {
  using namespace ns3;
  NodeContainer nodes(2);
  auto const devices = PointToPointHelper().Install(nodes);
  LockstepHelper lockstep;
  lockstep.AddAddress(devices.Get(0), "10.1.1.1/24");
  lockstep.AddAddress(devices.Get(1), "10.1.1.2/24");
  auto const server = CreateObject<LockstepHttpServer>();
  nodes.Get(1)->AddApplication(server);
  auto const client = CreateObject<LockstepHttpClient>();
  client->SetAttribute("Remote", AddressValue(InetSocketAddress("10.1.1.2", 80)));
  client->SetAttribute("Path", StringValue("/bytes/10000"));
  client->SetAttribute("Requests", UintegerValue(20));
  nodes.Get(0)->AddApplication(client);
  Simulator::Stop(Seconds(600));
  Simulator::Run();
  std::cout << client->GetAnswered() << " pages, " << server->GetBodyOctets() << " octets\n";
  Simulator::Destroy();
}
