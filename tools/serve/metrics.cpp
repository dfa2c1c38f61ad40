// One line of help and one of type a metric, then a line a shard.
#include "tools/serve/metrics.hpp"

#include <fmt/core.h>

#include <charconv>

#include "tools/cli/failure.hpp"
#include "tools/world/units.hpp"

namespace lockstep::tools {
namespace {

class Page {
 public:
  explicit Page(const std::vector<ServeTotals>& shards) : shards_(shards) {}

  /// `of`: the number of a shard.
  template <class Of>
  void counter(const char* name, const char* help, Of of) {
    head(name, help, "counter");
    lines(name, "", of);
  }
  template <class Of>
  void gauge(const char* name, const char* help, Of of) {
    head(name, help, "gauge");
    lines(name, "", of);
  }
  void head(const char* name, const char* help, const char* type) {
    text += fmt::format("# HELP lockstep_{} {}\n# TYPE lockstep_{} {}\n", name, help, name, type);
  }
  /// `label`: `reason="x",` or nothing.
  template <class Of>
  void lines(const char* name, const std::string& label, Of of) {
    for (std::size_t i = 0; i < shards_.size(); ++i) {
      text += fmt::format("lockstep_{}{{{}shard=\"{}\"}} {}\n", name, label, i, of(shards_[i]));
    }
  }

  std::string text;

 private:
  const std::vector<ServeTotals>& shards_;
};

void add_application(Page& page) {
  page.gauge("connections_open", "Connections that are open.",
             [](const ServeTotals& t) { return t.open; });
  page.counter("connections_total", "Connections accepted.",
               [](const ServeTotals& t) { return t.server.connections; });
  page.counter("body_bytes_total", "Octets of bodies in answers.",
               [](const ServeTotals& t) { return t.server.body_octets; });
  page.head("requests_total", "Requests answered, by status.", "counter");
  for (std::uint32_t i = 0; i < http::statuses.size(); ++i) {
    page.lines("requests_total",
               fmt::format("status=\"{}\",", static_cast<int>(http::statuses[i].status)),
               [i](const ServeTotals& t) { return t.server.answers[i]; });
  }
  page.head("connection_ends_total", "Connections ended, by cause.", "counter");
  for (std::uint32_t i = 0; i < cause_count; ++i) {
    page.lines("connection_ends_total",
               fmt::format("cause=\"{}\",", name_of(static_cast<Cause>(i))),
               [i](const ServeTotals& t) { return t.server.ends[i]; });
  }
}

void add_tcp(Page& page) {
  page.counter("sent_bytes_total", "Octets of text sent for the first time.",
               [](const ServeTotals& t) { return t.stack.tcp.bytes_sent; });
  page.counter("received_bytes_total", "Octets of text received in order.",
               [](const ServeTotals& t) { return t.stack.tcp.bytes_delivered; });
  page.counter("segments_sent_total", "Segments sent.",
               [](const ServeTotals& t) { return t.stack.tcp.segments_sent; });
  page.counter("segments_received_total", "Segments received.",
               [](const ServeTotals& t) { return t.stack.tcp.segments_received; });
  page.counter("retransmissions_total", "Segments sent again.",
               [](const ServeTotals& t) { return t.stack.tcp.retransmissions; });
  page.counter("fast_retransmits_total", "Of these, without a timeout.",
               [](const ServeTotals& t) { return t.stack.tcp.fast_retransmits; });
  page.counter("timeouts_total", "Retransmission timeouts.",
               [](const ServeTotals& t) { return t.stack.tcp.timeouts; });
  page.counter("resets_sent_total", "Resets sent.",
               [](const ServeTotals& t) { return t.stack.tcp.resets_sent; });
  page.head("drops_total", "Frames that died in the stack, by reason.", "counter");
  for (std::uint32_t i = 0; i < drop_count; ++i) {
    auto const drop = static_cast<Drop>(i);
    page.lines("drops_total", fmt::format("reason=\"{}\",", name_of(drop)),
               [drop](const ServeTotals& t) { return t.stack.drops.of(drop); });
  }
}

void add_port(Page& page) {
  page.counter("frames_in_total", "Frames that the port got.",
               [](const ServeTotals& t) { return t.port.frames_in; });
  page.counter("frames_out_total", "Frames that the port sent.",
               [](const ServeTotals& t) { return t.port.frames_out; });
  page.counter("frames_blocked_total", "Frames that had to wait for room.",
               [](const ServeTotals& t) { return t.port.blocked; });
  page.counter("frames_missed_total", "Frames that the kernel had no room for.",
               [](const ServeTotals& t) { return t.port.missed; });
  page.counter("frames_unsent_total", "Frames that the kernel did not take.",
               [](const ServeTotals& t) {
                 return t.port.link_down + t.port.no_buffers + t.port.refused;
               });
  page.counter("frames_forwarded_total", "Frames given to the shard whose they are.",
               [](const ServeTotals& t) { return t.shard.forwarded; });
  page.counter("frames_ring_full_total", "Frames lost for a full ring between shards.",
               [](const ServeTotals& t) { return t.shard.lost; });
}

}  // namespace

std::string metrics_text(const std::vector<ServeTotals>& shards) {
  Page page(shards);
  add_application(page);
  add_tcp(page);
  add_port(page);
  return page.text;
}

Endpoint metrics_place(const std::string& text) {
  std::size_t const colon = text.rfind(':');
  std::string address = text.substr(0, colon == std::string::npos ? 0 : colon);
  if (address.size() > 2 && address.front() == '[' && address.back() == ']') {
    address = address.substr(1, address.size() - 2);
  } else if (address.find(':') != std::string::npos) {
    address.clear();
  }
  auto const found = parse_address(address);
  std::uint16_t port = 0;
  const char* const end = text.data() + text.size();
  const char* const begin = colon == std::string::npos ? end : text.data() + colon + 1;
  auto const [stopped, error] = std::from_chars(begin, end, port);
  if (!found || error != std::errc{} || stopped != end || port == 0) {
    throw Failure(ExitCode::bad_input,
                  fmt::format("--metrics {}: expected an address of ours and a port, like "
                              "10.9.0.2:9100 or [2001:db8::2]:9100: correct it",
                              text));
  }
  return {*found, Port{port}};
}

}  // namespace lockstep::tools
