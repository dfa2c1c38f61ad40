// Finds the segments that routers separate, and the shortest paths between them.
#include "sim/routers/plan.hpp"

#include <algorithm>
#include <array>

#include "core/units/check.hpp"

namespace lockstep::sim {
namespace {

constexpr std::uint32_t nowhere = 0xffff'ffff;

// Elements joined by links: hosts, stations, switches, then each port of each router by itself.
class Segments {
 public:
  explicit Segments(const World& world) : world_(world) {
    std::size_t count = world.hosts.size() + world.stations.size() + world.switches.size();
    for (const RouterSpec& router : world.routers) {
      first_port_.push_back(static_cast<std::uint32_t>(count));
      count += router.ports.size();
    }
    for (std::uint32_t i = 0; i < count; ++i) {
      set_.push_back(i);
    }
    for (std::uint32_t i = 0; i < world.links.size(); ++i) {
      std::uint32_t const a = of(element(i, true));
      std::uint32_t const b = of(element(i, false));
      std::replace(set_.begin(), set_.end(), b, a);
    }
  }

  std::uint32_t of_host(std::uint32_t host) const { return of(host); }
  std::uint32_t of_station(std::uint32_t station) const {
    return of(static_cast<std::uint32_t>(world_.hosts.size()) + station);
  }
  std::uint32_t of_port(std::uint32_t router, std::uint32_t port) const {  // NOLINT
    return of(first_port_[router] + port);
  }

 private:
  std::uint32_t of(std::uint32_t element) const { return set_[element]; }
  std::uint32_t element(std::uint32_t link, bool at_a) const {
    NodeRef const node = at_a ? world_.links[link].a : world_.links[link].b;
    auto const hosts = static_cast<std::uint32_t>(world_.hosts.size());
    auto const stations = static_cast<std::uint32_t>(world_.stations.size());
    switch (node.kind) {
      case NodeKind::host:
        return node.index;
      case NodeKind::station:
        return hosts + node.index;
      case NodeKind::learning_switch:
        return hosts + stations + node.index;
      case NodeKind::router:
        break;
    }
    const auto& ports = world_.routers[node.index].ports;
    for (std::uint32_t i = 0; i < ports.size(); ++i) {
      if (ports[i].link == link && ports[i].at_a == at_a) {
        return first_port_[node.index] + i;
      }
    }
    CHECK(node.kind != NodeKind::router);
    return 0;
  }

  const World& world_;
  std::vector<std::uint32_t> set_;
  std::vector<std::uint32_t> first_port_;
};

// A prefix that hosts have, and its segment.
struct Subnet {
  IpAddress prefix;
  std::uint32_t bits = 0;
  std::uint32_t segment = 0;
  Name owner;
};

std::uint32_t bits_of(IpAddress address, std::uint8_t prefix_bits) {
  return prefix_bits + (address.is_v4() ? 96u : 0u);
}

IpAddress masked(IpAddress address, std::uint32_t bits) {
  constexpr std::uint64_t all = ~std::uint64_t{0};
  address.high &= bits >= 64 ? all : bits == 0 ? 0 : all << (64 - bits);
  std::uint32_t const low = bits <= 64 ? 0 : bits - 64;
  address.low &= low == 0 ? 0 : all << (64 - low);
  return address;
}

class Planner {
 public:
  explicit Planner(const World& world) : world_(world), segments_(world) {
    plan_.tables.resize(world.routers.size());
  }

  RoutingPlan plan() {
    find_subnets();
    for (const Subnet& subnet : subnets_) {
      add_paths_to(subnet);
    }
    for (std::uint32_t i = 0; i < world_.routers.size(); ++i) {
      add_own_routes(i);
      find_neighbours(i);
      sort(plan_.tables[i].entries);
    }
    find_loops();
    find_strangers();
    return plan_;
  }

