// Records time series of connections and queues during a run, as tables in CSV.
#include "tools/lib/sim_report/recorder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>

#include "sim/checkers/segment_view.hpp"
#include "tools/lib/sim_report/measures.hpp"

namespace lockstep::tools {

using sim::Flow;
using sim::FlowEnd;
using sim::Side;

namespace {

constexpr std::uint32_t ssthresh_unset = 1u << 30;  // from here on it is none: no window is larger

constexpr std::array<std::string_view, table_files.size()> columns = {
    "time_ns,connection,side,cwnd_bytes,ssthresh_bytes,flight_bytes,srtt_ns,rto_ns,"
    "pacing_bytes_per_second,retransmitted_segments\n",
    "time_ns,connection,side,rtt_ns\n",
    "time_ns,connection,side,read_bytes\n",
    "time_ns,link,way,packets,dropped_packets,marked_packets\n",
};

std::string_view name_of(Side side) { return side == Side::opener ? "opener" : "acceptor"; }

FourTuple from(const Flow& flow, Side side) {
  return side == Side::opener ? flow.tuple : FourTuple{flow.tuple.remote, flow.tuple.local};
}

bool has_closed(const Flow& flow) {
  FlowEnd const& opener = flow.end(Side::opener);
  return opener.begun && !opener.open;
}

std::uint64_t drops_of(const sim::LaneCounters& lane) {
  return std::accumulate(lane.drops.begin(), lane.drops.end(), std::uint64_t{0});
}

/// Whether packets can wait there.
bool has_queue(const sim::LaneSpec& lane) {
  return lane.rate_bits_per_second != 0 || !lane.output.plain();
}

/// The segment of a frame; false if it is none.
bool read_segment(const sim::Kernel& kernel, const sim::FrameNote& note, sim::SegmentView& view) {
  bool const host = note.node.kind == sim::NodeKind::host;
  LinkType const link =
      host ? kernel.world().hosts[note.node.index].config.link : LinkType::ethernet;
  return sim::read_frame(link, note.bytes, view) == sim::FrameContent::tcp;
}

/// A row of cells. With fmt a run takes twice as long.
class RowText {
 public:
  RowText& add(std::string_view cell) {
    size_ += cell.copy(text_.data() + size_, cell.size());
    text_[size_++] = ',';
    return *this;
  }
  RowText& add(std::uint64_t number) {
    std::array<char, 20> digits;
    std::size_t at = digits.size();
    do {
      digits[--at] = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number != 0);
    return add(std::string_view(digits.data() + at, digits.size() - at));
  }
  /// An empty cell if the number is not known.
  RowText& add(std::uint64_t number, bool is_known) {
    return is_known ? add(number) : add(std::string_view());
  }
  std::string_view finish() {
    text_[size_ - 1] = '\n';
    return {text_.data(), size_};
  }

 private:
  std::array<char, 256> text_;  // ten numbers of 20 digits fit, or a name of 31 and five numbers
  std::size_t size_ = 0;
};

/// A number, or nothing: an empty cell.
std::string known(std::uint64_t number, bool is_known) {
  return is_known ? std::to_string(number) : std::string();
}

}  // namespace

Recorder::Recorder(const sim::Kernel& kernel, const Tables& into)
    : into_(into), hosts_(kernel.world().hosts.size()) {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    put(static_cast<Table>(i), columns[i]);
  }
  state_.open.resize(hosts_ + kernel.world().stations.size());
  for (std::uint32_t i = 0; i < kernel.bus().lane_count(); ++i) {
    if (has_queue(kernel.bus().lane({i}).spec())) {
      state_.queues.push_back({.lane = i});
    }
  }
}

void Recorder::put(Table table, std::string_view row) {
  into_[static_cast<std::size_t>(table)]->put(std::as_bytes(std::span(row)));
}

std::size_t Recorder::node_of(const FlowEnd& end) const {
  return end.host.value + (end.station ? hosts_ : 0);
}

// The ledger has a connection before its first segment is sent.
void Recorder::see_flows(const sim::Kernel& kernel) {
  auto const& flows = kernel.ledger().flows();
  for (; state_.flows < flows.size(); ++state_.flows) {
    Flow const& flow = flows[state_.flows];
    for (Side const side : {Side::opener, Side::acceptor}) {
      auto const place = static_cast<std::uint32_t>(state_.ends.size());
      state_.ends.push_back(End{flow.id, side});
      state_.unaccepted.push_back(place);
      // In a simultaneous open the first of the two flows stays.
      auto const [held, is_new] = state_.senders.try_emplace(from(flow, side), place);
      if (!is_new && has_closed(kernel.ledger().flow(state_.ends[held->second].flow))) {
        held->second = place;
      }
    }
  }
  if (!state_.unaccepted.empty()) {
    see_acceptors(kernel);
  }
}

// An end is known to be at a host once it has begun; the acceptor begins later, or never.
void Recorder::see_acceptors(const sim::Kernel& kernel) {
  std::erase_if(state_.unaccepted, [&](std::uint32_t place) {
    End const& end = state_.ends[place];
    Flow const& flow = kernel.ledger().flow(end.flow);
    FlowEnd const& at = flow.end(end.side);
    if (at.begun && !flow.joined) {
      state_.open[node_of(at)].push_back(place);
    }
    return at.begun || flow.joined || has_closed(flow);
  });
}

void Recorder::turned(const sim::Kernel& kernel, sim::HostIndex host, Outcome) {
  run(kernel, host.value);
}

