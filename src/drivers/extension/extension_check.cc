#include "drivers/extension/extension_check.h"

#include <algorithm>

#include "base/event.h"
#include "base/ids.h"
#include "driver/new_file.h"
#include "drivers/extension/extension_client.h"
#include "drivers/extension/extension_driver.h"
#include "drivers/extension/rights.h"

namespace atl::extension {
namespace {

constexpr Millis kPatience{5'000};
constexpr Micros kShortLife = Millis(1'500);
constexpr Millis kEndPatience{15'000};
constexpr const char* kFile = "atoll-check";
constexpr const char* kVariable = "ATOLL_CHECK";
constexpr size_t kMostBack = 4096;

class Ended final : public DriverListener {
 public:
  explicit Ended(const asio::any_io_executor& executor) : told(executor) {}
  void on_ended(const Driver&, std::string id, EndedBy) override {
    if (id == awaited) told.fire();
  }

  std::string awaited;
  Event told;
};

Error expected(std::string_view what) {
  return Error(Code::internal, "expected " + std::string(what));
}

Task<> must_refuse(ExtensionClient& client, std::string line) {
  auto answer = co_await client.say(std::move(line), kPatience);
  // To close the connection is an answer, too; to hang is none.
  if (!answer && answer.error().code() == Code::unavailable) co_return Result<>();
  if (!answer) co_return std::move(answer).error();
  const auto parsed = parse_answer(*answer);
  if (parsed) co_return expected("an error, and it answers ok");
  co_return Result<>();
}

class Check final {
 public:
  Check(asio::any_io_executor executor, CheckOptions options)
      : executor_(executor),
        options_(std::move(options)),
        client_(executor, options_.grant),
        ended_(executor) {}

  Task<std::vector<CheckStep>> run() {
    CO_TRY_OK(co_await run_steps());
    co_return std::move(steps_);
  }

 private:
  // False = the rest is pointless.
  bool note(std::string what, Result<> held) {
    steps_.push_back({std::move(what), held ? std::nullopt : std::optional(held.error())});
    return held.has_value();
  }

  Task<> run_steps() {
    auto greeted = co_await greet();
    if (!note("it says who it is, in a protocol that both speak", std::move(greeted)))
      co_return Result<>();
    note("it runs as somebody without power over this host", look_at_rights());
    auto refused = co_await refuse_what_is_wrong();
    note("it refuses what it does not understand, and goes on", std::move(refused));
    driver_ = make_driver();
    auto made = co_await make();
    const bool is_made =
        note("it makes a sandbox, and the agent in it is reached", std::move(made));
    if (is_made) {
      auto used = co_await use();
      note("commands run and files come back, with the environment that was given",
           std::move(used));
      auto refused_twice = co_await make_twice();
      note("it refuses an id that is taken", std::move(refused_twice));
      auto attached = co_await attach();
      note("a sandbox is found again by whoever comes after us", std::move(attached));
    }
    auto destroyed = co_await destroy();
    note("a sandbox that is destroyed is gone, and can be destroyed again", std::move(destroyed));
    Result<> expired = expected("a sandbox");
    if (is_made) expired = co_await expire();
    note("a sandbox that ends by itself is told, and gone", std::move(expired));
    co_return Result<>();
  }

  std::unique_ptr<Driver> make_driver() {
    auto driver = make_extension_driver(executor_, {.grant = options_.grant,
                                                    .identity = options_.directory + "/identity",
                                                    .agent = options_.agent});
    driver->set_listener(&ended_);
    return driver;
  }

  Task<> greet() {
    CO_TRY_OK(co_await client_.hello());
    co_return Result<>();
  }

  // Of who answered the greeting.
  Result<> look_at_rights() const {
    const auto& listener = client_.listener();
    const auto rights = find_rights({listener.pid, listener.uid, listener.gid});
    if (options_.allows_root || (rights ? !rights->are_too_many() : listener.uid != 0)) return {};
    return Error(Code::permission_denied, warning_of(rights.value_or(Rights{})))
        .with_hint("run it as a user of its own; if it cannot do without: --allow-root");
  }

  Task<> refuse_what_is_wrong() {
    constexpr const char* kClimbs =
        R"({"call":"create","protocol":1,"id":"../../etc","instance":"check","agent":"/nowhere",)"
        R"("resources":{},"configuration":{}})";
    const std::string wrong[] = {
        "{\n",
        "[]\n",
        "{\"call\":\"hello\",\"protocols\":[999999],\"configuration\":{}}\n",
        "{\"call\":\"no_such_call\",\"protocol\":1}\n",
        std::string(kClimbs) + "\n",
        R"({"call":"open","protocol":1,"id":")" + make_sandbox_id() + "\"}\n",
        std::string(2 * kLongestLine, ' ') + "\n",
    };
    for (const auto& line : wrong) {
      auto refused = co_await must_refuse(client_, line);
      if (!refused) co_return std::move(refused).error().with("told " + line.substr(0, 60));
      CO_TRY_OK(co_await client_.hello());
    }
    co_return Result<>();
  }

  Task<> make() {
    SandboxSpec spec;
    spec.id = id_ = make_sandbox_id();
    spec.env[kVariable] = id_;
    CO_TRY(sandbox_, co_await driver_->create(std::move(spec)));
    CO_TRY(const auto ids, co_await driver_->list());
    if (std::ranges::find(ids, id_) == ids.end()) co_return expected("it in the list");
    co_return Result<>();
  }

  Task<> use() {
    CO_TRY_OK(co_await write_file(sandbox_->guest(), {kFile, id_}, Parents::create));
    CO_TRY_OK(co_await find_file());
    ExecRequest request;
    request.argv = {"sh", "-c", std::string("printf %s \"$") + kVariable + "\""};
    CO_TRY(const auto result,
           co_await exec_collect(sandbox_->guest(), std::move(request), "", kMostBack));
    if (result.status.exit_code != 0 || result.out != id_)
      co_return expected("sh to print what it was given; its exit code is " +
                         std::to_string(result.status.exit_code));
    co_return Result<>();
  }

  Task<> find_file() {
    CO_TRY(const auto reader, co_await sandbox_->guest().open_read(kFile));
    CO_TRY(const auto bytes, co_await reader->read(0, kMostBack));
    if (bytes != id_) co_return expected("the file as it was written");
    co_return Result<>();
  }

  Task<> make_twice() {
    SandboxSpec spec;
    spec.id = id_;
    // Another driver, which does not know that it is there.
    const auto other = make_driver();
    auto made = co_await other->create(std::move(spec));
    if (made) co_return expected("a refusal");
    if (made.error().code() != Code::already_exists)
      co_return Error(made.error()).with("expected already_exists");
    co_return Result<>();
  }

  Task<> attach() {
    sandbox_.reset();
    driver_ = make_driver();
    CO_TRY(sandbox_, co_await driver_->attach(id_));
    co_return co_await find_file();
  }

  Task<> destroy() {
    if (id_.empty()) co_return expected("a sandbox");
    CO_TRY_OK(co_await client_.destroy(id_));
    CO_TRY_OK(co_await client_.destroy(id_));
    CO_TRY(const auto ids, co_await driver_->list());
    if (std::ranges::find(ids, id_) != ids.end()) co_return expected("it gone from the list");
    auto opened = co_await client_.open(id_);
    if (opened) co_return expected("nobody to be reached in it");
    co_return Result<>();
  }

  Task<> expire() {
    sandbox_.reset();
    SandboxSpec spec;
    spec.id = ended_.awaited = make_sandbox_id();
    spec.expires_at = system_clock().boot() + kShortLife;
    CO_TRY(sandbox_, co_await driver_->create(std::move(spec)));
    auto told = co_await ended_.told.wait_for(kEndPatience);
    auto destroyed = co_await client_.destroy(ended_.awaited);
    if (!told) co_return std::move(told).error().with("its end is not told");
    co_return destroyed;
  }

  asio::any_io_executor executor_;
  CheckOptions options_;
  ExtensionClient client_;
  Ended ended_;
  std::string id_;
  std::unique_ptr<Driver> driver_;
  std::unique_ptr<Sandbox> sandbox_;
  std::vector<CheckStep> steps_;
};

}  // namespace

Task<std::vector<CheckStep>> check_extension(asio::any_io_executor executor, CheckOptions options) {
  const auto check = std::make_shared<Check>(executor, std::move(options));
  co_return co_await check->run();
}

}  // namespace atl::extension