 private:
  // The longest prefix first; of equal ones the router's own route.
  static void sort(std::vector<ForwardEntry>& entries) {
    std::vector<ForwardEntry> sorted;
    for (const ForwardEntry& entry : entries) {
      auto const place =
          std::upper_bound(sorted.begin(), sorted.end(), entry,
                           [](auto const& a, auto const& b) { return a.bits > b.bits; });
      sorted.insert(place, entry);
    }
    entries = sorted;
  }

  void complain(std::string_view what, Name subject) {
    if (plan_.fault.none()) {
      plan_.fault = {what, subject};
    }
  }

  void find_subnets() {
    for (std::uint32_t i = 0; i < world_.hosts.size(); ++i) {
      const Config& config = world_.hosts[i].config;
      for (std::uint32_t each = 0; each < config.address_count.value; ++each) {
        const HostAddress& address = config.addresses[each];
        add_subnet({address.address, bits_of(address.address, address.prefix_bits),
                    segments_.of_host(i), world_.hosts[i].name});
      }
      if (config.vlan != 0) {
        complain("a world with routers has no VLANs", world_.hosts[i].name);
      }
    }
    for (std::uint32_t i = 0; i < world_.stations.size(); ++i) {
      const StationSpec& station = world_.stations[i];
      std::uint8_t const whole = station.address.is_v4() ? 32 : 128;
      add_subnet({station.address, bits_of(station.address, whole), segments_.of_station(i),
                  station.name});
    }
  }

  void add_subnet(Subnet subnet) {
    subnet.prefix = masked(subnet.prefix, subnet.bits);
    for (const Subnet& each : subnets_) {
      if (each.prefix == subnet.prefix && each.bits == subnet.bits) {
        if (each.segment != subnet.segment) {
          complain("its prefix is on another side of a router, too: hosts there need another one",
                   subnet.owner);
        }
        return;
      }
    }
    subnets_.push_back(subnet);
  }

  // Breadth first from the segment: each router takes the port that leads there in fewest links.
  void add_paths_to(const Subnet& subnet) {
    std::vector<std::uint32_t> reached{subnet.segment};
    std::vector<Mac> gates{{}};  // by reached segment: the router that leads on
    std::vector<bool> done(world_.routers.size());
    for (std::size_t at = 0; at < reached.size(); ++at) {
      for (std::uint32_t router = 0; router < world_.routers.size(); ++router) {
        std::uint32_t const port = port_on(router, reached[at]);
        if (done[router] || port == nowhere) {
          continue;
        }
        done[router] = true;
        plan_.tables[router].entries.push_back({subnet.prefix, subnet.bits, port, gates[at]});
        const auto& ports = world_.routers[router].ports;
        for (std::uint32_t out = 0; out < ports.size(); ++out) {
          std::uint32_t const next = segments_.of_port(router, out);
          if (std::find(reached.begin(), reached.end(), next) == reached.end()) {
            reached.push_back(next);
            gates.push_back(ports[out].mac);
          }
        }
      }
    }
  }

  std::uint32_t port_on(std::uint32_t router, std::uint32_t segment) const {  // NOLINT
    for (std::uint32_t i = 0; i < world_.routers[router].ports.size(); ++i) {
      if (segments_.of_port(router, i) == segment) {
        return i;
      }
    }
    return nowhere;
  }

  void add_own_routes(std::uint32_t router) {
    auto& entries = plan_.tables[router].entries;
    std::size_t place = 0;
    for (const RouteSpec& route : world_.routers[router].routes) {
      ForwardEntry entry{masked(route.prefix, bits_of(route.prefix, route.prefix_bits)),
                         bits_of(route.prefix, route.prefix_bits),
                         nowhere,
                         {}};
      for (std::uint32_t other = 0; other < world_.routers.size(); ++other) {
        const auto& ports = world_.routers[other].ports;
        for (std::uint32_t i = 0; i < ports.size(); ++i) {
          std::uint32_t const port = port_on(router, segments_.of_port(other, i));
          if (other != router && ports[i].address == route.via && port != nowhere) {
            entry.port = port;
            entry.next = ports[i].mac;
          }
        }
      }
      if (entry.port == nowhere) {
        complain("a route leads via an address that no neighbouring router has",
                 world_.routers[router].name);
        continue;
      }
      entries.insert(entries.begin() + static_cast<std::ptrdiff_t>(place++), entry);
    }
  }

