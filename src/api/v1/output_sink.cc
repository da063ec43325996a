#include "api/v1/output_sink.h"

namespace atl::api::v1 {
namespace {

constexpr std::string_view kNdjson = "application/x-ndjson";
constexpr std::string_view kFrames = net::kOutputFrames;

std::string_view name_of(Stream stream) { return stream == Stream::out ? "stdout" : "stderr"; }

// Keeps the beginning of each stream and answers at the end.
class WholeAnswer final : public OutputSink {
 public:
  WholeAnswer(Call& call, size_t keep) : call_(call), keep_(keep) {}

  Task<> start(StartFacts facts) override {
    facts_ = std::move(facts);
    co_return Result<>();
  }

  Task<> output(Output output) override {
    std::string& kept = output.stream == Stream::out ? out_ : err_;
    const size_t room = keep_ - kept.size();
    if (output.bytes.size() > room) truncated_ = Truncated::yes;
    if (kept.empty() && output.bytes.size() <= room) {
      kept = std::move(output.bytes);
    } else {
      kept.append(output.bytes, 0, room);
    }
    co_return Result<>();
  }

  Task<> gap(OutputGap) override {
    truncated_ = Truncated::yes;
    co_return Result<>();
  }

  Task<> end(ExitStatus status, std::optional<RunFacts> run) override {
    std::string json;
    json.reserve(512 + out_.size() + err_.size());
    ObjectWriter object(json);
    append_output(object, "stdout", out_, truncated_);
    append_output(object, "stderr", err_, truncated_);
    append_end(object, facts_, status, truncated_, run, call_.ids());
    object.close();
    co_return co_await call_.answer(200, std::move(json));
  }

  Task<> fail(Error error) override { co_return error; }

 private:
  Call& call_;
  size_t keep_;
  StartFacts facts_;
  std::string out_;
  std::string err_;
  Truncated truncated_ = Truncated::no;
};

class Lines final : public OutputSink {
 public:
  explicit Lines(Call& call) : call_(call) {}

  Task<> start(StartFacts facts) override {
    facts_ = std::move(facts);
    CO_TRY_OK(co_await call_.begin(call_.headers(kNdjson)));
    ObjectWriter object(fresh_line());
    object.member("type", std::string_view("start"));
    append_start(object, facts_, call_.ids());
    co_return co_await send(object);
  }

  Task<> output(Output output) override {
    Held& held = held_[output.stream == Stream::out ? 0 : 1];
    // What was held back stands before this piece, so its place in the stream does too.
    if (!held.bytes.empty()) {
      output.offset = held.offset;
      output.bytes.insert(0, std::exchange(held.bytes, {}));
    }
    std::string_view bytes = output.bytes;
    const std::string_view whole = bytes.substr(0, bytes.size() - unfinished_tail(bytes));
    if (whole.size() < bytes.size() && is_utf8(whole)) {
      held = {std::string(bytes.substr(whole.size())), output.offset + whole.size()};
      bytes = whole;
      if (bytes.empty()) co_return Result<>();
    }
    co_return co_await tell(output.stream, output.offset, bytes);
  }

  Task<> gap(OutputGap gap) override {
    truncated_ = Truncated::yes;
    CO_TRY_OK(co_await flush(gap.stream));
    ObjectWriter object(fresh_line());
    object.member("type", std::string_view("gap"));
    append_gap(object, gap);
    co_return co_await send(object);
  }

  Task<> end(ExitStatus status, std::optional<RunFacts> run) override {
    CO_TRY_OK(co_await flush(Stream::out));
    CO_TRY_OK(co_await flush(Stream::err));
    ObjectWriter object(fresh_line());
    object.member("type", std::string_view("exit"));
    append_end(object, facts_, status, truncated_, run, call_.ids());
    CO_TRY_OK(co_await send(object));
    co_return co_await call_.exchange().end();
  }

  Task<> fail(Error error) override {
    if (!call_.exchange().started()) co_return error;
    ObjectWriter object(fresh_line());
    object.member("type", std::string_view("error"));
    append_problem(object.key("problem"), Problem(std::move(error)), call_.ids());
    CO_TRY_OK(co_await send(object));
    co_return co_await call_.exchange().end();
  }

 private:
  // The beginning of a character whose rest is yet to come.
  struct Held {
    std::string bytes;
    uint64_t offset = 0;
  };

  std::string& fresh_line() {
    line_.clear();
    return line_;
  }

  Task<> send(ObjectWriter& object) {
    object.close();
    line_ += '\n';
    co_return co_await call_.exchange().write(line_);
  }

  Task<> tell(Stream stream, uint64_t offset, std::string_view bytes) {  // awaited at once
    ObjectWriter object(fresh_line());
    object.member("type", name_of(stream));
    object.member("offset", offset);
    object.bytes("data", bytes);
    co_return co_await send(object);
  }

