// lwIP as a device: one host with one interface, and its raw calls. Debian's library, or with
// LOCKSTEP_LWIP_NAME another version.
#include <lwip/init.h>
#include <lwip/ip.h>
#include <lwip/ip4.h>
#include <lwip/ip6.h>
#include <lwip/mem.h>
#include <lwip/netif.h>
#include <lwip/priv/tcp_priv.h>
#include <lwip/tcp.h>
#include <lwip/timeouts.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/devices/device.h"

#ifndef LOCKSTEP_LWIP_NAME
#define LOCKSTEP_LWIP_NAME "lwip"
#endif

// Debian's library is built for several threads, but its core may be called from one as long as
// tcpip_init() was not called. It has global variables, so a process has one device at a time.

namespace {

constexpr std::int64_t unsupported = LOCKSTEP_DEVICE_UNSUPPORTED;
constexpr std::int64_t refused = LOCKSTEP_DEVICE_REFUSED;
constexpr std::int64_t again = LOCKSTEP_DEVICE_AGAIN;
constexpr std::int64_t gone = LOCKSTEP_DEVICE_GONE;

constexpr std::uint64_t ms = 1'000'000;
constexpr std::uint64_t clock_origin_ms = 1'000;

// The clock that lwIP reads. The library calls sys_now() through its procedure linkage table, so
// the definition below takes the place of its own.
std::uint64_t now_ns = 0;
std::uint64_t start_ns = 0;

}  // namespace

extern "C" u32_t sys_now() {
  return static_cast<u32_t>((now_ns - start_ns) / ms + clock_origin_ms);
}

#ifndef LOCKSTEP_LWIP_HEAD
// lwIP sends octets of its memory that it has not set, in neighbour discovery messages. So that
// equal runs send equal packets, its memory is cleared; lwipopts.h does so for the head.
extern "C" void* mem_malloc(mem_size_t size) { return std::calloc(1, size); }
extern "C" void* mem_calloc(mem_size_t count, mem_size_t size) { return std::calloc(count, size); }
extern "C" void* mem_trim(void* memory, mem_size_t) { return memory; }
extern "C" void mem_free(void* memory) { std::free(memory); }
#endif

namespace {

/// A connection of the program. lwIP frees a control block without a word when TIME-WAIT ends, so
/// `find()` looks for the block each time.
struct Connection {
  tcp_pcb* pcb = nullptr;
  std::deque<std::uint8_t> unread;
  std::string events;
  bool connecting = false;
  bool finished = false;  ///< the peer has finished
  bool closed = false;    ///< by the program
  bool over = false;

  void tell(std::string_view word) {
    events += events.empty() ? "" : " ";
    events += word;
  }
};

struct Listener {
  tcp_pcb* pcb = nullptr;
  std::deque<std::size_t> accepted;
};

}  // namespace

struct lockstep_device {
  netif interface{};
  ip_addr_t local{};
  ip_addr_t remote{};
  bool keepalive = false;
  std::uint64_t keepalive_idle_ms = 0;
  std::uint64_t keepalive_interval_ms = 0;
  std::uint64_t keepalive_probes = 0;
  std::deque<std::vector<std::uint8_t>> sent;
  std::vector<std::unique_ptr<Connection>> connections;  ///< by handle - 1; null: a listener's
  std::vector<std::unique_ptr<Listener>> listeners;      ///< the same
  std::string told;
};