  void find_neighbours(std::uint32_t router) {
    auto& all = plan_.tables[router].neighbours;
    for (std::uint32_t i = 0; i < world_.hosts.size(); ++i) {
      const Config& config = world_.hosts[i].config;
      for (std::uint32_t each = 0; each < config.address_count.value; ++each) {
        if (port_on(router, segments_.of_host(i)) != nowhere) {
          all.push_back({config.addresses[each].address, config.mac});
        }
      }
    }
    for (std::uint32_t i = 0; i < world_.stations.size(); ++i) {
      if (port_on(router, segments_.of_station(i)) != nowhere) {
        all.push_back({world_.stations[i].address, world_.stations[i].mac});
      }
    }
    std::sort(all.begin(), all.end(), [](auto const& a, auto const& b) {
      return a.address.high != b.address.high ? a.address.high < b.address.high
                                              : a.address.low < b.address.low;
    });
  }

  std::uint32_t router_with(Mac mac) const {
    for (std::uint32_t i = 0; i < world_.routers.size(); ++i) {
      for (const RouterPort& port : world_.routers[i].ports) {
        if (port.mac == mac) {
          return i;
        }
      }
    }
    return nowhere;
  }

  // Whether packets that this router gets for the destination arrive. Reports a loop.
  bool arrives(std::uint32_t router, IpAddress destination) {
    std::uint32_t guilty = router;
    for (std::size_t hops = 0; hops <= world_.routers.size(); ++hops) {
      // Only routes of their own make loops.
      guilty = world_.routers[router].routes.empty() ? guilty : router;
      const ForwardEntry* const entry = plan_.tables[router].entry_for(destination);
      if (entry == nullptr) {
        return false;
      }
      if (entry->next == Mac{}) {
        return true;
      }
      router = router_with(entry->next);
    }
    complain("a routing loop: packets to a prefix come back here, correct the routes",
             world_.routers[guilty].name);
    return false;
  }

  void find_loops() {
    for (const Subnet& subnet : subnets_) {
      for (std::uint32_t i = 0; i < world_.routers.size(); ++i) {
        arrives(i, subnet.prefix);
      }
    }
  }

  // Applications whose hosts are apart.
  void find_strangers() {
    for (const AppSpec& app : world_.apps) {
      for (auto const& [from, to] :
           {std::pair(app.client, app.server), std::pair(app.server, app.client)}) {
        if (!leads(from, to)) {
          complain("no router leads from one of its hosts to the other: the prefix is unreachable",
                   app.name);
        }
      }
    }
  }

  bool leads(HostIndex from, HostIndex to) {
    const Config& config = world_.hosts[from.value].config;
    IpAddress const address = world_.hosts[to.value].config.addresses[0].address;
    if (segments_.of_host(from.value) == segments_.of_host(to.value)) {
      return true;
    }
    IpAddress const gate = address.is_v4() ? config.gateway : config.routes[0].gateway;
    for (std::uint32_t i = 0; i < world_.routers.size(); ++i) {
      for (const RouterPort& port : world_.routers[i].ports) {
        if (!gate.is_unspecified() && port.address == gate) {
          return arrives(i, address);
        }
      }
    }
    return false;
  }

  const World& world_;
  Segments segments_;
  std::vector<Subnet> subnets_;
  RoutingPlan plan_;
};

// Gives the ports of routers addresses, and hosts their gateways.
class Completer {
 public:
  explicit Completer(World& world) : world_(world), segments_(world) {}