  // Nothing follows that could complete it.
  Task<> flush(Stream stream) {
    const Held held = std::exchange(held_[stream == Stream::out ? 0 : 1], {});
    if (held.bytes.empty()) co_return Result<>();
    co_return co_await tell(stream, held.offset, held.bytes);
  }

  Call& call_;
  StartFacts facts_;
  Truncated truncated_ = Truncated::no;
  Held held_[2];
  std::string line_;  // kept for its memory
};

class Frames final : public OutputSink {
 public:
  explicit Frames(Call& call) : call_(call) {}

  Task<> start(StartFacts facts) override {
    facts_ = std::move(facts);
    CO_TRY_OK(co_await call_.begin(call_.headers(kFrames)));
    std::string json;
    ObjectWriter object(json);
    append_start(object, facts_, call_.ids());
    object.close();
    co_return co_await send(FrameKind::start, json);
  }

  Task<> output(Output output) override {
    const auto kind = output.stream == Stream::out ? FrameKind::out : FrameKind::err;
    co_return co_await send(kind, output.bytes);
  }

  Task<> gap(OutputGap gap) override {
    truncated_ = Truncated::yes;
    std::string json;
    ObjectWriter object(json);
    append_gap(object, gap);
    object.close();
    co_return co_await send(FrameKind::gap, json);
  }

  Task<> end(ExitStatus status, std::optional<RunFacts> run) override {
    std::string json;
    ObjectWriter object(json);
    append_end(object, facts_, status, truncated_, run, call_.ids());
    object.close();
    CO_TRY_OK(co_await send(FrameKind::exit, json));
    co_return co_await call_.exchange().end();
  }

  Task<> fail(Error error) override {
    if (!call_.exchange().started()) co_return error;
    std::string json;
    append_problem(json, Problem(std::move(error)), call_.ids());
    CO_TRY_OK(co_await send(FrameKind::error, json));
    co_return co_await call_.exchange().end();
  }

 private:
  // Header and payload leave in one write, and the payload is not copied on the way.
  Task<> send(FrameKind kind, std::string_view payload) {  // awaited at once
    const auto size = static_cast<uint32_t>(payload.size());
    const char header[8] = {static_cast<char>(kind),
                            0,
                            0,
                            0,
                            static_cast<char>(size >> 24),
                            static_cast<char>(size >> 16),
                            static_cast<char>(size >> 8),
                            static_cast<char>(size)};
    co_return co_await call_.exchange().write(std::string_view(header, sizeof header), payload);
  }

  Call& call_;
  StartFacts facts_;
  Truncated truncated_ = Truncated::no;
};

}  // namespace

void append_start(ObjectWriter& object, const StartFacts& facts, const RequestIds& ids) {
  object.member("sandbox", facts.sandbox);
  object.member("process", facts.process);
  object.member("pid", facts.pid);
  object.member("request_id", ids.request_id);
}

void append_gap(ObjectWriter& object, const OutputGap& gap) {
  object.member("stream", name_of(gap.stream));
  object.member("from", gap.from);
  object.member("to", gap.to);
}

void append_end(ObjectWriter& object, const StartFacts& facts, const ExitStatus& status,
                Truncated truncated, const std::optional<RunFacts>& run, const RequestIds& ids) {
  append_exit(object, status, truncated);
  if (facts.process != 0) {
    object.member("process", facts.process);
    object.member("pid", facts.pid);
  }
  if (run) append_run_facts(object, *run);
  object.member("request_id", ids.request_id);
}

bool accepts(std::string_view accept, std::string_view type) {
  while (!accept.empty()) {
    const size_t comma = accept.find(',');
    std::string_view range = accept.substr(0, comma);
    accept.remove_prefix(comma == std::string_view::npos ? accept.size() : comma + 1);
    range = range.substr(0, range.find(';'));
    while (range.starts_with(' ')) range.remove_prefix(1);
    while (range.ends_with(' ')) range.remove_suffix(1);
    if (net::equals_ignoring_case(range, type)) return true;
  }
  return false;
}

Reply find_reply(const net::Request& request) {
  const std::string_view accept = request.headers.get("Accept");
  if (accepts(accept, kFrames)) return Reply::frames;
  if (accepts(accept, kNdjson)) return Reply::ndjson;
  return Reply::json;
}

std::unique_ptr<OutputSink> make_sink(Call& call, Reply reply, size_t keep) {
  switch (reply) {
    case Reply::ndjson:
      return std::make_unique<Lines>(call);
    case Reply::frames:
      return std::make_unique<Frames>(call);
    case Reply::json:
      break;
  }
  return std::make_unique<WholeAnswer>(call, keep);
}

}  // namespace atl::api::v1
