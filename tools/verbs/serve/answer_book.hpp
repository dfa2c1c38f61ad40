// What a shard of the web server notes of each answer: times, and lines of the access log.
#pragma once

#include "tools/lib/http/server.hpp"
#include "tools/lib/load/histogram.hpp"
#include "tools/verbs/serve/access_log.hpp"

namespace lockstep::tools {

class AnswerBook final : public http::AnswerObserver {
 public:
  /// `log`: nullptr if there is none. `unix_ns`: the time of day at Instant{}.
  AnswerBook(ShardId self, AccessLog* log, std::uint64_t unix_ns)
      : self_(self), log_(log), unix_ns_(unix_ns) {}

  void answered(const http::Answered& answer) override {
    if (answer.srtt.ns != 0) {
      rtt_.add(answer.srtt);
    }
    if (log_ != nullptr) {
      log_->put(self_,
                access_line(answer, log_->format(), unix_ns_ + answer.begun.since(Instant{}).ns));
    }
  }

  void acknowledged(Duration latency) override { latency_.add(latency); }

  /// From the first octet of a request to the acknowledgement of its whole answer.
  const load::Histogram& latency() const { return latency_; }
  /// Smoothed round-trip times of connections, with the first of each 64 answers.
  const load::Histogram& rtt() const { return rtt_; }

 private:
  ShardId self_;
  AccessLog* log_;
  std::uint64_t unix_ns_;
  load::Histogram latency_;
  load::Histogram rtt_;
};

}  // namespace lockstep::tools
