// A device's frames: its link header, its neighbours, and its time.
#include "conformance/interop/device_host.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "conformance/devices/load.hpp"
#include "core/internet/ipv6_input.hpp"
#include "core/wire/ethernet.hpp"
#include "core/wire/ipv6.hpp"
#include "core/wire/neighbour_discovery.hpp"
#include "sim/models/raw_packets.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/base/text/units.hpp"

namespace lockstep::conformance {
namespace {

using tools::ExitCode;
using tools::Failure;

constexpr std::uint8_t hop_limit_of_discovery = 255;

std::unique_ptr<sim::Station> make_device_host(const sim::World& world,
                                               const sim::StationSpec& spec, Random random) {
  return std::make_unique<DeviceHost>(world, spec, random);
}

IpAddress address_at(const sim::World& world, sim::NodeRef node) {
  return node.kind == sim::NodeKind::host ? world.hosts[node.index].config.addresses[0].address
                                          : world.stations[node.index].address;
}

bool is(const sim::World& world, sim::NodeRef node, const sim::StationSpec& spec) {
  return node.kind == sim::NodeKind::station && world.stations[node.index].name == spec.name;
}

std::string_view text_of_bytes(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Whether this is a neighbour solicitation; if so, sets `message` and where it came from.
bool read_solicitation(std::span<const std::byte> packet, wire::NdMessage& message,
                       IpAddress& from) {
  wire::IpPacket ip;
  wire::Icmp6Message icmp;
  return internet::read_packet(packet, ip) == Drop::none &&
         ip.header.protocol == wire::IpProtocol::icmpv6 &&
         wire::parse({ip.header.source, ip.header.destination}, ip.payload, icmp) == Drop::none &&
         icmp.type == wire::Icmp6Type::neighbour_solicitation &&
         wire::parse(icmp, message) == Drop::none && !(from = ip.header.source).is_unspecified();
}

}  // namespace

void add_device_hosts(sim::Registry& registry) {
  registry.add_station(device_host_model, make_device_host);
}

DeviceHost::DeviceHost(const sim::World& world, const sim::StationSpec& spec, Random random)
    : DeviceNode(nullptr), spec_(spec) {
  for (sim::HostSpec const& host : world.hosts) {
    neighbours_.emplace_back(host.config.addresses[0].address, host.config.mac);
  }
  for (sim::StationSpec const& station : world.stations) {
    neighbours_.emplace_back(station.address, station.mac);
  }
  contain([&] {
    try {
      create(world, random);
      take_applications(world);
    } catch (const DeviceFault& fault) {
      throw DeviceFault(fmt::format("host '{}': {}", spec_.name.view(), fault.what()));
    }
  });
}

std::uint64_t DeviceHost::fingerprint() const { return sent_.value(); }

/// A device is told one other address: that to which it opens connections, else any client's.
void DeviceHost::create(const sim::World& world, Random random) {
  IpAddress remote;
  for (sim::StationAppSpec const& each : world.station_apps) {
    if (is(world, each.client, spec_)) {
      remote = address_at(world, each.server);
    } else if (is(world, each.server, spec_) && remote.is_unspecified()) {
      remote = address_at(world, each.client);
    }
  }
  if (remote.is_unspecified()) {  // no application: another address of its family
    remote =
        spec_.address.is_v4() ? IpAddress::v4(192, 0, 2, 1) : IpAddress{0x2001'0db8'0000'0000, 1};
  }
  std::string const setup =
      fmt::format("local={}\nremote={}\nmtu={}\nseed={}\nstart=0\n", tools::text_of(spec_.address),
                  tools::text_of(remote), spec_.mtu_bytes, random.next());
  const auto attempt = [&](std::string_view profile) {
    return ask(LOCKSTEP_CALL_CREATE, 0, 0,
               fmt::format("{}{}{}", setup, profile, spec_.settings.view()));
  };
  peer_ = std::make_unique<DevicePeer>(device_path(std::string(spec_.device.view())));
  bool const chosen = spec_.settings.view().find("profile=") != std::string_view::npos;
  DeviceAnswer answer = attempt(chosen ? "" : "profile=default\n");
  if (answer.result == LOCKSTEP_DEVICE_UNSUPPORTED && !chosen) {
    answer = attempt("profile=rfc\n");  // each device has it
  }
  if (answer.result < 0) {
    throw Failure(ExitCode::bad_input, fmt::format("host '{}': device {}: {}", spec_.name.view(),
                                                   peer_->about().name, answer.octets));
  }
}

void DeviceHost::put_frame(sim::StationDesk& desk, std::span<const std::byte> frame) {
  sent_.add(desk.now().ns);
  sent_.add(frame.size());
  for (std::byte const octet : frame) {
    sent_.add(std::to_integer<std::uint64_t>(octet));
  }
  desk.send(frame);
}

void DeviceHost::put(sim::StationDesk& desk, const DeviceAnswer& answer) {
  std::vector<std::byte> frame;
  auto const type = spec_.address.is_v4() ? wire::EtherType::ipv4 : wire::EtherType::ipv6;
  for (auto const& packet : answer.packets) {
    if (packet.size() > spec_.mtu_bytes) {
      throw DeviceFault(
          fmt::format("device {}: advance: a packet of {} octets exceeds the MTU of {}",
                      peer_->about().name, packet.size(), spec_.mtu_bytes));
    }
    wire::IpPacket parsed;
    bool const whole = internet::read_packet(packet, parsed) == Drop::none;
    // What goes to no neighbour is lost, as without an answer to ARP.
    auto const to = std::find_if(neighbours_.begin(), neighbours_.end(), [&](auto const& each) {
      return whole && each.first == parsed.header.destination;
    });
    if (auto const opened = watch_.sent(packet); opened) {
      note_opened(desk, *opened);
    }
    if (to == neighbours_.end()) {
      continue;
    }
    frame.resize(wire::ethernet_header_bytes + packet.size());
    wire::write(wire::EthernetHeader{to->second, spec_.mac, type}, frame);
    std::memcpy(frame.data() + wire::ethernet_header_bytes, packet.data(), packet.size());
    put_frame(desk, frame);
  }
}

void DeviceHost::answer_neighbour(sim::StationDesk& desk, std::span<const std::byte> packet) {
  wire::NdMessage asked;
  IpAddress from;
  if (!read_solicitation(packet, asked, from) || asked.target != spec_.address) {
    return;
  }
  wire::NdMessage answer;
  answer.type = wire::Icmp6Type::neighbour_advertisement;
  answer.target = spec_.address;
  answer.solicited = answer.override = answer.has_link_address = true;
  answer.link_address = spec_.mac;
  std::array<std::byte,
             wire::ethernet_header_bytes + wire::ipv6_header_bytes + wire::nd_message_bytes_max>
      frame{};
  auto const header = std::span(frame).subspan(wire::ethernet_header_bytes);
  Bytes const length = wire::write(wire::Icmp6Path{spec_.address, from}, answer,
                                   header.subspan(wire::ipv6_header_bytes));
  wire::Ipv6Header ip;
  ip.next_header = static_cast<std::uint8_t>(wire::IpProtocol::icmpv6);
  ip.hop_limit = hop_limit_of_discovery;
  ip.source = spec_.address;
  ip.destination = from;
  wire::write(ip, length, header);
  wire::write(wire::EthernetHeader{asked.link_address, spec_.mac, wire::EtherType::ipv6}, frame);
  put_frame(desk, std::span(frame).first(wire::ethernet_header_bytes + wire::ipv6_header_bytes +
                                         length.count));
}

void DeviceHost::take(sim::StationDesk& desk, std::span<const std::byte> frame) {
  wire::EthernetFrame parsed;
  if (wire::parse(frame, parsed) != Drop::none) {
    return;
  }
  wire::ArpPacket asked;
  if (parsed.header.type == wire::EtherType::arp && spec_.address.is_v4()) {
    if (sim::read_arp_request(parsed.payload, asked) && asked.target == spec_.address.as_v4()) {
      sim::answer_arp(desk, spec_.mac, asked);
    }
    return;
  }
  if (parsed.header.type == wire::EtherType::ipv6 && parsed.header.destination.is_group()) {
    answer_neighbour(desk, parsed.payload);
    return;
  }
  auto const type = spec_.address.is_v4() ? wire::EtherType::ipv4 : wire::EtherType::ipv6;
  if (parsed.header.destination != spec_.mac || parsed.header.type != type) {
    return;
  }
  go_to(desk);
  auto const about = watch_.arrives(parsed.payload);
  put(desk, ask(LOCKSTEP_CALL_PACKET, 0, 0, text_of_bytes(parsed.payload)));
  accept_all(desk);
  for (ProgramConnection& connection : connections_) {
    if (about && connection.tuple == *about && !connection.over) {
      go_on(desk, connection);
    }
  }
  go_to(desk);
  for (ProgramConnection& connection : connections_) {
    if (about && connection.tuple == *about && !connection.over) {
      measure(desk, connection);
    }
  }
  forget_ended();
}

void DeviceHost::work_at_deadline(sim::StationDesk& desk) {
  go_to(desk);
  // What a program can do changes when a packet arrives; but a timer may end a connection. Not at
  // each timer: some devices' timers run as long as their programs do something.
  Instant const now = desk.now();
  if (now >= program_due() || now >= worked_ + Duration::seconds(1)) {
    worked_ = now;
    accept_all(desk);
    open(desk);
    for (ProgramConnection& connection : connections_) {
      go_on(desk, connection);
    }
    go_to(desk);
    forget_ended();
  }
}

Instant DeviceHost::deadline() const { return earlier(device_due(), program_due()); }

}  // namespace lockstep::conformance
