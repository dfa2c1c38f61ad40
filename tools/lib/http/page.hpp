// Serves one page, made anew for each request, as an application beside another one.
#pragma once

#include <array>
#include <functional>
#include <string>

#include "core/stack/stack.hpp"
#include "tools/lib/http/request.hpp"

namespace lockstep::http {

/// The page, and where it is served.
struct PageSettings {
  Local local;
  std::string path;                           ///< for example "/metrics"; any other path gives 404
  std::string type;                           ///< of the Content-Type field
  std::function<std::string()> text;          ///< called for each request
  Duration patience = Duration::seconds(10);  ///< the longest life of a connection
  std::uint64_t unix_ns = 0;                  ///< as of ServerSettings
};

/// For occasional requests: each connection carries one request and is closed after the response.
/// Connections beyond `exchanges_max` at once are aborted.
class PageServer {
 public:
  static constexpr std::uint32_t exchanges_max = 16;

  explicit PageServer(PageSettings settings) : settings_(std::move(settings)) {}

  /// Listens. Call before the first turn.
  [[nodiscard]] Refusal start(Stack& stack);
  /// Whether an event belongs to this application.
  bool is_mine(const Event& event) const;

  // An Application that can be stopped (hw/poll/loop.hpp).
  void on_event(Stack& stack, const Event& event);
  void run(Stack& stack, Instant now);
  Instant deadline() const;
  void stop(Stack& stack, Instant now);
  bool done() const;
  void abandon(Stack& stack, Instant now);

  std::uint64_t answered() const { return answered_; }

 private:
  struct Exchange {
    ConnectionId id;
    bool open = false;
    bool aborted = false;  // the `closed` event follows
    bool answering = false;
    bool finish_pending = false;
    Instant until;
    RequestReader reader;
    std::string text;
    std::size_t sent = 0;
  };

  // Its index in exchanges_; exchanges_max if the connection is not one of them.
  std::uint32_t place_of(ConnectionId id) const;
  void accept(Stack& stack, const Event& event);
  void proceed(Stack& stack, Exchange& exchange);
  void read(Stack& stack, Exchange& exchange);
  void send(Stack& stack, Exchange& exchange);
  void abort(Stack& stack, Exchange& exchange);
  std::string answer_to(const RequestReader& asked, Instant now);
  std::string plain_head(Status status, Instant now) const;
  std::string date_at(Instant now) const;

  PageSettings settings_;
  ListenerId listener_;
  bool stopping_ = false;
  std::uint64_t answered_ = 0;
  std::array<Exchange, exchanges_max> exchanges_;
};

/// Two applications on one stack: each event goes to the one that it belongs to.
template <class App>
class WithPage {
 public:
  WithPage(App& app, PageServer& page) : app_(app), page_(page) {}

  void on_event(Stack& stack, const Event& event) {
    if (page_.is_mine(event)) {
      page_.on_event(stack, event);
    } else {
      app_.on_event(stack, event);
    }
  }
  void run(Stack& stack, Instant now) {
    app_.run(stack, now);
    page_.run(stack, now);
  }
  Instant deadline() const { return earlier(app_.deadline(), page_.deadline()); }
  void stop(Stack& stack, Instant now) {
    app_.stop(stack, now);
    page_.stop(stack, now);
  }
  bool done() const { return app_.done() && page_.done(); }
  void abandon(Stack& stack, Instant now) {
    app_.abandon(stack, now);
    page_.abandon(stack, now);
  }

 private:
  App& app_;
  PageServer& page_;
};

}  // namespace lockstep::http
