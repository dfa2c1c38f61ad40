// The same workloads on lwIP, as Debian builds it: one run, printed as one line of JSON.
#if __has_include(<lwip/tcp.h>)

#include <lwip/init.h>
#include <lwip/ip4.h>
#include <lwip/netif.h>
#include <lwip/priv/tcp_priv.h>
#include <lwip/tcp.h>
#include <lwip/timeouts.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "tools/proofs/bench/result.hpp"

// Debian's library is built with NO_SYS=0 and core locking, but its core may be called from one
// thread as long as tcpip_init() was not called. Two interfaces of one lwIP instance are joined in
// memory; each end's connections are bound to its own interface.

namespace {

using lockstep::tools::benchmark::Result;
using lockstep::tools::benchmark::Stopwatch;

constexpr std::uint16_t server_port = 80;
constexpr std::uint32_t message_bytes = 64;

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "bench_lwip: %s\n", what);
  std::exit(1);
}

// Packets in flight to an interface, in order.
struct Wire {
  static constexpr std::uint32_t packets_max = 4096;
  std::array<pbuf*, packets_max> packets{};
  std::uint32_t head = 0;
  std::uint32_t tail = 0;
  std::uint64_t sent = 0;
};

Wire to_client;
Wire to_server;
netif client_if;
netif server_if;
std::uint64_t data_segments = 0;

// Copies the packet once as a frame, as into a NIC's ring.
err_t send_packet(netif* from, pbuf* packet, const ip4_addr_t*) {
  Wire& wire = from == &client_if ? to_server : to_client;
  if (wire.tail - wire.head == Wire::packets_max) {
    return ERR_MEM;
  }
  pbuf* const copy = pbuf_clone(PBUF_RAW, PBUF_RAM, packet);
  if (copy == nullptr) {
    return ERR_MEM;
  }
  data_segments += packet->tot_len > 60 ? 1 : 0;
  wire.packets[wire.tail++ % Wire::packets_max] = copy;
  ++wire.sent;
  return ERR_OK;
}

err_t set_up(netif* interface) {
  interface->output = send_packet;
  interface->name[0] = 'm';
  interface->name[1] = interface == &client_if ? 'c' : 's';
  return ERR_OK;
}

ip4_addr_t address_of(std::uint8_t host) {
  ip4_addr_t address;
  IP4_ADDR(&address, 10, 0, 0, host);
  return address;
}

void add_interface(netif& interface, std::uint8_t host, std::uint16_t mtu) {
  ip4_addr_t const address = address_of(host);
  ip4_addr_t mask;
  IP4_ADDR(&mask, 255, 255, 255, 0);
  ip4_addr_t const none{0};
  if (netif_add(&interface, &address, &mask, &none, nullptr, set_up, ip4_input) == nullptr) {
    fail("netif_add failed");
  }
  interface.mtu = mtu;
  netif_set_up(&interface);
  netif_set_link_up(&interface);
}

bool deliver(Wire& wire, netif& into) {
  bool any = false;
  for (std::uint32_t i = 0; i < 64 && wire.head != wire.tail; ++i) {
    pbuf* const packet = wire.packets[wire.head++ % Wire::packets_max];
    if (into.input(packet, &into) != ERR_OK) {
      pbuf_free(packet);
    }
    any = true;
  }
  return any;
}

void step() {
  deliver(to_server, server_if);
  deliver(to_client, client_if);
  // lwIP's timers use the real clock, which is read rarely: no workload waits for a timer.
  static std::uint32_t steps = 0;
  if (++steps % 4096 == 0) {
    sys_check_timeouts();
  }
}

tcp_pcb* new_pcb(netif& interface) {
  tcp_pcb* const pcb = tcp_new();
  if (pcb == nullptr) {
    fail("tcp_new failed");
  }
  tcp_bind_netif(pcb, &interface);
  return pcb;
}

