// Makes the script's calls on the stack in order and reads data as the script allows.
#include "conformance/replay/application.hpp"

#include <algorithm>

namespace lockstep::conformance {

void ReplayApplication::on_event(Stack& stack, const Event& event) {
  switch (event.kind) {
    case EventKind::accepted:
      id_ = event.id;
      has_id_ = true;
      finish_called_ = close_called_ = false;
      break;
    case EventKind::closed:
      if (has_id_ && event.id == id_) {
        read(stack);
        has_id_ = false;
        closed_ = event.cause;
      }
      break;
    case EventKind::received:
    case EventKind::peer_finished:
      if (has_id_ && event.id == id_) {
        read(stack);
      }
      break;
    case EventKind::connected:
    case EventKind::acknowledged:
    case EventKind::room:
    case EventKind::urgent:
    case EventKind::soft_error:
      break;
  }
}

void ReplayApplication::run(Stack& stack, Instant) {
  while (!calls_.empty() && carry_out(stack, calls_.front())) {
    calls_.pop_front();
  }
}

void ReplayApplication::begin(Stack& stack, const Step& call) {
  if (call.act == Act::listen) {
    ListenerId listener;
    Backlog backlog;
    backlog.fast_open = Count{listens_fast_ ? 16u : 0u};
    last_refusal_ = stack.listen(Local{local_.address, local_.port, {}}, backlog, listener);
    listening_ = last_refusal_ == Refusal::none;
    return;
  }
  Open open;
  open.local = local_;
  open.remote = remote_;
  open.fast_open = opens_fast_;
  last_refusal_ = stack.connect(open, id_);
  has_id_ = last_refusal_ == Refusal::none;
}

bool ReplayApplication::carry_out(Stack& stack, Step& call) {
  if (call.act == Act::listen || call.act == Act::open) {
    begin(stack, call);
    return true;
  }
  if (call.act == Act::hold || call.act == Act::resume) {
    reading_ = call.act == Act::resume;
    if (has_id_) {
      read(stack);
    }
    return true;
  }
  if (!has_id_) {
    return closed_ != Cause::none;  // before the connection exists the call waits; after its end
                                    // the call is dropped
  }
  switch (call.act) {
    case Act::write:
      return write(stack, call);
    case Act::urgent:
      if (!write(stack, call)) {
        return false;
      }
      last_refusal_ = stack.urgent(id_);
      return true;
    case Act::consume:
      allowance_ += call.bytes;
      read(stack);
      return true;
    case Act::finish:
      last_refusal_ = stack.finish(id_);
      finish_called_ = true;
      return true;
    case Act::close:
      last_refusal_ = stack.close(id_);
      finish_called_ = close_called_ = true;
      return true;
    default:
      stack.abort(id_);
      return true;
  }
}

bool ReplayApplication::write(Stack& stack, Step& call) {
  Taken const taken = stack.write(id_, call.content);
  last_refusal_ = taken.refusal;
  if (taken.refusal != Refusal::none && taken.refusal != Refusal::no_room) {
    return true;  // this write cannot succeed later either
  }
  call.content.erase(call.content.begin(),
                     call.content.begin() + static_cast<std::ptrdiff_t>(taken.bytes.count));
  return call.content.empty();
}

void ReplayApplication::read(Stack& stack) {
  while (!close_called_ && (reading_ || allowance_ != 0)) {
    auto const bytes = stack.readable(id_);
    if (bytes.empty()) {
      return;
    }
    std::size_t const most =
        reading_ ? bytes.size() : std::min<std::size_t>(bytes.size(), allowance_);
    auto const part = bytes.first(most);
    delivered_.insert(delivered_.end(), part.begin(), part.end());
    allowance_ -= std::min<std::uint64_t>(allowance_, most);
    stack.consume(id_, Bytes{static_cast<std::uint32_t>(most)});
  }
}

}  // namespace lockstep::conformance
