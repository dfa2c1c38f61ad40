// The applications on a device: what sim/models does on a host, by the calls of a device.
#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "conformance/interop/device_host.hpp"
#include "tools/base/process/failure.hpp"

namespace lockstep::conformance {
namespace {

using sim::FlowEnd;
using sim::Side;
using tools::ExitCode;
using tools::Failure;

// As sim/models: the round trip time is sampled once per this many acknowledged bytes.
constexpr std::uint64_t rtt_every_bytes = 65'536;
constexpr std::uint32_t program_backlog = 1'024;
constexpr std::uint64_t program_read_most = 60'000, program_write_most = 16'384;
constexpr Duration retry = Duration::milliseconds(100);  // after a refused connect

bool is_of(const sim::World& world, sim::NodeRef node, sim::Name station) {
  return node.kind == sim::NodeKind::station && world.stations[node.index].name == station;
}

/// The model as a device runs it.
enum class Model : std::uint8_t { bulk, chatter, echo, half_close, slow_reader };

Model model_of(const sim::AppSpec& app) {
  return app.model == sim::Name("chatter")       ? Model::chatter
         : app.model == sim::Name("echo")        ? Model::echo
         : app.model == sim::Name("half_close")  ? Model::half_close
         : app.model == sim::Name("slow_reader") ? Model::slow_reader
                                                 : Model::bulk;
}

std::string_view text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

void DeviceHost::take_applications(const sim::World& world) {
  for (char const* const call :
       {"listen", "accept", "connect", "send", "receive", "finish", "close", "abort", "state"}) {
    if (!world.station_apps.empty() && !peer_->about().calls.contains(call)) {
      throw Failure(ExitCode::bad_input,
                    fmt::format("host '{}': device {} has no call {}, which its applications need",
                                spec_.name.view(), peer_->about().name, call));
    }
  }
  for (sim::StationAppSpec const& each : world.station_apps) {
    bool const client = is_of(world, each.client, spec_.name);
    if (!client && !is_of(world, each.server, spec_.name)) {
      continue;
    }
    apps_.push_back(each.app);
    Instant start = Instant{0} + each.app.start;
    for (std::uint32_t i = 0; client && i < each.app.flows; ++i) {
      plans_.push_back({apps_.size() - 1, start, each.app.repeat, false});
      start = start + each.app.stagger;
    }
    if (!client) {
      listen_for(apps_.size() - 1);
    }
  }
}

void DeviceHost::listen_for(std::size_t app) {
  DeviceAnswer const answer = ask(LOCKSTEP_CALL_LISTEN, apps_[app].port.value, program_backlog);
  if (answer.result < 0) {
    throw Failure(ExitCode::bad_input,
                  fmt::format("host '{}': device {} cannot listen on port {}", spec_.name.view(),
                              peer_->about().name, apps_[app].port.value));
  }
  listeners_.push_back({app, static_cast<std::uint64_t>(answer.result)});
}

bool DeviceHost::done() const {
  return connections_.empty() && std::all_of(plans_.begin(), plans_.end(),
                                             [](FlowPlan const& plan) { return plan.left == 0; });
}

/// When a program opens a connection, reads or asks by the clock.
Instant DeviceHost::program_due() const {
  Instant out = Instant::never();
  for (FlowPlan const& plan : plans_) {
    out = plan.busy || plan.left == 0 ? out : earlier(out, plan.next);
  }
  for (ProgramConnection const& connection : connections_) {
    out = earlier(out, connection.due);
  }
  return out;
}

void DeviceHost::open(sim::StationDesk& desk) {
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    FlowPlan& plan = plans_[i];
    if (plan.busy || plan.left == 0 || desk.now() < plan.next) {
      continue;
    }
    sim::AppSpec const& app = apps_[plan.app];
    std::uint16_t const port = next_port_;
    next_port_ = port == 65'535 ? 49'152 : static_cast<std::uint16_t>(port + 1);
    DeviceAnswer const answer = ask(LOCKSTEP_CALL_CONNECT, port, app.port.value);
    plan.next = desk.now() + retry;
    if (answer.result < 0) {
      continue;
    }
    plan.busy = true;
    ProgramConnection connection;
    connection.handle = static_cast<std::uint64_t>(answer.result);
    connection.app = plan.app;
    connection.plan = i;
    connection.tuple = {{spec_.address, {port}}, {app.server_address, app.port}};
    connections_.push_back(connection);
  }
}

/// The SYN of a connection that a program here opens: its initial sequence number is known now.
void DeviceHost::note_opened(sim::StationDesk& desk, const FourTuple& tuple) {
  for (ProgramConnection& connection : connections_) {
    if (connection.side == Side::opener && connection.tuple == tuple && !connection.begun) {
      Sequence const iss = watch_.find(tuple)->opener_iss;
      connection.flow = desk.ledger().open({spec_of(connection).name, tuple, iss, false});
      begin(desk, connection);
    }
  }
}

void DeviceHost::begin(sim::StationDesk& desk, ProgramConnection& connection) {
  connection.begun = true;
  FlowEnd& end = desk.ledger().flow(connection.flow).end(connection.side);
  end = FlowEnd{};
  end.begun = end.open = true;
  end.host = {desk.node().index};
  end.station = true;
  end.began = desk.now();
  end.shift = sim::Pattern::shift_of(
      {std::uint64_t{connection.flow.value} * 2 + static_cast<std::uint64_t>(connection.side)});
}

void DeviceHost::accept_all(sim::StationDesk& desk) {
  for (Listener const& listener : listeners_) {
    for (;;) {
      DeviceAnswer const answer = ask(LOCKSTEP_CALL_ACCEPT, listener.handle);
      if (answer.result <= 0) {
        break;
      }
      ProgramConnection connection;
      connection.handle = static_cast<std::uint64_t>(answer.result);
      connection.app = listener.app;
      connection.side = Side::acceptor;
      auto const peer = watch_.next_accepted(apps_[listener.app].port);
      if (!peer) {
        throw DeviceFault(fmt::format("device {}: accept: no handshake has ended that it could be",
                                      peer_->about().name));
      }
      connection.tuple = *peer;
      FourTuple const of_opener{connection.tuple.remote, connection.tuple.local};
      Sequence const iss = watch_.find(connection.tuple)->opener_iss;
      connection.flow = desk.ledger().find(of_opener, iss);
      if (connection.flow == sim::FlowId{}) {
        connection.flow = desk.ledger().open({spec_of(connection).name, of_opener, iss, true});
      }
      begin(desk, connection);
      FlowEnd& end = desk.ledger().flow(connection.flow).end(connection.side);
      connection.established = true;
      end.established = desk.now();
      if (model_of(spec_of(connection)) == Model::echo) {
        // Its stream is the client's stream.
        end.shift = desk.ledger().flow(connection.flow).end(Side::opener).shift;
      }
      if (model_of(spec_of(connection)) == Model::slow_reader) {
        connection.due = desk.now() + spec_of(connection).read_after;
      }
      connections_.push_back(connection);
      go_on(desk, connections_.back());
    }
  }
}

/// Does what can be done now.
void DeviceHost::go_on(sim::StationDesk& desk, ProgramConnection& connection) {
  if (connection.over || !connection.begun) {
    return;
  }
  FlowEnd& end_now = desk.ledger().flow(connection.flow).end(connection.side);
  if (!connection.established && is_established(connection)) {
    connection.established = true;
    end_now.established = desk.now();
  }
  read(desk, connection);
  if (connection.over || !connection.established) {
    return;
  }
  decide(desk, connection);
  if (!connection.over && end_now.finished_writing && end_now.peer_finished) {
    measure(desk, connection);
    ask(LOCKSTEP_CALL_CLOSE, connection.handle);
    end(desk, connection, Cause::finished);
  }
}

/// To write or close before that would mean another thing (RFC 9293 3.10.2, 3.10.4).
bool DeviceHost::is_established(ProgramConnection& connection) {
  std::string const state = ask(LOCKSTEP_CALL_STATE, connection.tuple.local.port.value,
                                connection.tuple.remote.port.value)
                                .octets;
  return state == "ESTABLISHED" || state == "CLOSE-WAIT";
}

void DeviceHost::read(sim::StationDesk& desk, ProgramConnection& connection) {
  FlowEnd& end_now = desk.ledger().flow(connection.flow).end(connection.side);
  sim::AppSpec const& app = spec_of(connection);
  bool const slow = connection.side == Side::acceptor && model_of(app) == Model::slow_reader;
  if (end_now.peer_finished || (slow && desk.now() < connection.due)) {
    return;
  }
  std::uint64_t const most =
      slow ? std::clamp<std::uint64_t>(app.read_bytes, 1, program_read_most) : program_read_most;
  if (slow) {
    connection.due = desk.now() + std::max(app.read_every, Duration{1});
  }
  for (;;) {
    DeviceAnswer const answer = ask(LOCKSTEP_CALL_RECEIVE, connection.handle, most);
    if (answer.result == LOCKSTEP_DEVICE_AGAIN || answer.result == LOCKSTEP_DEVICE_REFUSED) {
      return;  // nothing, or not connected yet
    }
    if (answer.result < 0) {
      end(desk, connection, cause_of(connection));
      return;
    }
    if (answer.result == 0) {
      end_now.peer_finished = true;
      connection.due = Instant::never();
      return;
    }
    heard(desk, connection, std::as_bytes(std::span(answer.octets)));
    if (slow) {
      return;
    }
  }
}

/// Compares what was read with what the other side wrote.
void DeviceHost::heard(sim::StationDesk& desk, ProgramConnection& connection,
                       std::span<const std::byte> octets) {
  sim::Flow& flow = desk.ledger().flow(connection.flow);
  FlowEnd& end_now = flow.end(connection.side);
  FlowEnd const& writer = flow.end(other(connection.side));
  bool const right = flow.foreign || (end_now.read + octets.size() <= writer.written &&
                                      desk.pattern().matches(writer.shift, end_now.read, octets));
  if (!right && end_now.intact) {
    end_now.intact = false;
    end_now.first_wrong = end_now.read;
  }
  sim::StreamNote const note{desk.now(),   end_now.host, &flow, connection.side,
                             end_now.read, octets,       right};
  desk.watch().each(
      [&](sim::Observer& observer, const sim::Kernel& kernel) { observer.read(kernel, note); });
  end_now.read += octets.size();
  end_now.last_read = desk.now();
}

/// What the program does after it has read what there is.
void DeviceHost::decide(sim::StationDesk& desk, ProgramConnection& connection) {
  FlowEnd& end_now = desk.ledger().flow(connection.flow).end(connection.side);
  sim::AppSpec const& app = spec_of(connection);
  Model const model = model_of(app);
  if (end_now.finished_writing) {
    return;
  }
  if (connection.side == Side::opener) {
    if (model == Model::chatter) {
      ask_again(desk, connection);
      return;
    }
    connection.goal = app.bytes;
    write(desk, connection);
    bool const answered = model != Model::echo || end_now.read >= app.bytes;
    if (!connection.over && end_now.written == connection.goal && answered) {
      part(desk, connection, model == Model::half_close ? sim::CloseMode::finish : app.close_mode);
    }
    return;
  }
  std::uint64_t const request = app.bytes == 0 ? 1 : app.bytes;
  connection.goal = model == Model::echo         ? end_now.read
                    : model == Model::chatter    ? end_now.read / request * app.reply_bytes
                    : model == Model::half_close ? (end_now.peer_finished ? app.reply_bytes : 0)
                                                 : 0;
  write(desk, connection);
  if (!connection.over && end_now.peer_finished && end_now.written == connection.goal) {
    part(desk, connection, sim::CloseMode::finish);
  }
}

/// A chatter client: the next request after the answer to the last one, and the time to think.
void DeviceHost::ask_again(sim::StationDesk& desk, ProgramConnection& connection) {
  FlowEnd const& end_now = desk.ledger().flow(connection.flow).end(connection.side);
  sim::AppSpec const& app = spec_of(connection);
  for (;;) {
    write(desk, connection);
    bool const answered =
        end_now.written == connection.goal && end_now.read >= connection.round * app.reply_bytes;
    if (connection.over || !answered) {
      return;
    }
    if (connection.round != 0 && app.think.ns != 0) {
      if (connection.due.is_never()) {
        connection.due = desk.now() + app.think;
      }
      if (desk.now() < connection.due) {
        return;
      }
      connection.due = Instant::never();
    }
    if (connection.round == app.rounds) {
      part(desk, connection, app.close_mode);
      return;
    }
    ++connection.round;
    connection.goal += app.bytes;
  }
}

void DeviceHost::write(sim::StationDesk& desk, ProgramConnection& connection) {
  sim::Flow& flow = desk.ledger().flow(connection.flow);
  FlowEnd& end_now = flow.end(connection.side);
  while (end_now.written < connection.goal) {
    std::uint64_t const most = std::min(program_write_most, connection.goal - end_now.written);
    auto const piece = desk.pattern().at(end_now.shift, end_now.written).first(most);
    DeviceAnswer const answer = ask(LOCKSTEP_CALL_SEND, connection.handle, 0, text(piece));
    if (answer.result == LOCKSTEP_DEVICE_GONE) {
      end(desk, connection, cause_of(connection));
    }
    if (answer.result <= 0) {
      return;
    }
    auto const taken = static_cast<std::uint64_t>(answer.result);
    if (taken > most) {
      throw DeviceFault(fmt::format("device {}: send: it took {} of {} octets", peer_->about().name,
                                    taken, most));
    }
    sim::StreamNote const note{desk.now(),      end_now.host,       &flow, connection.side,
                               end_now.written, piece.first(taken), true};
    desk.watch().each(
        [&](sim::Observer& observer, const sim::Kernel& kernel) { observer.wrote(kernel, note); });
    end_now.written += taken;
  }
}

void DeviceHost::part(sim::StationDesk& desk, ProgramConnection& connection,
                      sim::CloseMode close_mode) {
  FlowEnd& end_now = desk.ledger().flow(connection.flow).end(connection.side);
  connection.due = Instant::never();
  if (close_mode == sim::CloseMode::finish) {
    std::int64_t const result = ask(LOCKSTEP_CALL_FINISH, connection.handle).result;
    if (result == LOCKSTEP_DEVICE_GONE) {
      end(desk, connection, cause_of(connection));
    }
    end_now.finished_writing = result >= 0;
    return;
  }
  bool const abort = close_mode == sim::CloseMode::abort;
  ask(abort ? LOCKSTEP_CALL_ABORT : LOCKSTEP_CALL_CLOSE, connection.handle);
  end_now.finished_writing = true;
  end(desk, connection, abort ? Cause::aborted : Cause::finished);
}

/// Why the connection is over, by the device's events; else it counts as reset.
Cause DeviceHost::cause_of(const ProgramConnection& connection) {
  if (peer_->about().calls.contains("events")) {
    std::string const events = ask(LOCKSTEP_CALL_EVENTS, connection.handle).octets;
    for (std::uint32_t i = 0; i < cause_count; ++i) {
      auto const cause = static_cast<Cause>(i);
      if (events.ends_with(fmt::format("closed:{}", name_of(cause)))) {
        return cause;
      }
    }
  }
  return Cause::reset;
}

void DeviceHost::end(sim::StationDesk& desk, ProgramConnection& connection, Cause cause) {
  if (connection.over) {
    return;
  }
  measure(desk, connection);
  connection.over = true;
  FlowEnd& end_now = desk.ledger().flow(connection.flow).end(connection.side);
  end_now.open = false;
  end_now.ended = desk.now();
  end_now.cause = cause;
  if (connection.plan) {
    FlowPlan& plan = plans_[*connection.plan];
    plan.busy = false;
    plan.next = desk.now() + spec_of(connection).think;
    --plan.left;
  }
}

void DeviceHost::forget_ended() {
  std::erase_if(connections_, [](ProgramConnection const& connection) { return connection.over; });
}

/// What the report and the series show of a sender.
void DeviceHost::measure(sim::StationDesk& desk, ProgramConnection& connection) {
  WireWatch::Connection const* const seen = watch_.find(connection.tuple);
  if (!connection.begun || seen == nullptr) {
    return;
  }
  FlowEnd& end_now = desk.ledger().flow(connection.flow).end(connection.side);
  ConnectionInfo& info = end_now.last;
  info.exists = true;
  info.tuple = connection.tuple;
  info.send.iss = seen->iss;
  info.send.una = seen->una;
  info.send.nxt = seen->nxt;
  info.segments_sent = seen->segments;
  info.retransmissions = seen->retransmissions;
  if (peer_->about().calls.contains("get")) {
    // A connection that is over has no variables any more: the last values stay.
    const auto variable = [&](std::string_view name, std::uint64_t otherwise) {
      std::int64_t const value = ask(LOCKSTEP_CALL_GET, connection.handle, 0, name).result;
      return value <= 0 ? otherwise : static_cast<std::uint64_t>(value);
    };
    const auto octets = [&](std::string_view name, Bytes otherwise) {
      return Bytes{static_cast<std::uint32_t>(
          std::min<std::uint64_t>(variable(name, otherwise.count), ~0u))};
    };
    info.cwnd = octets("cwnd", info.cwnd);
    info.ssthresh = octets("ssthresh", info.ssthresh);
    info.srtt = {variable("srtt_ns", info.srtt.ns)};
  }
  end_now.acknowledged = seen->acked;
  bool const often = seen->acked < rtt_every_bytes && seen->acked != connection.sampled;
  if (info.srtt.ns != 0 &&
      (often || seen->acked / rtt_every_bytes != connection.sampled / rtt_every_bytes)) {
    end_now.rtt.add(info.srtt);
    connection.sampled = seen->acked;
  }
}

}  // namespace lockstep::conformance
