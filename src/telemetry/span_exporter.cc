#include "telemetry/span_exporter.h"

#include <algorithm>
#include <charconv>
#include <deque>

#include "base/delay.h"
#include "base/event.h"
#include "json/value.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace atl::telemetry {
namespace {

constexpr size_t kMostAnswer = 64 * 1024;
// Off the path of whoever ends the span that fills a batch.
constexpr Micros kSoon{1'000};

bool may_be_tried_again(int status) {
  return status == 429 || status == 502 || status == 503 || status == 504;
}

// What a collector took only a part of it says in its answer.
size_t rejected_in(const std::string& body, size_t most) {
  const auto answer = json::parse(body, {.max_bytes = kMostAnswer});
  const auto* whole = answer ? answer->if_object() : nullptr;
  const auto* partial = whole != nullptr ? whole->if_contains("partialSuccess") : nullptr;
  const auto* members = partial != nullptr ? partial->if_object() : nullptr;
  const auto* count = members != nullptr ? members->if_contains("rejectedSpans") : nullptr;
  if (count == nullptr) return 0;
  uint64_t number = 0;
  if (const auto* text = count->if_string()) {
    std::from_chars(text->data(), text->data() + text->size(), number);
  } else if (const auto* plain = count->if_int64()) {
    number = static_cast<uint64_t>(std::max<int64_t>(*plain, 0));
  }
  return std::min<uint64_t>(number, most);
}

}  // namespace

struct SpanExporter::State {
  State(const asio::any_io_executor& on, std::unique_ptr<OtlpTransport> by, Metrics& counted,
        ExportOptions how)
      : executor(on),
        transport(std::move(by)),
        metrics(&counted),
        options(std::move(how)),
        start(on),
        hurry(on) {}

  void count(std::string_view outcome, size_t spans) {
    if (metrics != nullptr && spans > 0) metrics->exported_spans.at(outcome).add(spans);
  }

  // Said once when it begins, and once when it is over.
  void note_trouble(std::string_view why) {
    if (!std::exchange(is_troubled, true))
      log_warn("the OTLP collector does not take spans", {{"why", why}});
  }
  void note_success() {
    if (std::exchange(is_troubled, false)) log_info("the OTLP collector takes spans again");
  }

  asio::any_io_executor executor;
  std::unique_ptr<OtlpTransport> transport;
  Metrics* metrics;  // null once the exporter is gone
  ExportOptions options;
  Delay start;
  Event hurry;  // no more pauses
  std::deque<EndedSpan> queue;
  bool is_working = false;
  bool is_planned = false;
  bool is_troubled = false;
  std::shared_ptr<Event> idle;  // somebody waits for the end of the work
};

SpanExporter::SpanExporter(const asio::any_io_executor& executor,
                           std::unique_ptr<OtlpTransport> transport, Metrics& metrics,
                           ExportOptions options)
    : state_(std::make_shared<State>(executor, std::move(transport), metrics, std::move(options))) {
}

SpanExporter::~SpanExporter() {
  state_->metrics = nullptr;
  state_->queue.clear();
  state_->hurry.fire();
}

size_t SpanExporter::queued() const { return state_->queue.size(); }

void SpanExporter::on_span(const TracePtr& trace, size_t index) {
  State& state = *state_;
  if (state.queue.size() >= state.options.most_queued) return state.count("dropped", 1);
  state.queue.push_back({trace, index});
  if (state.is_working) return;
  const bool is_full = state.queue.size() == state.options.batch;
  if (state.is_planned && !is_full) return;
  state.is_planned = true;
  state.start.after(is_full ? kSoon : Micros(state.options.linger), [weak = std::weak_ptr(state_)] {
    if (const auto alive = weak.lock()) begin_work(alive);
  });
}

void SpanExporter::begin_work(const std::shared_ptr<State>& state) {
  state->is_planned = false;
  if (std::exchange(state->is_working, true)) return;
  spawn(state->executor, work(state), [state](Result<>) {
    state->is_working = false;
    if (state->idle) std::exchange(state->idle, nullptr)->fire();
  });
}

Task<> SpanExporter::work(std::shared_ptr<State> state) {
  while (!state->queue.empty()) {
    const size_t size = std::min(state->options.batch, state->queue.size());
    const auto end = state->queue.begin() + static_cast<ptrdiff_t>(size);
    std::vector<EndedSpan> batch(std::make_move_iterator(state->queue.begin()),
                                 std::make_move_iterator(end));
    state->queue.erase(state->queue.begin(), end);
    CO_TRY_OK(co_await send(state, std::move(batch)));
  }
  co_return Result<>();
}

Task<> SpanExporter::send(std::shared_ptr<State> state, std::vector<EndedSpan> batch) {
  const std::string json = to_otlp(state->options.resource, batch);
  Millis pause = state->options.first_pause;
  for (int attempt = 1;; ++attempt) {
    const auto answer = co_await state->transport->post(json);
    if (answer && answer->status >= 200 && answer->status < 300) {
      const size_t rejected = rejected_in(answer->body, batch.size());
      state->count("sent", batch.size() - rejected);
      state->count("rejected", rejected);
      state->note_success();
      co_return Result<>();
    }
    const std::string why =
        answer ? "it answers " + std::to_string(answer->status) : answer.error().message();
    state->note_trouble(why);
    if (answer && !may_be_tried_again(answer->status)) {
      state->count("rejected", batch.size());
      co_return Result<>();
    }
    if (attempt >= state->options.attempts || state->hurry.fired()) {
      state->count("lost", batch.size());
      co_return Result<>();
    }
    [[maybe_unused]] const auto rested = co_await state->hurry.wait_for(pause);
    pause = std::min(2 * pause, state->options.longest_pause);
  }
}

Task<> SpanExporter::finish(Millis most) {
  const auto state = state_;
  state->hurry.fire();
  begin_work(state);
  if (!state->is_working) co_return Result<>();
  state->idle = std::make_shared<Event>(state->executor);
  const auto idle = state->idle;
  co_return co_await idle->wait_for(most);
}

}  // namespace atl::telemetry