void listen_with(tcp_accept_fn accept) {
  tcp_pcb* const pcb = new_pcb(server_if);
  if (tcp_bind(pcb, IP4_ADDR_ANY, server_port) != ERR_OK) {
    fail("tcp_bind failed");
  }
  tcp_pcb* const listener = tcp_listen(pcb);
  if (listener == nullptr) {
    fail("tcp_listen failed");
  }
  tcp_accept(listener, accept);
}

tcp_pcb* connect_with(tcp_connected_fn connected, std::uint16_t local_port) {
  tcp_pcb* const pcb = new_pcb(client_if);
  ip_addr_t server;
  ip_addr_copy_from_ip4(server, address_of(2));
  if (local_port != 0) {
    ip_addr_t client;
    ip_addr_copy_from_ip4(client, address_of(1));
    if (tcp_bind(pcb, &client, local_port) != ERR_OK) {
      fail("no free local port");
    }
  }
  if (tcp_connect(pcb, &server, server_port, connected) != ERR_OK) {
    fail("tcp_connect failed");
  }
  return pcb;
}

namespace bulk {

std::vector<std::byte> content(65'536);
std::uint64_t target = 0;
std::uint64_t handed = 0;
std::uint64_t received = 0;
bool copied = true;
tcp_pcb* sender = nullptr;
bool connected = false;

void fill() {
  while (connected && handed < target) {
    std::uint64_t const offset = handed % content.size();
    // A segment takes at most two entries of its queue (header, and a reference if lent).
    std::uint64_t const places = (TCP_SND_QUEUELEN - tcp_sndqueuelen(sender)) / 2;
    std::uint64_t const length =
        std::min<std::uint64_t>({target - handed, content.size() - offset, tcp_sndbuf(sender),
                                 32'768, places * tcp_mss(sender)});
    if (length == 0) {
      break;
    }
    std::uint8_t const flags = static_cast<std::uint8_t>(
        (copied ? TCP_WRITE_FLAG_COPY : 0) | (handed + length < target ? TCP_WRITE_FLAG_MORE : 0));
    if (tcp_write(sender, content.data() + offset, static_cast<std::uint16_t>(length), flags) !=
        ERR_OK) {
      break;
    }
    handed += length;
  }
  if (connected) {
    tcp_output(sender);
  }
}

err_t on_connected(void*, tcp_pcb*, err_t) {
  connected = true;
  return ERR_OK;
}

err_t on_received(void*, tcp_pcb* pcb, pbuf* packet, err_t) {
  if (packet != nullptr) {
    received += packet->tot_len;
    tcp_recved(pcb, packet->tot_len);
    pbuf_free(packet);
  }
  return ERR_OK;
}

err_t on_accepted(void*, tcp_pcb* pcb, err_t) {
  tcp_recv(pcb, on_received);
  return ERR_OK;
}

void carry(std::uint64_t bytes) {
  target += bytes;
  while (received < target) {
    fill();
    step();
  }
}

Result run(std::uint16_t mtu, std::uint64_t segments) {
  listen_with(on_accepted);
  sender = connect_with(on_connected, 0);
  carry(4 * 65'536);
  std::uint64_t const before = data_segments;
  std::uint64_t const frames = to_client.sent + to_server.sent;
  Stopwatch const watch;
  Result result;
  result.bytes = segments * (mtu - 40u);
  carry(result.bytes);
  result.nanoseconds = watch.nanoseconds();
  result.units = data_segments - before;
  result.frames = to_client.sent + to_server.sent - frames;
  return result;
}

}  // namespace bulk

namespace transactions {

std::array<std::byte, message_bytes> message{};
std::uint32_t live = 0;
std::uint32_t at_once = 1;
std::uint64_t opened = 0;
std::uint64_t finished = 0;

err_t on_server_received(void*, tcp_pcb* pcb, pbuf* packet, err_t) {
  if (packet == nullptr) {
    return ERR_OK;
  }
  tcp_recved(pcb, packet->tot_len);
  pbuf_free(packet);
  tcp_write(pcb, message.data(), message_bytes, TCP_WRITE_FLAG_COPY);
  tcp_close(pcb);
  return ERR_OK;
}

err_t on_accepted(void*, tcp_pcb* pcb, err_t) {
  tcp_recv(pcb, on_server_received);
  return ERR_OK;
}

err_t on_client_received(void*, tcp_pcb* pcb, pbuf* packet, err_t) {
  if (packet != nullptr) {
    tcp_recved(pcb, packet->tot_len);
    pbuf_free(packet);
    return ERR_OK;
  }
  tcp_recv(pcb, nullptr);
  tcp_close(pcb);
  --live;
  ++finished;
  return ERR_OK;
}

err_t on_connected(void*, tcp_pcb* pcb, err_t) {
  tcp_recv(pcb, on_client_received);
  tcp_write(pcb, message.data(), message_bytes, TCP_WRITE_FLAG_COPY);
  return tcp_output(pcb);
}

// Shortens TIME-WAIT, as a small pool would: lwIP searches all of it for every SYN.
void forget_time_wait() {
  while (tcp_tw_pcbs != nullptr) {
    tcp_abort(tcp_tw_pcbs);
  }
}

void carry(std::uint64_t count) {
  std::uint64_t const goal = finished + count;
  while (finished < goal) {
    for (std::uint32_t i = 0; i < 32 && live < at_once; ++i) {
      // Local ports are assigned in turn, because lwIP's search for a free port would be quadratic.
      connect_with(on_connected, static_cast<std::uint16_t>(10'000 + opened++ % 50'000));
      ++live;
    }
    step();
    forget_time_wait();
  }
}

Result run(std::uint64_t count) {
  listen_with(on_accepted);
  carry(at_once);
  std::uint64_t const frames = to_client.sent + to_server.sent;
  Stopwatch const watch;
  carry(count);
  Result result;
  result.nanoseconds = watch.nanoseconds();
  result.units = count;
  result.bytes = count * message_bytes * 2;
  result.frames = to_client.sent + to_server.sent - frames;
  return result;
}

}  // namespace transactions

// The value after `--name`, or `fallback`.
std::uint64_t option(int argc, char** argv, std::string_view name, std::uint64_t fallback) {
  for (int i = 2; i + 1 < argc; ++i) {
    if (name == argv[i]) {
      return std::strtoull(argv[i + 1], nullptr, 10);
    }
  }
  return fallback;
}

}  // namespace

int main(int argc, char** argv) {
  std::string_view const workload = argc > 1 ? argv[1] : "";
  bool const is_bulk = workload == "bulk";
  if (!is_bulk && workload != "transactions") {
    std::fprintf(stderr,
                 "usage: bench_lwip bulk [--mtu N] [--lent 1] [--count N]\n"
                 "       bench_lwip transactions [--at-once N] [--count N]\n");
    return 2;
  }
  auto const mtu = static_cast<std::uint16_t>(option(argc, argv, "--mtu", 1500));
  if (mtu - 40 > TCP_MSS) {
    std::fprintf(stderr, "bench_lwip: Debian's library has an MSS of %d: MTU %d would need more\n",
                 TCP_MSS, mtu);
    return 3;
  }
  lwip_init();
  add_interface(client_if, 1, mtu);
  add_interface(server_if, 2, mtu);
  std::uint64_t const count = option(argc, argv, "--count", 100'000);
  bulk::copied = option(argc, argv, "--lent", 0) == 0;
  transactions::at_once = static_cast<std::uint32_t>(option(argc, argv, "--at-once", 1));
  Result const result = is_bulk ? bulk::run(mtu, count) : transactions::run(count);
  std::printf("{\"units\":%llu,\"bytes\":%llu,\"frames\":%llu,\"nanoseconds\":%llu}\n",
              static_cast<unsigned long long>(result.units),
              static_cast<unsigned long long>(result.bytes),
              static_cast<unsigned long long>(result.frames),
              static_cast<unsigned long long>(result.nanoseconds));
  return 0;
}

#else

#include <cstdio>

int main() {
  std::fprintf(stderr, "bench_lwip: built without lwIP: install liblwip-dev and build again\n");
  return 3;
}

#endif