  void complete() {
    std::uint32_t transit = 0;
    for (std::uint32_t r = 0; r < world_.routers.size(); ++r) {
      for (std::uint32_t p = 0; p < world_.routers[r].ports.size(); ++p) {
        RouterPort& port = world_.routers[r].ports[p];
        port.mac.octets = {0x02,
                           0x02,
                           static_cast<std::uint8_t>(r >> 8),
                           static_cast<std::uint8_t>(r),
                           static_cast<std::uint8_t>(p >> 8),
                           static_cast<std::uint8_t>(p)};
        if (port.address.is_unspecified()) {
          port.address = free_address(segments_.of_port(r, p), transit);
        }
      }
    }
    for (std::uint32_t i = 0; i < world_.hosts.size(); ++i) {
      give_gateway(i);
    }
  }

 private:
  IpAddress free_address(std::uint32_t segment, std::uint32_t& transit) const {  // NOLINT
    for (std::uint32_t i = 0; i < world_.hosts.size(); ++i) {
      if (segments_.of_host(i) != segment) {
        continue;
      }
      const HostAddress& near = world_.hosts[i].config.addresses[0];
      IpAddress last = masked(near.address, bits_of(near.address, near.prefix_bits));
      std::uint32_t const room = 128 - bits_of(near.address, near.prefix_bits);
      std::uint64_t const span = room >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << room) - 1;
      last.low |= span;
      do {
        --last.low;
      } while (is_taken(last));
      return last;
    }
    ++transit;
    return IpAddress::v4(100, 64, static_cast<std::uint8_t>(transit >> 8),
                         static_cast<std::uint8_t>(transit));
  }

  bool is_taken(IpAddress address) const {
    bool taken = false;
    for (const HostSpec& host : world_.hosts) {
      taken = taken || host.config.addresses[0].address == address;
    }
    for (const RouterSpec& router : world_.routers) {
      for (const RouterPort& port : router.ports) {
        taken = taken || port.address == address;
      }
    }
    return taken;
  }

  void give_gateway(std::uint32_t host) {
    Config& config = world_.hosts[host].config;
    bool const v4 = config.addresses[0].address.is_v4();
    for (std::uint32_t r = 0; r < world_.routers.size(); ++r) {
      for (std::uint32_t p = 0; p < world_.routers[r].ports.size(); ++p) {
        const RouterPort& port = world_.routers[r].ports[p];
        if (segments_.of_port(r, p) != segments_.of_host(host) || port.address.is_v4() != v4) {
          continue;
        }
        if (v4 && config.gateway.is_unspecified()) {
          config.gateway = port.address;
        }
        if (!v4 && config.route_count.value == 0) {
          config.routes[0] = {IpAddress{}, port.address, 0};
          config.route_count = {1};
        }
        if (config.static_neighbour_count.value < Config::static_neighbours_max) {
          config.static_neighbours[config.static_neighbour_count.value++] = {port.address,
                                                                             port.mac};
        }
      }
    }
  }

  World& world_;
  Segments segments_;
};

}  // namespace

const ForwardEntry* RouterTable::entry_for(IpAddress destination) const {
  for (const ForwardEntry& entry : entries) {
    if (entry.prefix.is_v4() == destination.is_v4() &&
        common_bits({entry.prefix, destination}) >= entry.bits) {
      return &entry;
    }
  }
  return nullptr;
}

const Mac* RouterTable::mac_of(IpAddress destination) const {
  auto const at = std::lower_bound(
      neighbours.begin(), neighbours.end(), destination, [](auto const& a, IpAddress b) {
        return a.address.high != b.high ? a.address.high < b.high : a.address.low < b.low;
      });
  return at == neighbours.end() || at->address != destination ? nullptr : &at->mac;
}

RoutingPlan plan_routes(const World& world) { return Planner(world).plan(); }

void complete_routers(World& world) {
  if (!world.routers.empty()) {
    Completer(world).complete();
  }
}

}  // namespace lockstep::sim
