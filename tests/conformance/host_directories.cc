// Directories of the host in a sandbox: as its workspace, or beside it.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>

#include "base/ids.h"
#include "os/file.h"
#include "tests/conformance/behaviour.h"
#include "tests/conformance/box.h"

namespace atl::conformance {
namespace {

using test::DriverWorld;
using testing::ElementsAre;
using testing::IsEmpty;

bool offers_ro(const Subject& subject) { return subject.can.host_dir_ro; }
bool offers_rw(const Subject& subject) { return subject.can.host_dir_rw; }
bool offers_cow(const Subject& subject) { return subject.can.host_dir_cow; }

constexpr uid_t kUserOfEngines = 1000;  // of a sandbox that an engine makes, on the host, too

// Below it lies what an engine may show; tests/support/engines.py names one. "" = there is none.
std::string root_of_engine() {
  const char* const root = getenv("ATOLL_ENGINE_MOUNT_ROOTS");
  return root == nullptr ? "" : root;
}

// A directory of the host with one file.
struct Shared {
  Shared() {
    std::ofstream(directory / "file") << "of the host";
    if (root_of_engine().empty()) return;
    for (const auto& path : {directory.path(), directory / "file"}) {
      if (chown(path.c_str(), kUserOfEngines, kUserOfEngines) != 0)
        ADD_FAILURE() << "giving away " << path;
    }
  }

  HostDirectory as(HostAccess access) const {
    auto fd = must(os::open_at(AT_FDCWD, directory.path(), O_RDONLY | O_DIRECTORY));
    return {std::move(fd), directory.path(), directory.path(), access};
  }
  SandboxSpec mounted(HostAccess access) const {
    SandboxSpec spec;
    spec.id = make_sandbox_id();
    spec.mounts.push_back(as(access));
    return spec;
  }
  SandboxSpec as_workspace(HostAccess access) const {
    SandboxSpec spec;
    spec.id = make_sandbox_id();
    spec.workspace = as(access);
    spec.workspace->guest_path = "/workspace";
    return spec;
  }
  std::string text(const char* name) const {
    return os::read_file(AT_FDCWD, directory / name, 4096).value_or("(none)");
  }

  test::TempDirectory directory{root_of_engine().empty() ? "/tmp" : root_of_engine()};
};

template <HostAccess kAccess>
void access_says_that_it_is_unsupported(DriverWorld& world) {
  Shared shared;

  EXPECT_CODE(Code::unsupported, world.run(world.create(shared.mounted(kAccess))));
  EXPECT_CODE(Code::unsupported, world.run(world.create(shared.as_workspace(kAccess))));

  EXPECT_THAT(must(world.run(world.driver().list())), IsEmpty());
}

void a_read_only_directory_is_read_only(DriverWorld& world) {
  Shared shared;
  Box box(world, shared.mounted(HostAccess::ro));
  const std::string path = shared.directory.path();

  EXPECT_EQ(box.sh("cat " + path + "/file").out, "of the host");
  EXPECT_NE(box.sh("echo x > " + path + "/new").status.exit_code, 0);
  EXPECT_NE(box.sh("echo x >> " + path + "/file").status.exit_code, 0);
  EXPECT_EQ(box.read(path + "/file"), "of the host");
  EXPECT_CODE(Code::permission_denied, box.try_write(path + "/new", "x"));
  EXPECT_CODE(Code::permission_denied,
              world.run(box.guest().remove(path + "/file", Recursive::no)));

  EXPECT_EQ(shared.text("file"), "of the host");
  EXPECT_EQ(shared.text("new"), "(none)");
}

void a_read_only_workspace_is_read_only(DriverWorld& world) {
  Shared shared;
  Box box(world, shared.as_workspace(HostAccess::ro));

  EXPECT_EQ(box.sh("cat file").out, "of the host");
  EXPECT_NE(box.sh("echo x > new").status.exit_code, 0);
  EXPECT_CODE(Code::permission_denied, box.try_write("new", "x"));
  EXPECT_EQ(box.sh("echo x > \"$TMPDIR/fine\" && cat \"$TMPDIR/fine\"").out, "x\n");

  EXPECT_EQ(shared.text("new"), "(none)");
}

void a_shared_directory_is_the_hosts_own(DriverWorld& world) {
  Shared shared;
  const std::string path = shared.directory.path();
  {
    Box box(world, shared.mounted(HostAccess::rw));

    EXPECT_EQ(box.sh("echo from a command > " + path + "/new; cat " + path + "/file").out,
              "of the host");
    box.write(path + "/api", "from the API");
    std::ofstream(shared.directory / "later") << "written later";
    EXPECT_EQ(box.read(path + "/later"), "written later");
  }

  EXPECT_EQ(shared.text("new"), "from a command\n");
  EXPECT_EQ(shared.text("api"), "from the API");
  EXPECT_EQ(shared.text("file"), "of the host");
}

void a_shared_workspace_stays_when_the_sandbox_goes(DriverWorld& world) {
  Shared shared;
  {
    Box box(world, shared.as_workspace(HostAccess::rw));

    EXPECT_EQ(box.sh("echo made inside > made; cat file").out, "of the host");
    EXPECT_EQ(box.read("/workspace/made"), "made inside\n");
  }

  EXPECT_EQ(shared.text("made"), "made inside\n");
  EXPECT_EQ(shared.text("file"), "of the host");
}

void a_copied_workspace_leaves_the_host_alone(DriverWorld& world) {
  Shared shared;
  {
    Box box(world, shared.as_workspace(HostAccess::cow));

    EXPECT_EQ(box.sh("cat file; echo changed > file; echo x > new; cat file").out,
              "of the hostchanged\n");
  }

  EXPECT_EQ(shared.text("file"), "of the host");
  EXPECT_EQ(shared.text("new"), "(none)");
}

constexpr Behaviour kBehaviours[] = {
    {"a_read_only_directory_is_read_only", a_read_only_directory_is_read_only, offers_ro,
     access_says_that_it_is_unsupported<HostAccess::ro>},
    {"a_read_only_workspace_is_read_only", a_read_only_workspace_is_read_only, offers_ro,
     access_says_that_it_is_unsupported<HostAccess::ro>},
    {"a_shared_directory_is_the_hosts_own", a_shared_directory_is_the_hosts_own, offers_rw,
     access_says_that_it_is_unsupported<HostAccess::rw>},
    {"a_shared_workspace_stays_when_the_sandbox_goes",
     a_shared_workspace_stays_when_the_sandbox_goes, offers_rw,
     access_says_that_it_is_unsupported<HostAccess::rw>},
    {"a_copied_workspace_leaves_the_host_alone", a_copied_workspace_leaves_the_host_alone,
     offers_cow, access_says_that_it_is_unsupported<HostAccess::cow>},
};

}  // namespace

std::span<const Behaviour> host_directory_behaviours() { return kBehaviours; }

}  // namespace atl::conformance
