// Snapshots, what is made from them, forks, and sandboxes made anew; who cannot says so.
#include <gmock/gmock.h>
#include <signal.h>

#include "base/ids.h"
#include "tests/conformance/behaviour.h"
#include "tests/conformance/box.h"

namespace atl::conformance {
namespace {

using test::DriverWorld;
using testing::ElementsAre;
using testing::IsEmpty;

bool can_snapshot(const Subject& subject) { return subject.can.snapshot; }
bool can_checkpoint(const Subject& subject) { return subject.can.checkpoint; }
bool can_fork(const Subject& subject) { return subject.can.fork; }
bool can_reset(const Subject& subject) { return subject.can.reset; }

// A snapshot for the length of a check.
class Kept final {
 public:
  explicit Kept(Box& box) : world_(box.world()), id_(make_snapshot_id()) {
    SnapshotRequest request{.id = id_};
    facts_ = must(world_.run(world_.driver().snapshot(box.sandbox(), std::move(request))));
  }
  ~Kept() {
    if (auto dropped = world_.run(world_.driver().drop_snapshot(id_)); !dropped)
      ADD_FAILURE() << "dropping " << id_ << ": " << dropped.error().message();
  }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;

  const std::string& id() const { return id_; }
  const SnapshotFacts& facts() const { return facts_; }
  SandboxSpec spec() const {
    SandboxSpec spec;
    spec.snapshot = id_;
    return spec;
  }

