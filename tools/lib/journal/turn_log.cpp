// Writes the fields of a turn in the order in which they become known.
#include "tools/lib/journal/turn_log.hpp"

namespace lockstep::journal {

void TurnLog::begin(Instant now, std::span<const Ingress> burst) {
  end();
  open_ = true;
  now_ = now;
  matters_ = !burst.empty();
  blocked_ = false;
  writer_.begin(Kind::turn);
  writer_.wide(now.ns);
  writer_.word(static_cast<std::uint32_t>(burst.size()));
  for (const Ingress& frame : burst) {
    writer_.octet(static_cast<std::uint8_t>(frame.checksum));
    writer_.wide(frame.arrived.ns);
    writer_.word(static_cast<std::uint32_t>(frame.bytes.size()));
    writer_.octets(frame.bytes);
  }
  frames_ += burst.size();
}

void TurnLog::sent(std::span<const std::byte> frame) {
  matters_ = true;
  sent_.push_back({static_cast<std::uint32_t>(frame.size()), hash_of(frame)});
}

void TurnLog::end() {
  if (open_ && matters_) {
    writer_.octet(blocked_ ? 1 : 0);
    writer_.word(static_cast<std::uint32_t>(sent_.size()));
    for (const Sent& each : sent_) {
      writer_.word(each.length);
      writer_.wide(each.hash);
    }
    writer_.finish();
    written_ = now_;
    ++turns_;
    frames_ += sent_.size();
  } else if (open_) {
    writer_.forget();
  }
  sent_.clear();
  open_ = false;
}

void TurnLog::catch_up() {
  note();
  end();
  if (written_ < now_) {
    begin(now_, {});
    note();
    end();
  }
}

void TurnLog::finish(std::uint64_t fingerprint) {
  catch_up();
  writer_.begin(Kind::end);
  writer_.wide(fingerprint);
  writer_.finish();
  writer_.flush();
}

void TurnLog::command(Kind kind, Instant now) {
  catch_up();
  writer_.begin(kind);
  writer_.wide(now.ns);
  writer_.finish();
}

void TurnLog::link_mtu(Bytes mtu) {
  catch_up();
  writer_.begin(Kind::link_mtu);
  writer_.wide(mtu.count);
  writer_.finish();
}

void TurnLog::flush() {
  end();
  writer_.flush();
}

}  // namespace lockstep::journal
