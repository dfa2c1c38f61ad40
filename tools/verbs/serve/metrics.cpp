// The metrics that only the web server has.
#include "tools/verbs/serve/metrics.hpp"

#include <fmt/core.h>

#include <charconv>

#include "tools/base/process/failure.hpp"
#include "tools/base/text/units.hpp"
#include "tools/verbs/serve/metrics_page.hpp"

namespace lockstep::tools {
namespace {

void add_application(MetricsPage<ServeTotals>& page) {
  page.gauge("connections_open", "Open connections.", [](const ServeTotals& t) { return t.open; });
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
  page.head("answer_bytes_total", "Octets of answers, heads included, by status.", "counter");
  for (std::uint32_t i = 0; i < http::statuses.size(); ++i) {
    page.lines("answer_bytes_total",
               fmt::format("status=\"{}\",", static_cast<int>(http::statuses[i].status)),
               [i](const ServeTotals& t) { return t.server.answer_octets[i]; });
  }
  page.histogram("request_latency_seconds",
                 "From the first octet of a request until the client acknowledged its answer.",
                 [](const ServeTotals& t) -> const load::Histogram& { return t.latency; });
  page.histogram("connection_rtt_seconds",
                 "Smoothed round-trip time, at the first of each 64 answers of a connection.",
                 [](const ServeTotals& t) -> const load::Histogram& { return t.rtt; });
  page.head("connections_gave_way_total", "Connections aborted for room, by what they had sent.",
            "counter");
  page.lines("connections_gave_way_total", "sent=\"nothing\",",
             [](const ServeTotals& t) { return t.server.gave_way_silent; });
  page.lines("connections_gave_way_total", "sent=\"part\",",
             [](const ServeTotals& t) { return t.server.gave_way_partial; });
  page.lines("connections_gave_way_total", "sent=\"requests\",",
             [](const ServeTotals& t) { return t.server.gave_way_idle; });
  page.counter("connections_over_client_limit_total", "Connections reset by --per-client.",
               [](const ServeTotals& t) { return t.server.over_client_limit; });
  page.head("connection_ends_total", "Connections ended, by cause.", "counter");
  for (std::uint32_t i = 0; i < cause_count; ++i) {
    page.lines("connection_ends_total",
               fmt::format("cause=\"{}\",", name_of(static_cast<Cause>(i))),
               [i](const ServeTotals& t) { return t.server.ends[i]; });
  }
}

}  // namespace

std::string metrics_text(const std::vector<ServeTotals>& shards) {
  MetricsPage<ServeTotals> page(shards);
  add_application(page);
  page.add_shard();
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