 private:
  DriverWorld& world_;
  std::string id_;
  SnapshotFacts facts_;
};

// Unlike Box, which makes its own.
std::string sh(DriverWorld& world, Sandbox& sandbox, const std::string& script) {
  return must(world.run(exec_collect(sandbox.guest(), sh_request(script), {}, 64 * 1024))).out;
}

void a_snapshot_keeps_files_and_outlives_its_sandbox(DriverWorld& world) {
  auto first = std::make_unique<Box>(world);
  first->sh(
      "echo kept > file; mkdir -p deep/er; echo x > deep/er/run; chmod 750 deep/er/run; "
      "ln -s /etc/passwd outside; ln -s file inside; echo home > ~/.profile; head -c 3000000 "
      "/dev/zero > large");
  Kept kept(*first);
  EXPECT_GT(kept.facts().bytes, 3'000'000U);
  first->sh("echo changed > file; rm -r deep");
  first.reset();
  EXPECT_THAT(must(world.run(world.driver().list_snapshots())), ElementsAre(kept.id()));

  Box second(world, kept.spec());

  EXPECT_EQ(second
                .sh("cat file inside deep/er/run ~/.profile; stat -c %a deep/er/run; readlink "
                    "outside; wc -c < large")
                .out,
            "kept\nkept\nx\nhome\n750\n/etc/passwd\n3000000\n");
}

void a_snapshot_leaves_the_sandbox_as_it_was(DriverWorld& world) {
  Box box(world, spec_with({{"NAME", "value"}}));
  auto process = box.start_sh("echo begun; while [ ! -e go ]; do sleep 0.05; done; echo $NAME");
  must(world.run(process->next()));

  const Kept kept(box);
  box.write("go", "");

  EXPECT_EQ(box.read_to_end(*process, {6, 0}).out, "value\n");
}

void a_snapshot_is_found_after_a_restart(DriverWorld& world) {
  std::string id;
  {
    Box box(world);
    box.write("file", "kept");
    id = make_snapshot_id();
    SnapshotRequest request{.id = id};
    must(world.run(world.driver().snapshot(box.sandbox(), std::move(request))));
  }
  must(world.restart());

  EXPECT_THAT(must(world.run(world.driver().list_snapshots())), ElementsAre(id));
  SandboxSpec spec;
  spec.snapshot = id;
  {
    Box box(world, std::move(spec));
    EXPECT_EQ(box.read("file"), "kept");
  }
  must(world.run(world.driver().drop_snapshot(id)));
  EXPECT_THAT(must(world.run(world.driver().list_snapshots())), IsEmpty());
}

void a_snapshot_that_is_not_there_is_not_found(DriverWorld& world) {
  SandboxSpec spec;
  spec.id = make_sandbox_id();
  spec.snapshot = make_snapshot_id();

  EXPECT_CODE(Code::not_found, world.run(world.driver().create(std::move(spec))));
  EXPECT_THAT(must(world.run(world.driver().list())), IsEmpty());
  must(world.run(world.driver().drop_snapshot(make_snapshot_id())));
}

void a_dropped_snapshot_goes_when_nobody_needs_it(DriverWorld& world) {
  Box first(world);
  const std::string id = make_snapshot_id();
  SnapshotRequest request{.id = id};
  must(world.run(world.driver().snapshot(first.sandbox(), std::move(request))));
  {
    SandboxSpec spec;
    spec.snapshot = id;
    Box second(world, std::move(spec));
    // Either it goes at once and the sandbox does not mind, or it says that it waits.
    const auto dropped = world.run(world.driver().drop_snapshot(id));
    if (!dropped) EXPECT_EQ(dropped.error().code(), Code::conflict) << outcome(dropped);
    EXPECT_EQ(second.exec({"true"}).status.exit_code, 0);
  }
  must(world.run(world.driver().drop_snapshot(id)));

  EXPECT_THAT(must(world.run(world.driver().list_snapshots())), IsEmpty());
}

void what_is_made_from_a_snapshot_is_as_strong_as_the_first(DriverWorld& world) {
  const std::string rights =
      "grep -E '^(Cap|NoNewPrivs|Seccomp)' /proc/self/status; id; ulimit -a; "
      "touch /etc/x 2>/dev/null && echo writable";
  SandboxSpec spec = spec_with({});
  spec.resources.memory_mb = 64;
  Box first(world, std::move(spec));
  const Kept kept(first);
  SandboxSpec again = kept.spec();
  again.resources.memory_mb = 64;

  Box second(world, std::move(again));

  EXPECT_EQ(second.sh(rights).out, first.sh(rights).out);
  EXPECT_NE(second.sh("head -c 200000000 /dev/zero | tail").status.exit_code, 0);
}

void snapshots_say_that_they_are_unsupported(DriverWorld& world) {
  Box box(world);
  SnapshotRequest request{.id = make_snapshot_id()};

  EXPECT_CODE(Code::unsupported, world.run(world.driver().snapshot(box.sandbox(), request)));
  EXPECT_THAT(must(world.run(world.driver().list_snapshots())), IsEmpty());
}

void a_snapshot_of_memory_keeps_processes(DriverWorld& world) {
  auto first = std::make_unique<Box>(world);
  auto process =
      first->start_sh("echo begun; while [ ! -e go ]; do sleep 0.05; done; echo went on");
  must(world.run(process->next()));
  const ProcessId number = process->id();
  const std::string id = make_snapshot_id();
  must(world.run(world.driver().snapshot(first->sandbox(), {id, SnapshotKind::memory})));
  process.reset();
  first.reset();
  SandboxSpec spec;
  spec.snapshot = id;
  {
    Box second(world, std::move(spec));
    second.write("go", "");
    auto again = must(world.run(second.guest().attach(number, {6, 0})));
    EXPECT_EQ(second.read_to_end(*again, {6, 0}).out, "went on\n");
  }
  must(world.run(world.driver().drop_snapshot(id)));
}

// Counts in memory alone, and says so in a file.
constexpr const char* kCount =
    "n=0; while :; do n=$((n + 1)); echo $n > now; mv now count; sleep 0.02; done";

int count_of(DriverWorld& world, Sandbox& sandbox) {
  return std::stoi("0" + sh(world, sandbox, "cat count"));
}

// Whoever begins anew comes past the small numbers again, and is never seen beyond a large one.
void goes_on_from(DriverWorld& world, Sandbox& sandbox, int number) {
  EXPECT_GE(count_of(world, sandbox), number);
  const std::string wait = "for i in $(seq 500); do [ $(cat count) -gt " +
                           std::to_string(number + 5) + " ] && echo on && break; sleep 0.02; done";
  EXPECT_EQ(sh(world, sandbox, wait), "on\n");
}

void children_of_memory_go_on_and_go_their_own_way(DriverWorld& world) {
  Box box(world);
  auto process = box.start_sh(kCount);
  box.wait_for_file("count");
  EXPECT_EQ(box.sh("while [ $(cat count) -lt 50 ]; do sleep 0.02; done").status.exit_code, 0);
  const int before = count_of(world, box.sandbox());
  std::vector<SandboxSpec> specs(2);
  std::vector<std::string> ids;
  for (auto& spec : specs) ids.push_back(spec.id = make_sandbox_id());
  const std::string by = make_snapshot_id();

  must(world.run(world.driver().fork(box.sandbox(), std::move(specs), {by, SnapshotKind::memory})));

  goes_on_from(world, box.sandbox(), before);
  std::vector<std::unique_ptr<Sandbox>> children;
  for (const auto& id : ids) {
    children.push_back(must(world.run(world.driver().attach(id))));
    goes_on_from(world, *children.back(), before);
    // Who it is for commands that begin now.
    EXPECT_EQ(sh(world, *children.back(), "echo $ATOLL_SANDBOX_ID; echo $ATOLL_SANDBOX_ID > who"),
              id + "\n");
  }
  must(world.run(children[0]->guest().signal(process->id(), SIGKILL)));
  const int then = count_of(world, *children[1]);
  goes_on_from(world, *children[1], then);
  goes_on_from(world, box.sandbox(), count_of(world, box.sandbox()));
  EXPECT_EQ(sh(world, *children[1], "cat who"), ids[1] + "\n");
  EXPECT_EQ(box.sh("cat who").status.exit_code, 1);
  for (auto& child : children) must(world.run(child->destroy()));
  must(world.run(world.driver().drop_snapshot(by)));
}

void a_snapshot_of_memory_says_that_it_is_unsupported(DriverWorld& world) {
  Box box(world);

  EXPECT_CODE(Code::unsupported, world.run(world.driver().snapshot(
                                     box.sandbox(), {make_snapshot_id(), SnapshotKind::memory})));
  EXPECT_THAT(must(world.run(world.driver().list_snapshots())), IsEmpty());
}

void children_have_the_files_and_go_their_own_way(DriverWorld& world) {
  Box box(world);
  box.write("kept", "of the parent");
  std::vector<SandboxSpec> specs(2);
  std::vector<std::string> ids;
  for (auto& spec : specs) {
    spec.id = make_sandbox_id();
    spec.env = {{"WHO", spec.id}};
    ids.push_back(spec.id);
  }
  const std::string by = make_snapshot_id();

  must(world.run(world.driver().fork(box.sandbox(), std::move(specs), {.id = by})));

  std::vector<std::unique_ptr<Sandbox>> children;
  for (const auto& id : ids) {
    children.push_back(must(world.run(world.driver().attach(id))));
    EXPECT_EQ(sh(world, *children.back(), "cat kept; echo; echo $WHO; echo $WHO > kept"),
              "of the parent\n" + id + "\n");
  }
  for (size_t i = 0; i < ids.size(); ++i)
    EXPECT_EQ(sh(world, *children[i], "cat kept"), ids[i] + "\n");
  EXPECT_EQ(box.read("kept"), "of the parent");
  // Different numbers come from the kernel's generator in each.
  const std::string random = "od -An -N16 -tx1 /dev/urandom";
  EXPECT_NE(sh(world, *children[0], random), sh(world, *children[1], random));
  for (auto& child : children) must(world.run(child->destroy()));
  must(world.run(world.driver().drop_snapshot(by)));
  EXPECT_THAT(must(world.run(world.driver().list_snapshots())), IsEmpty());
}

void fork_says_that_it_is_unsupported(DriverWorld& world) {
  Box box(world);
  std::vector<SandboxSpec> children(1);
  children[0].id = make_sandbox_id();

  EXPECT_CODE(Code::unsupported, world.run(world.driver().fork(box.sandbox(), std::move(children),
                                                               {.id = make_snapshot_id()})));
  EXPECT_THAT(must(world.run(world.driver().list())), ElementsAre(box.id()));
}

// As a sandbox that nobody has used looks to whoever uses it first.
constexpr const char* kLook =
    "find /workspace /home/user /tmp /var/tmp /dev/shm /run -user \"$(id -u)\" 2>/dev/null | grep "
    "-v '^/run/\\?$' | sort; env | grep -v '^_=\\|^ATOLL_' | sort; ulimit -a; cat "
    "/proc/sysvipc/shm "
    "2>/dev/null; cat /proc/[0-9]*/comm 2>/dev/null | grep -v '^\\(sh\\|cat\\|grep\\|sort\\)$' | "
    "sort "
    "-u";

void made_anew_it_has_nothing_of_its_former_user(DriverWorld& world) {
  std::string fresh;
  {
    Box box(world);
    fresh = box.sh(kLook).out;
  }
  Box box(world, spec_with({{"SECRET", "of the former user"}}));
  box.sh(
      "for d in /workspace ~ /tmp /var/tmp /dev/shm /run; do echo secret > $d/secret; done "
      "2>/dev/null; ulimit -n 64; setsid sleep 1000 >/dev/null 2>&1 </dev/null &");
  box.put_probe();
  auto leaver = box.start(request_of({"./conformance_probe", "leave_traces", "ready"}));
  box.wait_for_file("ready");
  leaver.reset();
  EXPECT_NE(box.sh(kLook).out, fresh);
  EXPECT_NE(box.ask_probe({"find_traces"}), "");

  box.make_anew({});

  EXPECT_EQ(box.sh(kLook).out, fresh);
  EXPECT_EQ(box.ask_probe({"find_traces"}), "");
  EXPECT_THAT(must(world.run(world.driver().list())), ElementsAre(box.id()));
}

constexpr Behaviour kBehaviours[] = {
    {"a_snapshot_keeps_files_and_outlives_its_sandbox",
     a_snapshot_keeps_files_and_outlives_its_sandbox, can_snapshot,
     snapshots_say_that_they_are_unsupported},
    {"a_snapshot_leaves_the_sandbox_as_it_was", a_snapshot_leaves_the_sandbox_as_it_was,
     can_snapshot},
    {"a_snapshot_is_found_after_a_restart", a_snapshot_is_found_after_a_restart, can_snapshot},
    {"a_snapshot_that_is_not_there_is_not_found", a_snapshot_that_is_not_there_is_not_found,
     can_snapshot},
    {"a_dropped_snapshot_goes_when_nobody_needs_it", a_dropped_snapshot_goes_when_nobody_needs_it,
     can_snapshot},
    {"what_is_made_from_a_snapshot_is_as_strong_as_the_first",
     what_is_made_from_a_snapshot_is_as_strong_as_the_first, can_snapshot},
    {"a_snapshot_of_memory_keeps_processes", a_snapshot_of_memory_keeps_processes, can_checkpoint,
     a_snapshot_of_memory_says_that_it_is_unsupported},
    {"children_of_memory_go_on_and_go_their_own_way", children_of_memory_go_on_and_go_their_own_way,
     can_checkpoint},
    {"children_have_the_files_and_go_their_own_way", children_have_the_files_and_go_their_own_way,
     can_fork, fork_says_that_it_is_unsupported},
    {"made_anew_it_has_nothing_of_its_former_user", made_anew_it_has_nothing_of_its_former_user,
     can_reset},
};

}  // namespace

std::span<const Behaviour> snapshot_behaviours() { return kBehaviours; }

}  // namespace atl::conformance
