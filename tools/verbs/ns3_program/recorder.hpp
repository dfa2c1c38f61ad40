// Records the trace sources of sockets and queues during a run.
#pragma once

#include <ns3/nstime.h>
#include <ns3/packet.h>
#include <ns3/ptr.h>
#include <ns3/sequence-number.h>
#include <ns3/socket.h>
#include <ns3/tcp-header.h>
#include <ns3/tcp-socket-base.h>
#include <ns3/tcp-socket-state.h>
#include <ns3/tcp-socket.h>

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace lockstep::tools {

/// Writes traces.csv with the columns time_ns,who,name,value. Without a file it only counts.
class Recorder {
 public:
  /// `path` empty: no file. Throws Failure if the file cannot be written.
  Recorder(const std::string& path, std::uint32_t flows);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  void follow_socket(ns3::Ptr<ns3::Socket> socket, std::uint32_t flow);
  /// Counts segments with data of ns-3's TCP, which ns-3 itself does not count.
  void follow_segments(ns3::Ptr<ns3::Socket> socket, std::uint32_t flow);
  /// Octets that arrive after `late` are also counted separately.
  void follow_arrivals(ns3::Ptr<ns3::Object> sink, std::uint32_t flow, ns3::Time late);
  /// Counts frames that a host's device sends and receives.
  void follow_frames(ns3::Ptr<ns3::Object> device);
  /// Counts packets that the device's error model drops.
  void follow_losses(ns3::Ptr<ns3::Object> device);
  /// Records PacketsInQueue of a device's queue or of a queue disc.
  void follow_queue(ns3::Ptr<ns3::Object> queue, std::uint32_t index);
  /// Measures how long packets wait: in a queue disc, or in the queue of `device` until it begins
  /// to transmit them. Those that leave before `late` do not count.
  void follow_delays(ns3::Ptr<ns3::Object> queue, ns3::Ptr<ns3::Object> device, std::uint32_t index,
                     ns3::Time late);
  /// Counts packets dropped here because the device's queue is full and there is no queue disc.
  void follow_drops(ns3::Ptr<ns3::Object> traffic_control, std::uint32_t index);
  /// Throws Failure if the file could not be written completely.
  void close();

  struct Sent {
    std::uint64_t segments = 0;
    std::uint64_t again = 0;
    std::uint64_t timeouts = 0;
    std::uint32_t next = 0;  // the highest sequence number sent, plus one
    bool begun = false;
  };
  struct Arrived {
    ns3::Time first;
    ns3::Time last;
    std::uint64_t octets = 0;
    ns3::Time late_from;
    std::uint64_t late_octets = 0;
  };
  struct Queue {
    std::uint32_t now = 0;
    std::uint32_t most = 0;
    ns3::Time since;
    double packet_seconds = 0;
    std::uint64_t drops = 0;
    ns3::Time late_from;
    std::map<std::uint64_t, ns3::Time> entered;  // by packet; those dropped later stay
    std::vector<std::int64_t> delays_ns;
  };
  std::vector<Sent> sent;
  std::vector<Arrived> arrived;
  std::vector<Queue> queues;
  std::uint64_t frames = 0;
  std::uint64_t lost = 0;

 private:
  struct Mark {
    Recorder* recorder;
    std::uint32_t flow;
    const char* name;
  };
  const Mark* mark(std::uint32_t flow, const char* name);
  void write(const Mark& mark, std::uint64_t value);
  static void number(const Mark* mark, std::uint32_t before, std::uint32_t now);
  static void time(const Mark* mark, ns3::Time before, ns3::Time now);
  static void state(const Mark* mark, ns3::TcpSocket::TcpStates_t before,
                    ns3::TcpSocket::TcpStates_t now);
  static void segment(const Mark* mark, ns3::Ptr<const ns3::Packet> packet,
                      const ns3::TcpHeader& header, ns3::Ptr<const ns3::TcpSocketBase> socket);
  static void arrival(const Mark* mark, ns3::Ptr<const ns3::Packet> packet,
                      const ns3::Address& from);
  static void congestion(const Mark* mark, ns3::TcpSocketState::TcpCongState_t before,
                         ns3::TcpSocketState::TcpCongState_t now);
  static void count(std::uint64_t* counter, ns3::Ptr<const ns3::Packet> packet);
  static void drop(const Mark* mark, ns3::Ptr<const ns3::Packet> packet);
  static void enter(const Mark* mark, ns3::Ptr<const ns3::Packet> packet);
  static void delayed(const Mark* mark, ns3::Time delay);
  static void leave(const Mark* mark, ns3::Ptr<const ns3::Packet> packet);
  static void depth(const Mark* mark, std::uint32_t before, std::uint32_t now);

  std::FILE* file_ = nullptr;
  std::string path_;
  std::vector<Mark*> marks_;
};

}  // namespace lockstep::tools
