// Reads a request, makes the page, writes it as room allows and closes the connection.
#include "tools/lib/http/page.hpp"

#include <algorithm>

#include "tools/lib/http/head.hpp"
#include "tools/lib/http/site.hpp"

namespace lockstep::http {
Refusal PageServer::start(Stack& stack) {
  Backlog backlog;
  backlog.pending = Count{exchanges_max};
  return stack.listen(settings_.local, backlog, listener_);
}

std::uint32_t PageServer::place_of(ConnectionId id) const {
  std::uint32_t at = 0;
  while (at != exchanges_max && !(exchanges_[at].open && exchanges_[at].id == id)) {
    ++at;
  }
  return at;
}

bool PageServer::is_mine(const Event& event) const {
  return event.kind == EventKind::accepted ? event.listener == listener_
                                           : place_of(event.id) != exchanges_max;
}

void PageServer::on_event(Stack& stack, const Event& event) {
  if (event.kind == EventKind::accepted) {
    accept(stack, event);
    return;
  }
  std::uint32_t const place = place_of(event.id);
  if (place == exchanges_max) {
    return;
  }
  Exchange& exchange = exchanges_[place];
  if (event.kind == EventKind::closed) {
    exchange.open = false;
  } else if (!exchange.aborted) {
    proceed(stack, exchange);
  }
}

void PageServer::accept(Stack& stack, const Event& event) {
  auto at = std::find_if(exchanges_.begin(), exchanges_.end(),
                         [](const Exchange& each) { return !each.open; });
  if (at == exchanges_.end()) {
    stack.abort(event.id);
    return;
  }
  *at = Exchange{};
  at->id = event.id;
  at->open = true;
  at->until = stack.now() + settings_.patience;
  if (stopping_) {
    abort(stack, *at);
  }
}

void PageServer::proceed(Stack& stack, Exchange& exchange) {
  if (!exchange.answering) {
    read(stack, exchange);
  }
  if (exchange.answering) {
    send(stack, exchange);
  }
}

void PageServer::read(Stack& stack, Exchange& exchange) {
  constexpr RequestLimits limits;
  for (auto part = stack.readable(exchange.id); !part.empty(); part = stack.readable(exchange.id)) {
    Bytes used;
    auto const progress = exchange.reader.read(part, limits, used);
    stack.consume(exchange.id, used);
    if (progress != RequestReader::Progress::more) {
      exchange.answering = true;
      exchange.text = progress == RequestReader::Progress::failed
                          ? plain_head(exchange.reader.failure(), stack.now())
                          : answer_to(exchange.reader, stack.now());
      exchange.finish_pending = true;
      ++answered_;
      return;
    }
  }
}

std::string PageServer::date_at(Instant now) const {
  if (settings_.unix_ns == 0) {
    return {};
  }
  auto const text = date_text({(settings_.unix_ns + now.since(Instant{}).ns) / 1'000'000'000});
  return {text.data(), text.size()};
}

std::string PageServer::plain_head(Status status, Instant now) const {
  std::array<char, head_bytes_max> head;
  std::string const date = date_at(now);
  std::uint32_t const length =
      write_head({.status = status, .keep_alive = false, .date = date}, head);
  return {head.data(), length};
}

std::string PageServer::answer_to(const RequestReader& asked, Instant now) {
  std::array<char, Site::path_max> decoded;
  if (!asked.is_get() && !asked.is_head()) {
    return plain_head(Status::method_not_allowed, now);
  }
  if (path_of(asked.target(), decoded) != settings_.path) {
    return plain_head(Status::not_found, now);
  }
  std::string const page = settings_.text();
  std::string const date = date_at(now);
  std::string out = "HTTP/1.1 200 OK\r\n" + (date.empty() ? date : "Date: " + date + "\r\n") +
                    "Content-Type: " + settings_.type +
                    "\r\nContent-Length: " + std::to_string(page.size()) +
                    "\r\nConnection: close\r\n\r\n";
  return asked.is_head() ? out : out + page;
}

void PageServer::send(Stack& stack, Exchange& exchange) {
  while (exchange.sent < exchange.text.size()) {
    auto const left = std::as_bytes(std::span(exchange.text)).subspan(exchange.sent);
    Taken const taken = stack.write(exchange.id, left);
    exchange.sent += taken.bytes.count;
    if (taken.refusal != Refusal::none && taken.refusal != Refusal::no_room) {
      abort(stack, exchange);
      return;
    }
    if (taken.bytes.empty()) {
      return;
    }
  }
  if (exchange.finish_pending) {
    exchange.finish_pending = stack.finish(exchange.id) == Refusal::no_room;
  }
  stack.consume(exchange.id, stack.unread(exchange.id));
}

void PageServer::abort(Stack& stack, Exchange& exchange) {
  exchange.aborted = true;
  stack.abort(exchange.id);
}

void PageServer::run(Stack& stack, Instant now) {
  for (Exchange& exchange : exchanges_) {
    if (exchange.open && !exchange.aborted && exchange.until <= now) {
      abort(stack, exchange);
    }
  }
}

Instant PageServer::deadline() const {
  Instant due = Instant::never();
  for (const Exchange& exchange : exchanges_) {
    due = exchange.open && !exchange.aborted ? earlier(due, exchange.until) : due;
  }
  return due;
}

void PageServer::stop(Stack& stack, Instant) {
  stopping_ = true;
  static_cast<void>(stack.unlisten(listener_));
  for (Exchange& exchange : exchanges_) {
    if (exchange.open && !exchange.aborted && !exchange.answering) {
      abort(stack, exchange);
    }
  }
}

bool PageServer::done() const {
  return std::none_of(exchanges_.begin(), exchanges_.end(),
                      [](const Exchange& each) { return each.open; });
}

void PageServer::abandon(Stack& stack, Instant) {
  for (Exchange& exchange : exchanges_) {
    if (exchange.open && !exchange.aborted) {
      abort(stack, exchange);
    }
  }
}

}  // namespace lockstep::http