namespace {

lockstep_device* the_device = nullptr;

bool lists(const tcp_pcb* list, const tcp_pcb* pcb) {
  while (list != nullptr && list != pcb) {
    list = list->next;
  }
  return list != nullptr;
}

/// Whether the control block of this connection still exists and is still its own.
bool lives(const Connection& of) {
  return of.pcb != nullptr &&
         (lists(tcp_active_pcbs, of.pcb) || lists(tcp_tw_pcbs, of.pcb) ||
          lists(tcp_bound_pcbs, of.pcb)) &&
         of.pcb->callback_arg == &of;
}

/// The connection of a handle, or nullptr.
Connection* find(lockstep_device* d, std::int64_t handle) {
  bool const known = handle >= 1 && static_cast<std::uint64_t>(handle) <= d->connections.size();
  Connection* const found =
      known ? d->connections[static_cast<std::size_t>(handle) - 1].get() : nullptr;
  if (found != nullptr && !lives(*found)) {
    found->pcb = nullptr;
  }
  return found;
}

Listener* find_listener(lockstep_device* d, std::int64_t handle) {
  bool const known = handle >= 1 && static_cast<std::uint64_t>(handle) <= d->listeners.size();
  return known ? d->listeners[static_cast<std::size_t>(handle) - 1].get() : nullptr;
}

/// Gives out the next handle, of a connection or of a listener.
std::int64_t keep(lockstep_device* d, std::unique_ptr<Connection> connection,
                  std::unique_ptr<Listener> listener) {
  d->connections.push_back(std::move(connection));
  d->listeners.push_back(std::move(listener));
  return static_cast<std::int64_t>(d->connections.size());
}

// --- what lwIP calls ---

err_t leave(pbuf* packet) {
  std::vector<std::uint8_t> octets(packet->tot_len);
  pbuf_copy_partial(packet, octets.data(), packet->tot_len, 0);
  the_device->sent.push_back(std::move(octets));
  return ERR_OK;
}

err_t leave_4(netif*, pbuf* packet, const ip4_addr_t*) { return leave(packet); }
err_t leave_6(netif*, pbuf* packet, const ip6_addr_t*) { return leave(packet); }

err_t set_up(netif* interface) {
  interface->output = leave_4;
  interface->output_ip6 = leave_6;
  interface->name[0] = 'l';
  interface->name[1] = 's';
  return ERR_OK;
}

err_t on_received(void* argument, tcp_pcb*, pbuf* data, err_t) {
  auto* const connection = static_cast<Connection*>(argument);
  if (data == nullptr) {
    connection->finished = true;
    connection->tell("peer_finished");
    return ERR_OK;
  }
  for (const pbuf* part = data; part != nullptr; part = part->next) {
    const auto* const first = static_cast<const std::uint8_t*>(part->payload);
    connection->unread.insert(connection->unread.end(), first, first + part->len);
  }
  pbuf_free(data);
  connection->tell("received");
  return ERR_OK;
}

void on_error(void* argument, err_t error) {
  auto* const connection = static_cast<Connection*>(argument);
  connection->pcb = nullptr;
  connection->over = true;
  if (error == ERR_RST) {
    connection->tell(connection->connecting ? "closed:refused" : "closed:reset");
  } else {
    connection->tell(error == ERR_CLSD ? "closed:finished" : "closed:timed_out");
  }
}

err_t on_connected(void* argument, tcp_pcb*, err_t) {
  auto* const connection = static_cast<Connection*>(argument);
  connection->connecting = false;
  connection->tell("connected");
  return ERR_OK;
}

void configure(lockstep_device* d, tcp_pcb* pcb) {
  if (d->keepalive) {
    ip_set_option(pcb, SOF_KEEPALIVE);
  }
  if (d->keepalive_idle_ms != 0) {
    pcb->keep_idle = static_cast<u32_t>(d->keepalive_idle_ms);
  }
  if (d->keepalive_interval_ms != 0) {
    pcb->keep_intvl = static_cast<u32_t>(d->keepalive_interval_ms);
  }
  if (d->keepalive_probes != 0) {
    pcb->keep_cnt = static_cast<u32_t>(d->keepalive_probes);
  }
}

/// Makes the control block that of a connection, and returns its handle.
std::int64_t adopt(lockstep_device* d, tcp_pcb* pcb) {
  auto connection = std::make_unique<Connection>();
  connection->pcb = pcb;
  tcp_arg(pcb, connection.get());
  tcp_recv(pcb, on_received);
  tcp_err(pcb, on_error);
  configure(d, pcb);
  return keep(d, std::move(connection), nullptr);
}

err_t on_accepted(void* argument, tcp_pcb* pcb, err_t error) {
  if (error != ERR_OK || pcb == nullptr) {
    return ERR_VAL;
  }
  std::int64_t const handle = adopt(the_device, pcb);
  the_device->connections.back()->tell("accepted");
  static_cast<Listener*>(argument)->accepted.push_back(static_cast<std::size_t>(handle));
  return ERR_OK;
}

// --- making it ---

/// One option "name=value"; the reason if it cannot be set.
std::string set_option(lockstep_device* d, std::string_view line) {
  std::size_t const sign = line.find('=');
  if (sign == std::string_view::npos) {
    return "expected name=value, found " + std::string(line);
  }
  std::string_view const name = line.substr(0, sign);
  std::string const value(line.substr(sign + 1));
  char* end = nullptr;
  std::uint64_t const number = std::strtoull(value.c_str(), &end, 10);
  bool const yes = value == "true" || value == "1";
  std::string_view const unit(end);
  std::uint64_t const as_ms = number * (unit == "ms" ? 1 : unit == "m" ? 60'000 : 1'000);
  bool const duration = unit == "ms" || unit == "s" || unit == "m";
  if (name == "keepalive") {
    d->keepalive = yes;
  } else if (name == "keepalive_idle" && duration) {
    d->keepalive_idle_ms = as_ms;
  } else if (name == "keepalive_interval" && duration) {
    d->keepalive_interval_ms = as_ms;
  } else if (name == "keepalive_probes" && unit.empty()) {
    d->keepalive_probes = number;
  } else if (name == "profile" && value == "rfc") {
    // lwIP is built with one configuration.
  } else {
    return "unsupported: no way to set " + std::string(name) + " to " + value;
  }
  return "";
}

std::string set_options(lockstep_device* d, std::string_view lines) {
  while (!lines.empty()) {
    std::size_t const end = std::min(lines.find('\n'), lines.size());
    if (end != 0) {
      if (std::string why = set_option(d, lines.substr(0, end)); !why.empty()) {
        return why;
      }
    }
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return "";
}

std::string make(lockstep_device* d, const lockstep_device_setup& setup) {
  if (the_device != nullptr) {
    return "lwIP has global variables: a process has one device at a time";
  }
  if (ipaddr_aton(setup.local, &d->local) == 0 || ipaddr_aton(setup.remote, &d->remote) == 0) {
    return "expected two IP addresses";
  }
  if (std::string why = set_options(d, setup.options); !why.empty()) {
    return why;
  }
  now_ns = start_ns = setup.start;
  std::srand(static_cast<unsigned>(setup.seed));
  the_device = d;
  lwip_init();
  if (IP_IS_V4(&d->local)) {
    ip4_addr_t mask;
    IP4_ADDR(&mask, 255, 255, 255, 0);
    netif_add(&d->interface, ip_2_ip4(&d->local), &mask, IP4_ADDR_ANY4, nullptr, set_up, ip_input);
  } else {
    netif_add_noaddr(&d->interface, nullptr, set_up, ip_input);
    netif_ip6_addr_set(&d->interface, 0, ip_2_ip6(&d->local));
    // Without duplicate address detection, because the tester and the device are alone.
    netif_ip6_addr_set_state(&d->interface, 0, IP6_ADDR_PREFERRED);
  }
  d->interface.mtu = static_cast<u16_t>(std::min<std::uint32_t>(setup.mtu, 65'535));
  d->interface.mtu6 = d->interface.mtu;
  netif_set_default(&d->interface);
  netif_set_link_up(&d->interface);
  netif_set_up(&d->interface);
  d->sent.clear();  // what it announces to its neighbours
  return "";
}

lockstep_device* create(const lockstep_device_setup* setup, char* why, std::size_t room) {
  auto made = std::make_unique<lockstep_device>();
  if (std::string const reason = make(made.get(), *setup); !reason.empty()) {
    std::snprintf(why, room, "%s", reason.c_str());
    return nullptr;
  }
  return made.release();
}

void destroy(lockstep_device* d) {
  for (const auto& each : d->connections) {
    if (each != nullptr && lives(*each)) {
      tcp_arg(each->pcb, nullptr);
      tcp_err(each->pcb, nullptr);
      tcp_recv(each->pcb, nullptr);
      tcp_abort(each->pcb);
    }
  }
  while (tcp_tw_pcbs != nullptr) {
    tcp_abort(tcp_tw_pcbs);
  }
  for (const auto& each : d->listeners) {
    if (each != nullptr && each->pcb != nullptr) {
      tcp_close(each->pcb);
    }
  }
  netif_remove(&d->interface);
  the_device = nullptr;
  delete d;
}

// --- time and the wire ---

void advance(lockstep_device*, std::uint64_t now) {
  now_ns = now;
  sys_check_timeouts();
}

std::uint64_t deadline(lockstep_device*) {
  u32_t const left = sys_timeouts_sleeptime();
  std::uint64_t const whole = (now_ns - start_ns) / ms;
  return left == SYS_TIMEOUTS_SLEEPTIME_INFINITE ? LOCKSTEP_DEVICE_NEVER
                                                 : start_ns + (whole + left) * ms;
}

void packet_in(lockstep_device* d, const void* packet, std::size_t length) {
  pbuf* const made = pbuf_alloc(PBUF_RAW, static_cast<u16_t>(length), PBUF_RAM);
  if (made == nullptr) {
    return;
  }
  pbuf_take(made, packet, static_cast<u16_t>(length));
  if (d->interface.input(made, &d->interface) != ERR_OK) {
    pbuf_free(made);
  }
}

std::size_t packet_out(lockstep_device* d, void* packet, std::size_t room) {
  if (d->sent.empty()) {
    return 0;
  }
  std::vector<std::uint8_t> const next = std::move(d->sent.front());
  d->sent.pop_front();
  std::memcpy(packet, next.data(), std::min(room, next.size()));
  return next.size();
}

// --- the program's calls ---

std::int64_t listen(lockstep_device* d, std::uint16_t port, std::uint32_t backlog) {
  tcp_pcb* const bound = tcp_new_ip_type(IP_GET_TYPE(&d->local));
  if (bound != nullptr) {
    ip_set_option(bound, SOF_REUSEADDR);  // a connection in TIME-WAIT has the port, too
  }
  if (bound == nullptr || tcp_bind(bound, &d->local, port) != ERR_OK) {
    if (bound != nullptr) {
      tcp_close(bound);
    }
    return refused;
  }
  tcp_pcb* const pcb =
      tcp_listen_with_backlog(bound, static_cast<u8_t>(std::clamp(backlog, 1U, 255U)));
  if (pcb == nullptr) {
    tcp_close(bound);
    return refused;
  }
  auto listener = std::make_unique<Listener>();
  listener->pcb = pcb;
  tcp_arg(pcb, listener.get());
  tcp_accept(pcb, on_accepted);
  return keep(d, nullptr, std::move(listener));
}

std::int64_t unlisten(lockstep_device* d, std::int64_t handle) {
  Listener* const found = find_listener(d, handle);
  if (found == nullptr || found->pcb == nullptr) {
    return gone;
  }
  tcp_close(found->pcb);
  found->pcb = nullptr;
  return 0;
}

std::int64_t accept(lockstep_device* d, std::int64_t handle) {
  Listener* const found = find_listener(d, handle);
  if (found == nullptr) {
    return gone;
  }
  if (found->accepted.empty()) {
    return again;
  }
  std::size_t const next = found->accepted.front();
  found->accepted.pop_front();
  return static_cast<std::int64_t>(next);
}

std::int64_t connect(lockstep_device* d, std::uint16_t local_port, std::uint16_t remote_port) {
  tcp_pcb* const pcb = tcp_new_ip_type(IP_GET_TYPE(&d->local));
  if (pcb == nullptr) {
    return refused;
  }
  ip_set_option(pcb, SOF_REUSEADDR);
  if (tcp_bind(pcb, &d->local, local_port) != ERR_OK) {
    tcp_close(pcb);
    return refused;
  }
  std::int64_t const handle = adopt(d, pcb);
  d->connections.back()->connecting = true;
  return tcp_connect(pcb, &d->remote, remote_port, on_connected) == ERR_OK ? handle : refused;
}

std::int64_t send(lockstep_device* d, std::int64_t handle, const void* data, std::size_t length) {
  Connection* const found = find(d, handle);
  if (found == nullptr || found->pcb == nullptr || found->closed) {
    return gone;
  }
  const auto* at = static_cast<const std::uint8_t*>(data);
  std::size_t left = length;
  while (left != 0) {
    auto const part = static_cast<u16_t>(
        std::min<std::size_t>({left, tcp_sndbuf(found->pcb), std::size_t{32'768}}));
    u8_t const more = part < left ? TCP_WRITE_FLAG_MORE : 0;
    if (part == 0 ||
        tcp_write(found->pcb, at, part, static_cast<u8_t>(TCP_WRITE_FLAG_COPY | more)) != ERR_OK) {
      break;
    }
    at += part;
    left -= part;
  }
  tcp_output(found->pcb);
  return left == length && length != 0 ? again : static_cast<std::int64_t>(length - left);
}

std::int64_t receive(lockstep_device* d, std::int64_t handle, void* data, std::size_t room) {
  Connection* const found = find(d, handle);
  if (found == nullptr) {
    return gone;
  }
  std::size_t const taken = std::min(room, found->unread.size());
  if (taken == 0 && room != 0) {
    return found->finished ? 0 : found->over || found->pcb == nullptr ? gone : again;
  }
  std::copy_n(found->unread.begin(), taken, static_cast<std::uint8_t*>(data));
  found->unread.erase(found->unread.begin(),
                      found->unread.begin() + static_cast<std::ptrdiff_t>(taken));
  for (std::size_t left = taken; found->pcb != nullptr && left != 0;) {
    auto const part = static_cast<u16_t>(std::min<std::size_t>(left, 65'535));
    tcp_recved(found->pcb, part);
    left -= part;
  }
  return static_cast<std::int64_t>(taken);
}

std::int64_t result_of(err_t error) { return error == ERR_OK ? 0 : refused; }

std::int64_t finish(lockstep_device* d, std::int64_t handle) {
  Connection* const found = find(d, handle);
  if (found == nullptr || found->pcb == nullptr) {
    return gone;
  }
  return result_of(tcp_shutdown(found->pcb, 0, 1));
}

std::int64_t close(lockstep_device* d, std::int64_t handle) {
  Connection* const found = find(d, handle);
  if (found == nullptr || found->pcb == nullptr || found->closed) {
    return gone;
  }
  found->closed = true;
  return result_of(tcp_close(found->pcb));
}

std::int64_t abort_connection(lockstep_device* d, std::int64_t handle) {
  Connection* const found = find(d, handle);
  if (found == nullptr || found->pcb == nullptr) {
    return gone;
  }
  tcp_err(found->pcb, nullptr);
  tcp_abort(found->pcb);
  found->pcb = nullptr;
  found->over = true;
  found->tell("closed:aborted");
  return 0;
}

std::int64_t set(lockstep_device* d, std::int64_t handle, const char* name, std::int64_t value) {
  Connection* const found = find(d, handle);
  if (found == nullptr || found->pcb == nullptr) {
    return gone;
  }
  std::string_view const which = name;
  if (which == "nagle") {
    if (value != 0) {
      tcp_nagle_enable(found->pcb);
    } else {
      tcp_nagle_disable(found->pcb);
    }
  } else if (which == "keepalive") {
    if (value != 0) {
      ip_set_option(found->pcb, SOF_KEEPALIVE);
    } else {
      ip_reset_option(found->pcb, SOF_KEEPALIVE);
    }
  } else if (which == "keepalive_idle_ms") {
    found->pcb->keep_idle = static_cast<u32_t>(value);
  } else if (which == "ttl") {
    found->pcb->ttl = static_cast<u8_t>(value);
  } else if (which == "dscp") {
    found->pcb->tos = static_cast<u8_t>(value << 2);
  } else {
    return unsupported;
  }
  return 0;
}

std::int64_t get(lockstep_device* d, std::int64_t handle, const char* name) {
  Connection* const found = find(d, handle);
  if (found == nullptr || found->pcb == nullptr) {
    return gone;
  }
  // lwIP counts round trips in steps of 500 ms; sa is 8 times the mean.
  std::string_view const which = name;
  const tcp_pcb& pcb = *found->pcb;
  return which == "cwnd"            ? pcb.cwnd
         : which == "ssthresh"      ? pcb.ssthresh
         : which == "snd_wnd"       ? pcb.snd_wnd
         : which == "rcv_wnd"       ? pcb.rcv_wnd
         : which == "snd_una"       ? pcb.lastack
         : which == "snd_nxt"       ? pcb.snd_nxt
         : which == "rcv_nxt"       ? pcb.rcv_nxt
         : which == "snd_mss"       ? pcb.mss
         : which == "fast_recovery" ? ((pcb.flags & TF_INFR) != 0 ? 1 : 0)
         : which == "rto_ns"        ? pcb.rto * 500 * static_cast<std::int64_t>(ms)
         : which == "srtt_ns"       ? (pcb.sa >> 3) * 500 * static_cast<std::int64_t>(ms)
                                    : unsupported;
}

const char* state(lockstep_device*, std::uint16_t local_port, std::uint16_t remote_port) {
  static const char* const names[] = {"CLOSED",      "LISTEN",     "SYN-SENT",   "SYN-RECEIVED",
                                      "ESTABLISHED", "FIN-WAIT-1", "FIN-WAIT-2", "CLOSE-WAIT",
                                      "CLOSING",     "LAST-ACK",   "TIME-WAIT"};
  for (const tcp_pcb* list : {tcp_active_pcbs, tcp_tw_pcbs}) {
    for (const tcp_pcb* pcb = list; pcb != nullptr; pcb = pcb->next) {
      if (pcb->local_port == local_port && pcb->remote_port == remote_port) {
        return names[pcb->state];
      }
    }
  }
  for (const tcp_pcb_listen* pcb = tcp_listen_pcbs.listen_pcbs; pcb != nullptr; pcb = pcb->next) {
    if (pcb->local_port == local_port) {
      return "LISTEN";
    }
  }
  return "CLOSED";
}

const char* events(lockstep_device* d, std::int64_t handle) {
  Connection* const found = find(d, handle);
  d->told = found == nullptr ? "" : found->events;
  return d->told.c_str();
}

}  // namespace

extern "C" [[gnu::visibility("default")]] const lockstep_device_calls* lockstep_device_entry(void) {
  static const lockstep_device_calls calls{LOCKSTEP_DEVICE_VERSION,
                                           LOCKSTEP_LWIP_NAME,
                                           "lwIP " LWIP_VERSION_STRING,
                                           "ipv4 ipv6 udp deterministic branches",
                                           500 * ms,
                                           0,
                                           create,
                                           destroy,
                                           advance,
                                           deadline,
                                           packet_in,
                                           packet_out,
                                           listen,
                                           unlisten,
                                           accept,
                                           connect,
                                           send,
                                           receive,
                                           finish,
                                           close,
                                           abort_connection,
                                           nullptr,
                                           set,
                                           get,
                                           state,
                                           events,
                                           nullptr,
                                           nullptr};
  return &calls;
}
