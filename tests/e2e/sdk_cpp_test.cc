// The C++ client as its users have it: the archive and its headers alone, against a real daemon.
#include <atoll/async_client.h>
#include <atoll/client.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>

namespace atoll_client {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Property;

// A daemon of our own, that ends with the test with all sandboxes.
class Daemon final {
 public:
  Daemon() {
    char name[] = "/tmp/atoll-sdk-XXXXXX";
    directory_ = mkdtemp(name);
    start();
  }
  ~Daemon() {
    end(SIGINT);
    for (int i = 0; i < 2000 && is_held(); ++i) std::this_thread::sleep_for(10ms);  // its launcher
    EXPECT_FALSE(is_held());
    std::filesystem::remove_all(directory_);
  }
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  void start() {
    const std::string atoll = getenv("ATOLL_BIN"), log = directory_ + "/log", to = state();
    const char* const argv[] = {atoll.c_str(), "serve",    "--listen", "127.0.0.1:0",
                                "--state",     to.c_str(), nullptr};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    ASSERT_EQ(
        posix_spawn(&pid_, argv[0], &actions, nullptr, const_cast<char* const*>(argv), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    for (int i = 0; i < 2000; ++i) {
      if (answers()) return;
      std::this_thread::sleep_for(10ms);  // there is nobody yet who could tell
    }
    FAIL() << "no daemon answers: " << this->log();
  }
  void end(int signal) {
    kill(pid_, signal);
    int status = 0;
    EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
    if (signal == SIGINT) EXPECT_EQ(status, 0) << log();
  }

  std::string state() const { return directory_ + "/state"; }
  Options options() const { return {.state_directory = state()}; }
  std::string log() const { return text_of(directory_ + "/log"); }
  std::string key() const {
    std::string key = text_of(state() + "/admin.key");
    while (!key.empty() && key.back() == '\n') key.pop_back();
    return key;
  }
  // Where it listens, as its log says.
  std::string url() const {
    const std::string text = log();
    const size_t at = text.find("http://127.0.0.1:");
    return at == std::string::npos
               ? ""
               : text.substr(at, text.find_first_not_of("0123456789", at + 17) - at);
  }

 private:
  static std::string text_of(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // Whether a process has something open below our directory.
  bool is_held() const {
    std::error_code gone;
    for (const auto& process : std::filesystem::directory_iterator("/proc", gone)) {
      for (const auto& open : std::filesystem::directory_iterator(process.path() / "fd", gone)) {
        if (std::filesystem::read_symlink(open, gone).string().starts_with(directory_)) return true;
      }
    }
    return false;
  }
  bool answers() const {
    try {
      return !Client(options()).version().version.empty();
    } catch (const Error&) {
      return false;
    }
  }

  std::string directory_;
  pid_t pid_ = 0;
};

class SdkCpp : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { daemon_ = std::make_unique<Daemon>(); }
  static void TearDownTestSuite() { daemon_.reset(); }

  template <typename Function>
  static Error error_of(Function function) {
    try {
      function();
    } catch (const Error& error) {
      return error;
    }
    ADD_FAILURE() << "nothing was thrown";
    return Error("", {});
  }

  // Of the archive as it comes in pieces.
  static std::string collect(Client& client, const std::string& id, const std::string& path) {
    std::string archive;
    client.wait(calls::read_archive(id, path, [&](std::string_view bytes) { archive += bytes; }));
    return archive;
  }

  inline static std::unique_ptr<Daemon> daemon_;
  Client client_{daemon_->options()};
};

TEST_F(SdkCpp, CodeRunsBesideItsFiles) {
  const auto done = client_.run_code(
      {.text = "import helper; print(helper.double(21), open('raw', 'rb').read(), input())",
       .with = {.input = "typed"}},
      {.files = {{"helper.py", "def double(x): return 2 * x\n"},
                 {"raw", std::string("\0\xff", 2)}}});
  EXPECT_EQ(done.out, "42 b'\\x00\\xff' typed\n") << done.err;
  EXPECT_EQ(client_.run_code({.text = "echo $((6 * 7))", .language = "sh"}).out, "42\n");

  const auto refused = error_of(
      [&] { client_.run_code({.text = "1", .requirements = {"surely-no-such-package"}}); });
  EXPECT_EQ(refused.stage(), "setup");
  EXPECT_THAT(refused.what(), HasSubstr("surely-no-such-package"));
  const Sandbox box(client_, {.files = {{"a/b", "from the beginning"}}});
  EXPECT_EQ(box.run({"cat", "a/b"}).out, "from the beginning");
}

TEST_F(SdkCpp, ARunGivesItsOutcome) {
  const auto done = client_.run({"python3", "-c", "print(6 * 7)"});
  EXPECT_EQ(done.out, "42\n");
  EXPECT_TRUE(done.ok());
  EXPECT_GT(done.peak_memory_bytes, 0U);
  EXPECT_NE(done.driver, "");
  EXPECT_NE(done.isolation, "");
  EXPECT_NE(done.request_id, "");

  const auto told = client_.run({.argv = {"sh", "-c", "echo $A; pwd; cat; echo wrong >&2; exit 3"},
                                 .env = {{"A", "a"}},
                                 .cwd = "/tmp",
                                 .input = std::string("in\0put", 6)});
  EXPECT_EQ(told.out, std::string("a\n/tmp\nin\0put", 13));
  EXPECT_EQ(told.err, "wrong\n");
  EXPECT_EQ(told.exit_code, 3);
  EXPECT_FALSE(told.ok());
  EXPECT_EQ(client_.run({.shell = "kill -9 $$"}).signal, SIGKILL);
  const auto late = client_.run({.argv = {"sleep", "60"}, .timeout = 50ms});
  EXPECT_EQ(late.reason, "timeout");
  EXPECT_EQ(late.limit, "wall_time");
}

TEST_F(SdkCpp, OutputIsKeptUpToALimitOrToldAsItComes) {
  const auto cut = client_.run({.argv = {"sh", "-c", "echo 123456789"}, .keep = 4});
  EXPECT_EQ(cut.out, "1234");
  EXPECT_TRUE(cut.truncated);

  std::string out, err;
  const auto whole = client_.run(
      {.shell = "seq 100000; echo e >&2"}, {},
      [&](Stream stream, std::string_view bytes) { (stream == Stream::out ? out : err) += bytes; });
  EXPECT_EQ(out.size(), 588895U);
  EXPECT_EQ(err, "e\n");
  EXPECT_EQ(whole.out, "");
  EXPECT_FALSE(whole.truncated);
}

TEST_F(SdkCpp, WhatACallbackThrowsComesOutAndEndsTheCommand) {
  Sandbox box(client_);
  EXPECT_THROW(box.run({.shell = "echo hi; sleep 600"},
                       [](Stream, std::string_view) { throw std::out_of_range("enough"); }),
               std::out_of_range);
  // Who leaves ends the command: nothing but the next one runs then.
  for (int i = 0; i < 500; ++i) {
    const auto all = client_.wait(calls::processes(box.id()));
    if (std::ranges::none_of(all, &ProcessInfo::running)) return;
    std::this_thread::sleep_for(10ms);  // the daemon sees it when it writes
  }
  FAIL() << "it runs on";
}

TEST_F(SdkCpp, ASandboxLivesAsLongAsItsObject) {
  std::string id;
  {
    Sandbox box(client_, {.labels = {{"kind", "scoped"}}, .memory_mb = 64, .ttl = 600s});
    id = box.id();
    EXPECT_EQ(box.info().state, "running");
    EXPECT_EQ(box.info().labels.at("kind"), "scoped");
    EXPECT_NE(box.info().expires_at, "");
    EXPECT_THAT(box.run({"cat", "/proc/meminfo"}).out, HasSubstr("65536 kB"));
    Sandbox moved(std::move(box));
    EXPECT_EQ(moved.run({"echo", "hi"}).out, "hi\n");
  }
  EXPECT_EQ(error_of([&] { Sandbox::at(client_, id); }).code(), "not_found");

  Sandbox kept(client_, {.name = "kept"});
  kept.leave();
  {
    const Sandbox again = Sandbox::at(client_, "kept");
  }
  EXPECT_EQ(client_.wait(calls::get("kept")).id, kept.id());
  client_.wait(calls::destroy("kept"));
}

TEST_F(SdkCpp, ASandboxStopsStartsPausesResumesAndIsRenewed) {
  Sandbox box(client_);
  box.write("file", "stays");
  box.pause();
  EXPECT_EQ(box.info().state, "paused");
  box.resume();
  box.stop();
  EXPECT_EQ(box.info().state, "stopped");
  EXPECT_EQ(error_of([&] { box.run({"true"}); }).code(), "conflict");
  box.start();
  EXPECT_EQ(box.info().state, "running");
  EXPECT_EQ(box.read("file"), "stays");
  const std::string before = box.info().expires_at;
  box.renew(7200s);
  EXPECT_GT(box.info().expires_at, before);
  EXPECT_GT(client_.wait(calls::stats(box.id())).age.count(), 0);
  box.destroy();
  EXPECT_EQ(error_of([&] { box.run({"true"}); }).code(), "not_found");
}

TEST_F(SdkCpp, ListsComeInPagesAndWhole) {
  std::vector<Sandbox> boxes;
  for (int i = 0; i < 5; ++i) boxes.emplace_back(client_, Settings{.labels = {{"of", "the list"}}});
  const ListFilter filter{.labels = {{"of", "the list"}}, .limit = 2};

  EXPECT_EQ(client_.list(filter).size(), 5U);
  ListFilter page = filter;
  std::vector<size_t> sizes;
  do {
    auto told = client_.wait(calls::list(page));
    sizes.push_back(told.sandboxes.size());
    page.cursor = told.next;
  } while (!page.cursor.empty());
  EXPECT_THAT(sizes, ElementsAre(2U, 2U, 1U));
  EXPECT_THAT(client_.list({.state = "paused", .labels = {{"of", "the list"}}}), IsEmpty());
}

TEST_F(SdkCpp, FilesGoInAndOut) {
  Sandbox box(client_);
  const std::string much(3 << 20, 'x');
  box.write("some/place/file", much, 0600);
  EXPECT_EQ(box.read("some/place/file"), much);
  EXPECT_EQ(error_of([&] { box.read("some/place/file", 1000); }).code(), "too_large");
  EXPECT_EQ(error_of([&] { box.read("none"); }).code(), "not_found");

  const auto info = client_.wait(calls::stat(box.id(), "some/place/file"));
  EXPECT_EQ(info.kind, FileKind::file);
  EXPECT_EQ(info.size, much.size());
  EXPECT_EQ(info.mode, 0600U);
  EXPECT_NE(info.etag, "");

  size_t left = 1 << 20;
  client_.wait(calls::write_from(box.id(), "pieces", [&](char* into, size_t most) {
    const size_t count = std::min(left, most);
    std::fill_n(into, count, 'y');
    left -= count;
    return count;
  }));
  size_t got = 0;
  client_.wait(
      calls::read_to(box.id(), "pieces", [&](std::string_view bytes) { got += bytes.size(); }));
  EXPECT_EQ(got, size_t{1} << 20);

  client_.wait(calls::make_directory(box.id(), "new/deep"));
  client_.wait(calls::move(box.id(), "pieces", "new/moved"));
  const std::string odd = "new/\xff\xfe";  // a name that is no UTF-8
  box.write(odd, "odd");
  EXPECT_EQ(box.read(odd), "odd");
  std::vector<std::string> names;
  for (const auto& entry : box.list("new")) names.push_back(entry.name);
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("deep", "moved", "\xff\xfe"));
  EXPECT_NE(error_of([&] { client_.wait(calls::remove(box.id(), "new")); }).code(), "");
  client_.wait(calls::remove(box.id(), "new", calls::Depth::tree));
  EXPECT_EQ(error_of([&] { client_.wait(calls::stat(box.id(), "new")); }).code(), "not_found");
}

TEST_F(SdkCpp, ADirectoryGoesAsAnArchive) {
  Sandbox from(client_), to(client_);
  from.run({.shell = "mkdir -p tree/deep && echo one > tree/a && echo two > tree/deep/b"});
  const std::string archive = collect(client_, from.id(), "tree");
  EXPECT_EQ(archive.size() % 512, 0U);

  std::string_view left = archive;
  client_.wait(calls::write_archive(to.id(), "copy", [&](char* into, size_t most) {
    const size_t count = left.copy(into, most);
    left.remove_prefix(count);
    return count;
  }));
  EXPECT_EQ(to.run({"cat", "copy/a", "copy/deep/b"}).out, "one\ntwo\n");
}

TEST_F(SdkCpp, ACommandCanBeStartedFedSignalledAndComeBackTo) {
  Sandbox box(client_);
  const Process cat = box.spawn({.argv = {"cat"}});
  client_.wait(calls::write_input(cat, "one "));
  client_.wait(calls::write_input(cat, "two", calls::InputEnd::closed));
  const auto whole = client_.wait(calls::attach(cat));
  EXPECT_EQ(whole.out, "one two");
  EXPECT_TRUE(whole.ok());
  EXPECT_EQ(client_.wait(calls::attach(cat, {}, {.out = 4})).out, "two");

  const Process sleep = box.spawn({.argv = {"sleep", "600"}});
  EXPECT_THAT(client_.wait(calls::processes(box.id())),
              Contains(::testing::Field(&ProcessInfo::running, true)));
  client_.wait(calls::signal(sleep, "SIGTERM"));
  EXPECT_EQ(client_.wait(calls::attach(sleep)).signal, SIGTERM);
}

TEST_F(SdkCpp, ACommandCanHaveATerminal) {
  Sandbox box(client_);
  const Process shell =
      box.spawn({.argv = {"sh", "-c", "stty size; read line; stty size; echo got $line"},
                 .terminal = TerminalSize{.rows = 20, .columns = 70}});
  client_.wait(calls::resize_terminal(shell, {.rows = 50, .columns = 132}));
  client_.wait(calls::write_input(shell, "word\r"));
  const auto done = client_.wait(calls::attach(shell));
  EXPECT_THAT(done.out, HasSubstr("got word"));
  EXPECT_THAT(done.out, HasSubstr("50 132"));
}

TEST_F(SdkCpp, APortIsDialled) {
  Sandbox box(client_);
  box.spawn({.argv = {"python3", "-c",
                      "import socket\n"
                      "s = socket.create_server(('127.0.0.1', 3000))\n"
                      "open('ready', 'w').close()\n"
                      "while True:\n"
                      "    c = s.accept()[0]\n"
                      "    while b := c.recv(65536): c.sendall(b.upper())\n"
                      "    c.close()\n"}});
  box.run({.shell = "until [ -e ready ]; do sleep 0.01; done", .timeout = 60s});
  Socket socket = box.dial(3000);
  const std::string sent(1 << 20, 'a');
  std::thread writer([&] {
    std::string_view left = sent;
    while (!left.empty()) {
      const ssize_t put = write(socket.fd(), left.data(), left.size());
      ASSERT_GT(put, 0);
      left.remove_prefix(static_cast<size_t>(put));
    }
    shutdown(socket.fd(), SHUT_WR);
  });
  std::string back(4096, '\0'), all;
  for (ssize_t got = 1; got > 0;) {
    got = read(socket.fd(), back.data(), back.size());
    all.append(back.data(), got > 0 ? static_cast<size_t>(got) : 0);
  }
  writer.join();
  EXPECT_EQ(all, std::string(1 << 20, 'A'));
  const auto nobody = error_of([&] { box.dial(3999); });
  EXPECT_EQ(nobody.code(), "unavailable");
}

TEST_F(SdkCpp, EventsAreFollowedFromThosePastToThoseThatCome) {
  const std::string id = client_.run({"true"}).sandbox;
  std::vector<std::string> before, after;
  std::string second;
  std::thread maker;
  client_.follow_events({.after = "0"}, [&](const Event& event) {
    if (event.sandbox == id) before.push_back(event.type);
    if (event.sandbox == id && event.state == "destroyed")
      maker = std::thread([&] { Client(daemon_->options()).run({"true"}); });
    if (maker.joinable() && event.sandbox != id) {
      if (second.empty()) second = event.sandbox;
      if (event.sandbox == second) after.push_back(event.type);
    }
    return !(event.sandbox == second && event.state == "destroyed");
  });
  maker.join();
  EXPECT_EQ(before.back(), "sandbox.destroyed");
  EXPECT_EQ(before, after);
}

TEST_F(SdkCpp, KeysAndTokensAreMadeAndEnd) {
  Client by_key({.url = daemon_->url(), .key = daemon_->key()});
  const auto made = by_key.wait(calls::create_key({.role = "viewer", .label = "of a test"}));
  EXPECT_THAT(by_key.wait(calls::keys()), Contains(::testing::Field(&KeyInfo::id, made.info.id)));

  Client viewer({.url = daemon_->url(), .key = made.secret});
  EXPECT_EQ(viewer.whoami().role, "viewer");
  const auto refused = error_of([&] { viewer.run({"true"}); });
  EXPECT_EQ(refused.code(), "permission_denied");
  EXPECT_NE(refused.request_id(), "");

  Sandbox box(client_);
  const auto token = client_.wait(calls::make_token(box.id(), 60s));
  Client confined({.url = daemon_->url(), .key = token.secret});
  EXPECT_EQ(confined.whoami().sandbox, box.id());
  EXPECT_EQ(Sandbox::at(confined, box.id()).run({"echo", "in"}).out, "in\n");

  by_key.wait(calls::revoke_key(made.info.id));
  const auto revoked = error_of([&] { viewer.whoami(); });
  EXPECT_EQ(revoked.code(), "unauthenticated");
  EXPECT_THAT(revoked.hint(), HasSubstr("ATOLL_API_KEY"));
}

TEST_F(SdkCpp, TheDaemonSaysWhatItIsAndAllows) {
  EXPECT_EQ(client_.version().api, "v1");
  EXPECT_GT(client_.wait(calls::limits()).at("batch_runs"), 0);
  EXPECT_THAT(client_.wait(calls::drivers()),
              Contains(::testing::Field(&DriverInfo::available, true)));
  EXPECT_THAT(client_.whoami().may, Not(IsEmpty()));
}

TEST_F(SdkCpp, WhatIsWrongIsSaidWithAHint) {
  const auto unknown = error_of([&] { client_.run({"true"}, {.driver = "none-such"}); });
  EXPECT_EQ(unknown.code(), "not_found");
  EXPECT_NE(unknown.hint(), "");
  EXPECT_NE(unknown.stage(), "");
  EXPECT_NE(unknown.request_id(), "");
  EXPECT_EQ(error_of([&] { client_.run(Command{}); }).code(), "invalid_argument");
  EXPECT_EQ(error_of([&] { client_.run({.argv = {"\xff"}}); }).code(), "invalid_argument");
  const Command large{.argv = {"cat"}, .input = std::string(5 << 20, 'x')};
  EXPECT_THAT(error_of([&] { client_.run(large); }).hint(), HasSubstr("write_input"));

  const auto absent = error_of([] { Client({.state_directory = "/no/such/place"}); });
  EXPECT_EQ(absent.code(), "unavailable");
  EXPECT_TRUE(absent.is_retryable());
  EXPECT_EQ(error_of([] { Client({.url = "nonsense"}); }).code(), "invalid_argument");
  EXPECT_EQ(error_of([] { Client({.url = "http://127.0.0.1:1"}).version(); }).code(),
            "unavailable");
}

TEST_F(SdkCpp, ADeadlineEndsWhatTakesTooLong) {
  Options impatient = daemon_->options();
  impatient.longest_stream = 300ms;
  Client client(impatient);
  EXPECT_EQ(error_of([&] { client.run({"sleep", "600"}); }).code(), "deadline_exceeded");
  EXPECT_EQ(client.version().api, "v1");
}

TEST_F(SdkCpp, ThreadsShareAClient) {
  Sandbox box(client_);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) {
        const std::string word = std::to_string(t) + "." + std::to_string(i);
        EXPECT_EQ(box.run({.argv = {"echo", word}}).out, word + "\n");
        const auto wrong = error_of([&] { client_.wait(calls::get("none-" + word)); });
        EXPECT_THAT(wrong.what(), HasSubstr(word));
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST_F(SdkCpp, VariablesSayWhichDaemonIsMeant) {
  setenv("ATOLL_URL", daemon_->url().c_str(), 1);
  setenv("ATOLL_API_KEY", daemon_->key().c_str(), 1);
  EXPECT_EQ(Client().whoami().role, "admin");
  unsetenv("ATOLL_URL");
  unsetenv("ATOLL_API_KEY");
  setenv("ATOLL_STATE", daemon_->state().c_str(), 1);
  EXPECT_EQ(Client().version().api, "v1");
  unsetenv("ATOLL_STATE");
}

asio::awaitable<std::string> echo(AsyncClient& client, std::string word) {
  const auto done = co_await client(calls::run({.argv = {"echo", word}}));
  co_return done.out;
}

asio::awaitable<std::string> all_of_it(AsyncClient& client) {
  const auto made = co_await client(calls::create({}));
  co_await client(calls::write(made.id, "file", "text"));
  const auto text = co_await client(calls::read(made.id, "file"));
  const auto done = co_await client(calls::exec(made.id, {.argv = {"cat", "file"}}));
  co_await client(calls::destroy(made.id));
  try {
    co_await client(calls::get(made.id));
  } catch (const Error& error) {
    co_return text + done.out + error.code();
  }
  co_return "it is still there";
}

TEST_F(SdkCpp, CoroutinesAwaitCallsInALoopOfTheirOwn) {
  AsyncClient client(daemon_->options());
  asio::io_context loop;
  auto whole = asio::co_spawn(loop, all_of_it(client), asio::use_future);
  std::vector<std::future<std::string>> echoes;
  for (int i = 0; i < 30; ++i)
    echoes.push_back(asio::co_spawn(loop, echo(client, std::to_string(i)), asio::use_future));
  loop.run();
  EXPECT_EQ(whole.get(), "texttextnot_found");
  for (int i = 0; i < 30; ++i) EXPECT_EQ(echoes[i].get(), std::to_string(i) + "\n");
}

TEST_F(SdkCpp, CoroutinesOfAPoolOfThreadsDoToo) {
  AsyncClient client(daemon_->options());
  asio::thread_pool pool(4);
  std::vector<std::future<std::string>> echoes;
  for (int i = 0; i < 30; ++i)
    echoes.push_back(asio::co_spawn(pool, echo(client, std::to_string(i)), asio::use_future));
  for (int i = 0; i < 30; ++i) EXPECT_EQ(echoes[i].get(), std::to_string(i) + "\n");
  pool.join();
}

asio::awaitable<bool> is_given_up(AsyncClient& client) {
  using namespace asio::experimental::awaitable_operators;
  const auto executor = co_await asio::this_coro::executor;
  asio::steady_timer timer(executor, 200ms);
  auto either =
      client(calls::run({.argv = {"sleep", "600"}})) || timer.async_wait(asio::use_awaitable);
  const auto first = co_await std::move(either);
  co_return first.index() == 1;
}

TEST_F(SdkCpp, AnAwaitedCallCanBeGivenUp) {
  AsyncClient client(daemon_->options());
  asio::io_context loop;
  auto given_up = asio::co_spawn(loop, is_given_up(client), asio::use_future);
  loop.run();
  EXPECT_TRUE(given_up.get());
}

TEST_F(SdkCpp, ABackgroundClientThatGoesGivesUpWhatIsUnderWay) {
  std::promise<std::string> code, early;
  const auto tell = [](std::promise<std::string>& to) {
    return [&to](Answer<Outcome> answer) {
      try {
        std::rethrow_exception(answer.error);
      } catch (const Error& error) {
        to.set_value(error.code());
      }
    };
  };
  std::promise<void> runs;
  {
    BackgroundClient client(daemon_->options());
    const Ticket ticket;
    ticket.cancel();
    client.start<Outcome>(calls::run({.argv = {"sleep", "600"}}), tell(early), ticket);
    client.start<Outcome>(calls::run({.shell = "echo started; sleep 600"}, {},
                                     [&](Stream, std::string_view) { runs.set_value(); }),
                          tell(code));
    runs.get_future().wait();
  }
  EXPECT_EQ(early.get_future().get(), "cancelled");
  EXPECT_EQ(code.get_future().get(), "cancelled");
}

TEST(SdkCppRestart, EventsGoOnWhenTheDaemonComesBack) {
  Daemon daemon;
  Client client(daemon.options());
  std::vector<std::string> types;
  bool has_restarted = false;
  client.run({"true"});
  client.follow_events({.after = "0"}, [&](const Event& event) {
    types.push_back(event.type);
    if (event.type == "sandbox.destroyed" && !has_restarted) {
      has_restarted = true;
      daemon.end(SIGINT);
      daemon.start();
      Client(daemon.options()).run({"true"});
    }
    return !(event.type == "sandbox.destroyed" && types.size() > 1 &&
             std::ranges::find(types, "reset") != types.end());
  });
  EXPECT_THAT(types, Contains("reset"));
  EXPECT_EQ(types.back(), "sandbox.destroyed");
}

}  // namespace
}  // namespace atoll_client
