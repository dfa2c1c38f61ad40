// Records the trace sources of sockets and queues during a run.
#include "tools/verbs/ns3_program/recorder.hpp"

#include <fmt/core.h>
#include <ns3/queue-disc.h>
#include <ns3/simulator.h>

#include <algorithm>

#include "tools/base/process/failure.hpp"

namespace lockstep::tools {

using namespace ns3;

Recorder::Recorder(const std::string& path, std::uint32_t flows) : path_(path) {
  sent.resize(flows);
  arrived.resize(flows);
  if (path.empty()) {
    return;
  }
  file_ = std::fopen(path.c_str(), "w");
  if (file_ == nullptr) {
    throw Failure(ExitCode::environment, fmt::format("{} cannot be written", path));
  }
  fmt::print(file_, "time_ns,who,name,value\n");
}

Recorder::~Recorder() {
  if (file_ != nullptr) {
    std::fclose(file_);
  }
  for (Mark* const each : marks_) {
    delete each;
  }
}

void Recorder::close() {
  if (file_ == nullptr) {
    return;
  }
  bool const failed = std::ferror(file_) != 0;
  if (std::fclose(file_) != 0 || failed) {
    file_ = nullptr;
    throw Failure(ExitCode::environment, fmt::format("{} could not be written completely", path_));
  }
  file_ = nullptr;
}

const Recorder::Mark* Recorder::mark(std::uint32_t flow, const char* name) {
  marks_.push_back(new Mark{this, flow, name});
  return marks_.back();
}

void Recorder::write(const Mark& mark, std::uint64_t value) {
  if (file_ != nullptr) {
    fmt::print(file_, "{},{},{},{}\n", Simulator::Now().GetNanoSeconds(), mark.flow, mark.name,
               value);
  }
}

void Recorder::number(const Mark* mark, std::uint32_t, std::uint32_t now) {
  mark->recorder->write(*mark, now);
}

void Recorder::time(const Mark* mark, Time, Time now) {
  mark->recorder->write(*mark, static_cast<std::uint64_t>(now.GetNanoSeconds()));
}

void Recorder::state(const Mark* mark, TcpSocket::TcpStates_t, TcpSocket::TcpStates_t now) {
  mark->recorder->write(*mark, static_cast<std::uint64_t>(now));
}

void Recorder::segment(const Mark* mark, Ptr<const Packet> packet, const TcpHeader& header,
                       Ptr<const TcpSocketBase>) {
  if (packet->GetSize() == 0) {
    return;
  }
  Sent& sent = mark->recorder->sent[mark->flow];
  std::uint32_t const begin = header.GetSequenceNumber().GetValue();
  ++sent.segments;
  if (sent.begun && static_cast<std::int32_t>(begin - sent.next) < 0) {
    ++sent.again;
  } else {
    sent.next = begin + packet->GetSize();
    sent.begun = true;
  }
}

void Recorder::arrival(const Mark* mark, Ptr<const Packet> packet, const Address&) {
  Arrived& arrived = mark->recorder->arrived[mark->flow];
  arrived.first = arrived.octets == 0 ? Simulator::Now() : arrived.first;
  arrived.last = Simulator::Now();
  arrived.octets += packet->GetSize();
  arrived.late_octets += Simulator::Now() >= arrived.late_from ? packet->GetSize() : 0;
  mark->recorder->write(*mark, arrived.octets);
}

void Recorder::depth(const Mark* mark, std::uint32_t, std::uint32_t now) {
  Queue& queue = mark->recorder->queues[mark->flow];
  queue.packet_seconds += queue.now * (Simulator::Now() - queue.since).GetSeconds();
  queue.since = Simulator::Now();
  queue.now = now;
  queue.most = std::max(queue.most, now);
  mark->recorder->write(*mark, now);
}

void Recorder::follow_socket(Ptr<Socket> socket, std::uint32_t flow) {
  for (const char* name : {"CongestionWindow", "SlowStartThreshold", "BytesInFlight"}) {
    socket->TraceConnectWithoutContext(name,
                                       MakeBoundCallback(&Recorder::number, mark(flow, name)));
  }
  for (const char* name : {"RTT", "RTO"}) {
    socket->TraceConnectWithoutContext(name, MakeBoundCallback(&Recorder::time, mark(flow, name)));
  }
  socket->TraceConnectWithoutContext("State",
                                     MakeBoundCallback(&Recorder::state, mark(flow, "State")));
}

void Recorder::follow_segments(Ptr<Socket> socket, std::uint32_t flow) {
  socket->TraceConnectWithoutContext("Tx", MakeBoundCallback(&Recorder::segment, mark(flow, "Tx")));
  socket->TraceConnectWithoutContext(
      "CongState", MakeBoundCallback(&Recorder::congestion, mark(flow, "CongState")));
}

void Recorder::congestion(const Mark* mark, TcpSocketState::TcpCongState_t,
                          TcpSocketState::TcpCongState_t now) {
  mark->recorder->sent[mark->flow].timeouts += now == TcpSocketState::CA_LOSS ? 1 : 0;
}

void Recorder::count(std::uint64_t* counter, Ptr<const Packet>) { ++*counter; }

void Recorder::follow_frames(Ptr<Object> device) {
  for (const char* name : {"MacTx", "MacRx"}) {
    device->TraceConnectWithoutContext(name, MakeBoundCallback(&Recorder::count, &frames));
  }
}

void Recorder::follow_losses(Ptr<Object> device) {
  device->TraceConnectWithoutContext("PhyRxDrop", MakeBoundCallback(&Recorder::count, &lost));
}

void Recorder::follow_arrivals(Ptr<Object> sink, std::uint32_t flow, Time late) {
  arrived[flow].late_from = late;
  sink->TraceConnectWithoutContext("Rx",
                                   MakeBoundCallback(&Recorder::arrival, mark(flow, "Received")));
}

void Recorder::follow_queue(Ptr<Object> queue, std::uint32_t index) {
  queues.resize(std::max<std::size_t>(queues.size(), index + std::size_t{1}));
  queue->TraceConnectWithoutContext(
      "PacketsInQueue", MakeBoundCallback(&Recorder::depth, mark(index, "PacketsInQueue")));
}

void Recorder::follow_delays(Ptr<Object> queue, Ptr<Object> device, std::uint32_t index,
                             Time late) {
  queues[index].late_from = late;
  if (DynamicCast<QueueDisc>(queue) != nullptr) {
    queue->TraceConnectWithoutContext(
        "SojournTime", MakeBoundCallback(&Recorder::delayed, mark(index, "SojournTime")));
    return;
  }
  queue->TraceConnectWithoutContext("Enqueue",
                                    MakeBoundCallback(&Recorder::enter, mark(index, "Enqueue")));
  device->TraceConnectWithoutContext(
      "PhyTxBegin", MakeBoundCallback(&Recorder::leave, mark(index, "PhyTxBegin")));
}

void Recorder::delayed(const Mark* mark, Time delay) {
  Queue& queue = mark->recorder->queues[mark->flow];
  if (Simulator::Now() >= queue.late_from) {
    queue.delays_ns.push_back(delay.GetNanoSeconds());
  }
}

void Recorder::enter(const Mark* mark, Ptr<const Packet> packet) {
  mark->recorder->queues[mark->flow].entered[packet->GetUid()] = Simulator::Now();
}

void Recorder::leave(const Mark* mark, Ptr<const Packet> packet) {
  Queue& queue = mark->recorder->queues[mark->flow];
  auto const at = queue.entered.find(packet->GetUid());
  if (at != queue.entered.end()) {
    delayed(mark, Simulator::Now() - at->second);
    queue.entered.erase(at);
  }
}

void Recorder::drop(const Mark* mark, Ptr<const Packet>) {
  ++mark->recorder->queues[mark->flow].drops;
}

void Recorder::follow_drops(Ptr<Object> traffic_control, std::uint32_t index) {
  traffic_control->TraceConnectWithoutContext(
      "TcDrop", MakeBoundCallback(&Recorder::drop, mark(index, "Drops")));
}

}  // namespace lockstep::tools
