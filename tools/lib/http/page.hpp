// One page that is made anew for each request, as an application beside another one.
#pragma once

#include <array>
#include <functional>
#include <string>

#include "core/stack/stack.hpp"
#include "tools/lib/http/request.hpp"

namespace lockstep::http {

/// What the page is, and where.
struct PageSettings {
  Local local;
  std::string path;                           ///< "/metrics"; all else is not found
  std::string type;                           ///< of the Content-Type field
  std::function<std::string()> text;          ///< made for each request
  Duration patience = Duration::seconds(10);  ///< from a connection's begin to its end
};

/// For few callers who come rarely: a connection brings one request and is closed after the answer;
/// more than `talks_max` at once are aborted.
class PageServer {
 public:
  static constexpr std::uint32_t talks_max = 16;

  explicit PageServer(PageSettings settings) : settings_(std::move(settings)) {}

  /// Listens. Before the first turn.
  [[nodiscard]] Refusal start(Stack& stack);
  /// Whether an event is of this application.
  bool is_mine(const Event& event) const;

  // An Application, and one that can be stopped (hw/poll/loop.hpp).
  void on_event(Stack& stack, const Event& event);
  void run(Stack& stack, Instant now);
  Instant deadline() const;
  void stop(Stack& stack, Instant now);
  bool done() const;
  void abandon(Stack& stack, Instant now);

  std::uint64_t answered() const { return answered_; }

 private:
  struct Talk {
    ConnectionId id;
    bool open = false;
    bool aborted = false;  // `closed` follows
    bool answering = false;
    bool finish_owed = false;
    Instant until;
    RequestReader reader;
    std::string text;
    std::size_t sent = 0;
  };

  // Its place among the talks; talks_max: it is none of them.
  std::uint32_t place_of(ConnectionId id) const;
  void accept(Stack& stack, const Event& event);
  void go_on(Stack& stack, Talk& talk);
  void read(Stack& stack, Talk& talk);
  void send(Stack& stack, Talk& talk);
  void abort(Stack& stack, Talk& talk);
  std::string answer_to(const RequestReader& asked);

  PageSettings settings_;
  ListenerId listener_;
  bool stopping_ = false;
  std::uint64_t answered_ = 0;
  std::array<Talk, talks_max> talks_;
};

/// Both on one stack: each event goes to whose it is.
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
