// Reads a request, makes the page, writes it as room allows and closes the connection.
#include "tools/lib/http/page.hpp"

#include <algorithm>

#include "tools/lib/http/head.hpp"
#include "tools/lib/http/site.hpp"

namespace lockstep::http {
namespace {

std::string plain_head(Status status) {
  std::array<char, head_bytes_max> head;
  std::uint32_t const length = write_head({.status = status, .keep_alive = false}, head);
  return {head.data(), length};
}

}  // namespace

Refusal PageServer::start(Stack& stack) {
  Backlog backlog;
  backlog.pending = Count{talks_max};
  return stack.listen(settings_.local, backlog, listener_);
}

std::uint32_t PageServer::place_of(ConnectionId id) const {
  std::uint32_t at = 0;
  while (at != talks_max && !(talks_[at].open && talks_[at].id == id)) {
    ++at;
  }
  return at;
}

bool PageServer::is_mine(const Event& event) const {
  return event.kind == EventKind::accepted ? event.listener == listener_
                                           : place_of(event.id) != talks_max;
}

void PageServer::on_event(Stack& stack, const Event& event) {
  if (event.kind == EventKind::accepted) {
    accept(stack, event);
    return;
  }
  std::uint32_t const place = place_of(event.id);
  if (place == talks_max) {
    return;
  }
  Talk& talk = talks_[place];
  if (event.kind == EventKind::closed) {
    talk.open = false;
  } else if (!talk.aborted) {
    go_on(stack, talk);
  }
}

void PageServer::accept(Stack& stack, const Event& event) {
  auto at = std::find_if(talks_.begin(), talks_.end(), [](const Talk& each) { return !each.open; });
  if (at == talks_.end()) {
    stack.abort(event.id);
    return;
  }
  *at = Talk{};
  at->id = event.id;
  at->open = true;
  at->until = stack.now() + settings_.patience;
  if (stopping_) {
    abort(stack, *at);
  }
}

void PageServer::go_on(Stack& stack, Talk& talk) {
  if (!talk.answering) {
    read(stack, talk);
  }
  if (talk.answering) {
    send(stack, talk);
  }
}

void PageServer::read(Stack& stack, Talk& talk) {
  constexpr RequestLimits limits;
  for (auto part = stack.readable(talk.id); !part.empty(); part = stack.readable(talk.id)) {
    Bytes used;
    auto const progress = talk.reader.read(part, limits, used);
    stack.consume(talk.id, used);
    if (progress != RequestReader::Progress::more) {
      talk.answering = true;
      talk.text = progress == RequestReader::Progress::failed ? plain_head(talk.reader.failure())
                                                              : answer_to(talk.reader);
      talk.finish_owed = true;
      ++answered_;
      return;
    }
  }
}

std::string PageServer::answer_to(const RequestReader& asked) {
  std::array<char, Site::path_max> decoded;
  if (!asked.is_get() && !asked.is_head()) {
    return plain_head(Status::method_not_allowed);
  }
  if (path_of(asked.target(), decoded) != settings_.path) {
    return plain_head(Status::not_found);
  }
  std::string const page = settings_.text();
  std::string out = "HTTP/1.1 200 OK\r\nContent-Type: " + settings_.type +
                    "\r\nContent-Length: " + std::to_string(page.size()) +
                    "\r\nConnection: close\r\n\r\n";
  return asked.is_head() ? out : out + page;
}

void PageServer::send(Stack& stack, Talk& talk) {
  while (talk.sent < talk.text.size()) {
    auto const left = std::as_bytes(std::span(talk.text)).subspan(talk.sent);
    Taken const taken = stack.write(talk.id, left);
    talk.sent += taken.bytes.count;
    if (taken.refusal != Refusal::none && taken.refusal != Refusal::no_room) {
      abort(stack, talk);
      return;
    }
    if (taken.bytes.empty()) {
      return;
    }
  }
  if (talk.finish_owed) {
    talk.finish_owed = stack.finish(talk.id) == Refusal::no_room;
  }
  stack.consume(talk.id, stack.unread(talk.id));
}

void PageServer::abort(Stack& stack, Talk& talk) {
  talk.aborted = true;
  stack.abort(talk.id);
}

void PageServer::run(Stack& stack, Instant now) {
  for (Talk& talk : talks_) {
    if (talk.open && !talk.aborted && talk.until <= now) {
      abort(stack, talk);
    }
  }
}

Instant PageServer::deadline() const {
  Instant due = Instant::never();
  for (const Talk& talk : talks_) {
    due = talk.open && !talk.aborted ? earlier(due, talk.until) : due;
  }
  return due;
}

void PageServer::stop(Stack& stack, Instant) {
  stopping_ = true;
  static_cast<void>(stack.unlisten(listener_));
  for (Talk& talk : talks_) {
    if (talk.open && !talk.aborted && !talk.answering) {
      abort(stack, talk);
    }
  }
}

bool PageServer::done() const {
  return std::none_of(talks_.begin(), talks_.end(), [](const Talk& each) { return each.open; });
}

void PageServer::abandon(Stack& stack, Instant) {
  for (Talk& talk : talks_) {
    if (talk.open && !talk.aborted) {
      abort(stack, talk);
    }
  }
}

}  // namespace lockstep::http