void Recorder::station_ran(const sim::Kernel& kernel, std::uint32_t station) {
  run(kernel, hosts_ + station);
}

void Recorder::run(const sim::Kernel& kernel, std::size_t node) {
  see_flows(kernel);
  std::erase_if(state_.open[node], [&](std::uint32_t place) {
    End& end = state_.ends[place];
    FlowEnd const& at = kernel.ledger().flow(end.flow).end(end.side);
    add_read(kernel.now(), end, at);
    if (!at.open) {
      end.rtt = {};
      return true;
    }
    add_sender(kernel.now(), end, at,
               at.station ? at.last : kernel.host(at.host).stack().inspect(at.id));
    return false;
  });
}

void Recorder::add_sender(Instant at, End& end, const FlowEnd& now, const ConnectionInfo& info) {
  end.sends = end.sends || now.written != 0 || info.send.queued.count != 0;
  if (!end.sends || !info.exists || info.detached) {
    return;
  }
  Sender const sender{
      info.cwnd.count,     info.ssthresh.count, info.send.nxt.since(info.send.una).count,
      info.srtt.ns,        info.rto.ns,         info.pacing_rate,
      info.retransmissions};
  if (sender == end.sender) {
    return;
  }
  end.sender = sender;
  RowText row;
  row.add(at.ns).add(end.flow.value).add(name_of(end.side)).add(sender.cwnd);
  row.add(sender.ssthresh, sender.ssthresh < ssthresh_unset).add(sender.flight);
  row.add(sender.srtt, sender.srtt != 0).add(sender.rto);
  row.add(sender.pacing, sender.pacing != 0).add(sender.retransmissions);
  put(Table::senders, row.finish());
}

void Recorder::add_read(Instant at, End& end, const FlowEnd& now) {
  if (now.read == end.read) {
    return;
  }
  end.read = now.read;
  RowText row;
  row.add(at.ns).add(end.flow.value).add(name_of(end.side)).add(end.read);
  put(Table::readers, row.finish());
}

void Recorder::sent(const sim::Kernel& kernel, const sim::FrameNote& note) {
  sim::SegmentView view;
  if (!read_segment(kernel, note, view)) {
    return;
  }
  see_flows(kernel);
  auto const found = state_.senders.find({view.source, view.destination});
  if (found != state_.senders.end()) {
    state_.ends[found->second].rtt.sent(note.at, view.segment.sequence, view.segment.end());
  }
}

void Recorder::delivered(const sim::Kernel& kernel, const sim::FrameNote& note) {
  sim::SegmentView view;
  if (!read_segment(kernel, note, view) || !view.segment.flags.ack()) {
    return;
  }
  auto const found = state_.senders.find({view.destination, view.source});
  if (found == state_.senders.end()) {
    return;
  }
  End& end = state_.ends[found->second];
  auto const sample = end.rtt.acknowledged(note.at, view.segment.acknowledgment);
  if (sample) {
    RowText row;
    row.add(note.at.ns).add(end.flow.value).add(name_of(end.side)).add(sample->ns);
    put(Table::rtt_samples, row.finish());
  }
}

void Recorder::stepped(const sim::Kernel& kernel) {
  for (Queue& queue : state_.queues) {
    sim::LaneCounters const& lane = kernel.bus().lane({queue.lane}).counters();
    if (lane.frames_offered == queue.offered && queue.packets == 0) {
      continue;
    }
    queue.offered = lane.frames_offered;
    std::uint32_t const packets = kernel.bus().seen_waiting({queue.lane}, kernel.now());
    std::uint64_t const dropped = drops_of(lane);
    if (packets == queue.packets && dropped == queue.dropped && lane.marked == queue.marked) {
      continue;
    }
    queue = {queue.lane, packets, queue.offered, dropped, lane.marked};
    RowText row;
    row.add(kernel.now().ns).add(kernel.world().links[queue.lane / 2].name.view());
    row.add(queue.lane % 2 == 0 ? "forward" : "back").add(packets).add(dropped).add(lane.marked);
    put(Table::queues, row.finish());
  }
}

std::string connections_csv(const sim::Kernel& kernel) {
  std::string out =
      "connection,side,app,host,local,remote,outcome,began_ns,duration_ns,written_bytes,"
      "read_bytes,goodput_bits_per_second,sent_segments,retransmitted_segments,rtt_min_ns,"
      "rtt_median_ns,rtt_p99_ns\n";
  for (Flow const& flow : kernel.ledger().flows()) {
    for (Side const side : {Side::opener, Side::acceptor}) {
      FlowEnd const& end = flow.end(side);
      if (flow.joined || !end.begun) {
        continue;
      }
      auto const rtt = end.rtt.summary();
      FourTuple const tuple = from(flow, side);
      fmt::format_to(
          std::back_inserter(out), "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n",
          flow.id.value, name_of(side), flow.app.view(), host_of(kernel, end),
          endpoint_text(tuple.local), endpoint_text(tuple.remote), outcome_of(flow), end.began.ns,
          ended(flow, kernel.now()).since(end.began).ns, end.written, end.read,
          goodput_bits_per_second(end), end.last.segments_sent, end.last.retransmissions,
          known(rtt.least.ns, rtt.count != 0), known(rtt.median.ns, rtt.count != 0),
          known(rtt.percentile_99.ns, rtt.count != 0));
    }
  }
  return out;
}

}  // namespace lockstep::tools
