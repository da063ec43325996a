// The sandbox's filter in the running kernel: each case loads it in a child of its own.
#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "native/seccomp.h"
#include "tests/support/require.h"

namespace atl::native {
namespace {

constexpr int kNotLoaded = 254;

bool load(const std::vector<sock_filter>& filter) {
  sock_fprog program{};
  program.len = static_cast<unsigned short>(filter.size());
  program.filter = const_cast<sock_filter*>(filter.data());
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

// The wait status of a child that runs this, under the filter or (if it is empty) free.
int status_of(const std::vector<sock_filter>& filter, const std::function<int()>& act) {
  const pid_t child = fork();
  if (child == 0) {
    if (!filter.empty() && !load(filter)) _exit(kNotLoaded);
    _exit(act());
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

// 0 or the errno of a call in such a child; -1 if the child was killed.
int outcome(const std::vector<sock_filter>& filter, const std::function<long()>& call) {
  const int status = status_of(filter, [&] { return call() == -1 ? errno : 0; });
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
int confined(const std::function<long()>& call) { return outcome(sandbox_filter({}), call); }
int debugging(const std::function<long()>& call) {
  return outcome(sandbox_filter({.allow_ptrace = true}), call);
}
int unconfined(const std::function<long()>& call) { return outcome({}, call); }

// All six arguments are passed whole, so that the high halves arrive too.
long raw(long number, uint64_t a = 0, uint64_t b = 0, uint64_t c = 0, uint64_t d = 0) {
  return syscall(number, a, b, c, d, 0, 0);
}
constexpr uint64_t kHigh = 0xdeadbeef00000000;

// EFAULT: the kernel itself has looked at what it was given.
TEST(SeccompInTheKernel, TakesCloneThreeFromCommandsAndNotFromTheAgent) {
  const auto agent = sandbox_filter({.allow_clone3 = true});
  const auto call = [] { return raw(SYS_clone3, 0, sizeof(clone_args)); };

  EXPECT_EQ(outcome(agent, call), EFAULT);
  EXPECT_EQ(outcome(no_clone3_filter(), call), ENOSYS);
  EXPECT_EQ(outcome(agent, [&] { return load(no_clone3_filter()) ? call() : 0; }), ENOSYS);
  EXPECT_EQ(outcome(no_clone3_filter(), [] { return raw(SYS_getpid); }), 0);
}

TEST(SeccompInTheKernel, RefusesWithTheErrnoThatItPromises) {
  struct Case {
    const char* name;
    long number;
    uint64_t first, second;
    int expected;
  };
  // Each of these succeeds or fails otherwise without the filter, whoever asks.
  const Case cases[] = {
      {"unshare of nothing", SYS_unshare, 0, 0, EPERM},
      {"setns to nothing", SYS_setns, ~0ULL, 0, EPERM},
      {"ptrace of nobody", SYS_ptrace, PTRACE_PEEKDATA, 0x7fffffff, EPERM},
      {"process_vm_readv of nothing", SYS_process_vm_readv, 0x7fffffff, 0, EPERM},
      {"kcmp of nobody", SYS_kcmp, 0x7fffffff, 0x7fffffff, EPERM},
      {"pidfd_getfd of nothing", SYS_pidfd_getfd, ~0ULL, 0, EPERM},
      {"name_to_handle_at of nothing", SYS_name_to_handle_at, ~0ULL, 0, EPERM},
      {"set_mempolicy of nothing", SYS_set_mempolicy, 0, 0, EPERM},
      {"clone3 of nothing", SYS_clone3, 0, 0, ENOSYS},
      {"personality without randomisation", SYS_personality, ADDR_NO_RANDOMIZE, 0, EPERM},
      {"personality in the high half", SYS_personality, kHigh | ADDR_NO_RANDOMIZE, 0, EPERM},
      {"prctl PR_SET_MM", SYS_prctl, kHigh | PR_SET_MM, ~0ULL, EPERM},
      {"prctl PR_SET_PTRACER", SYS_prctl, PR_SET_PTRACER, 0, EPERM},
  };
  for (const auto& c : cases) {
    const auto call = [&] { return raw(c.number, c.first, c.second); };
    EXPECT_EQ(confined(call), c.expected) << c.name;
    if (c.number == SYS_prctl) continue;  // what the kernel says depends on its rights and modules
    EXPECT_NE(unconfined(call), c.expected) << c.name << " says nothing about the filter";
  }
}

TEST(SeccompInTheKernel, AnswersUnknownCallsLikeAnOlderKernel) {
  EXPECT_EQ(confined([] { return raw(100'000); }), ENOSYS);
  EXPECT_EQ(confined([] { return raw(SYS_io_uring_setup, 1, 0); }), ENOSYS);
  EXPECT_EQ(confined([] { return raw(SYS_prctl, 99'999); }), EINVAL);
}

TEST(SeccompInTheKernel, RefusesNamespacesWhateverStandsInTheHighHalf) {
  for (const uint64_t flag : {CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWNET, CLONE_NEWPID, CLONE_NEWIPC,
                              CLONE_NEWUTS, CLONE_NEWCGROUP}) {
    for (const uint64_t high : {uint64_t{0}, kHigh}) {
      EXPECT_EQ(confined([&] { return raw(SYS_clone, high | flag | SIGCHLD); }), EPERM) << flag;
    }
  }
  EXPECT_EQ(confined([] {
              const long child = raw(SYS_clone, SIGCHLD);
              if (child == 0) _exit(0);
              return child;
            }),
            0);
}

TEST(SeccompInTheKernel, RefusesTypingIntoTerminalsWhateverStandsInTheHighHalf) {
  for (const uint64_t request : {TIOCSTI, TIOCLINUX, TIOCSETD, TIOCCONS}) {
    for (const uint64_t high : {uint64_t{0}, kHigh}) {
      const auto call = [&] { return raw(SYS_ioctl, ~0ULL, high | request); };
      EXPECT_EQ(confined(call), EPERM) << request;
      EXPECT_EQ(unconfined(call), EBADF) << request;
    }
  }
  EXPECT_EQ(confined([] { return raw(SYS_ioctl, ~0ULL, TCGETS); }), EBADF);
}

TEST(SeccompInTheKernel, GivesOnlyOrdinarySockets) {
  const auto opens = [](uint64_t family, uint64_t type, uint64_t protocol) {
    return confined([=] { return raw(SYS_socket, family, type, protocol); });
  };
  EXPECT_EQ(opens(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), 0);
  EXPECT_EQ(opens(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP), 0);
  EXPECT_EQ(opens(AF_INET, SOCK_DGRAM, 0), 0);
  EXPECT_EQ(opens(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE), 0);
  EXPECT_EQ(opens(AF_INET, SOCK_RAW, IPPROTO_TCP), EPERM);
  EXPECT_EQ(opens(AF_INET6, kHigh | SOCK_RAW | SOCK_CLOEXEC, IPPROTO_TCP), EPERM);
  EXPECT_EQ(opens(AF_INET, SOCK_PACKET, 0), EPERM);
  EXPECT_EQ(opens(AF_INET, SOCK_SEQPACKET, 0), ESOCKTNOSUPPORT);
  EXPECT_EQ(opens(AF_INET, SOCK_STREAM, IPPROTO_SCTP), EPROTONOSUPPORT);
  EXPECT_EQ(opens(AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER), EAFNOSUPPORT);
  for (const uint64_t family : {AF_PACKET, AF_VSOCK, AF_ALG, AF_X25, AF_BLUETOOTH}) {
    EXPECT_EQ(opens(kHigh | family, SOCK_RAW, 0), EAFNOSUPPORT) << family;
  }
  int pair[2];
  const auto pairs = [&](int family) {
    return confined([&] { return socketpair(family, SOCK_STREAM, 0, pair); });
  };
  EXPECT_EQ(pairs(AF_UNIX), 0);
  EXPECT_EQ(pairs(AF_TIPC), EAFNOSUPPORT);
}

TEST(SeccompInTheKernel, LetsTheAgentWork) {
  EXPECT_EQ(confined([] { return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }), 0);
  EXPECT_EQ(confined([] { return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); }), 0);
  EXPECT_EQ(confined([] { return prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); }), 0);
  EXPECT_EQ(confined([] { return prctl(PR_SET_NAME, "agent", 0, 0, 0); }), 0);
  EXPECT_EQ(confined([] { return raw(SYS_pidfd_open, static_cast<uint64_t>(getpid())); }), 0);
  EXPECT_EQ(confined([] { return raw(SYS_close_range, 3, ~0U); }), 0);
  EXPECT_EQ(confined([] { return raw(SYS_memfd_create, reinterpret_cast<uint64_t>("x")); }), 0);
  EXPECT_EQ(confined([] { return raw(SYS_inotify_init1); }), 0);
  EXPECT_EQ(confined([] { return raw(SYS_personality, 0xffffffff); }), 0);
  EXPECT_EQ(confined([] { return raw(SYS_openat2, 0, 0, 0, 24); }), EFAULT);
  EXPECT_EQ(confined([] { return raw(SYS_execveat, ~0ULL, 0); }), EFAULT);
}

TEST(SeccompInTheKernel, LetsDebuggersWorkWhereTheyMay) {
  EXPECT_EQ(debugging([] { return raw(SYS_ptrace, PTRACE_TRACEME); }), 0);
  EXPECT_EQ(debugging([] { return raw(SYS_personality, ADDR_NO_RANDOMIZE); }), 0);
  EXPECT_EQ(debugging([] { return raw(SYS_process_vm_readv, 0x7fffffff); }),
            unconfined([] { return raw(SYS_process_vm_readv, 0x7fffffff); }));
  EXPECT_EQ(debugging([] { return raw(SYS_kcmp, 0x7fffffff, 0x7fffffff); }), EPERM);
}

#if defined(__x86_64__)
long getpid_of_i386() {
  long result = 20;  // i386's number
  asm volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
  return result;
}

TEST(SeccompInTheKernel, KillsForeignArchitectures) {
  const int x32 = status_of(sandbox_filter({}), [] { return raw(0x40000000 | SYS_getpid) < 0; });
  EXPECT_TRUE(WIFSIGNALED(x32) && WTERMSIG(x32) == SIGSYS) << x32;

  const auto act = [] { return getpid_of_i386() == getpid() ? 0 : 1; };
  ATOLL_REQUIRE(status_of({}, act) == 0, "a kernel that runs i386 programs");
  const int i386 = status_of(sandbox_filter({}), act);
  EXPECT_TRUE(WIFSIGNALED(i386) && WTERMSIG(i386) == SIGSYS) << i386;
}
#endif

// Real programs, as nobody and in a directory of their own.
class SeccompPrograms : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/atoll-seccomp-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    directory_ = name;
    ASSERT_EQ(chmod(name, 0777), 0);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  // The exit code of a shell command; 128 and more if it was killed.
  int run(const std::string& command) const {
    const int status = status_of(sandbox_filter({}), [&] {
      if (geteuid() == 0 && (setgroups(0, nullptr) != 0 || setresgid(65534, 65534, 65534) != 0 ||
                             setresuid(65534, 65534, 65534) != 0)) {
        return 253;
      }
      if (chdir(directory_.c_str()) != 0) return 252;
      setenv("HOME", directory_.c_str(), 1);
      setenv("PATH", "/usr/bin:/bin", 1);
      execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      return 251;
    });
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  std::string directory_;
};

bool installed(const char* program) {
  return access((std::string("/usr/bin/") + program).c_str(), X_OK) == 0;
}

TEST_F(SeccompPrograms, RunGit) {
  ATOLL_REQUIRE(installed("git"), "git");
  EXPECT_EQ(run("git init -q r && cd r && echo x > f && git add f && git -c user.name=a "
                "-c user.email=a@b commit -qm c && git gc -q && git fsck"),
            0);
}

TEST_F(SeccompPrograms, RunPython) {
  ATOLL_REQUIRE(installed("python3"), "python3");
  std::ofstream(directory_ + "/t.py")
      << "import asyncio, multiprocessing, socket, subprocess, sys, threading\n"
         "if __name__ == '__main__':\n"
         "  t = threading.Thread(target=print); t.start(); t.join()\n"
         "  with multiprocessing.Pool(2) as pool: assert pool.map(abs, [-1]) == [1]\n"
         "  assert subprocess.run(['true']).returncode == 0\n"
         "  s = socket.create_server(('127.0.0.1', 0))\n"
         "  c = socket.create_connection(s.getsockname())\n"
         "  assert asyncio.run(asyncio.sleep(0, 7)) == 7\n";
  EXPECT_EQ(run("python3 t.py"), 0);
}

TEST_F(SeccompPrograms, RunNode) {
  ATOLL_REQUIRE(installed("node"), "nodejs");
  EXPECT_EQ(
      run("node -e 'require(\"fs\").readFile(\"/etc/passwd\", e => process.exit(e ? 1 : 0))'"), 0);
}

TEST_F(SeccompPrograms, CompileAndRunC) {
  ATOLL_REQUIRE(installed("gcc"), "gcc");
  std::ofstream(directory_ + "/h.c")
      << "#include <stdio.h>\nint main() { return puts(\"\") < 0; }\n";
  EXPECT_EQ(run("gcc -O2 h.c -o h && ./h"), 0);
}

TEST_F(SeccompPrograms, RunSqlite) {
  ATOLL_REQUIRE(installed("sqlite3"), "sqlite3");
  EXPECT_EQ(run("test \"$(sqlite3 d 'pragma journal_mode=wal; create table t(a); insert into t "
                "values(42); select a from t' | tail -1)\" = 42"),
            0);
}

}  // namespace
}  // namespace atl::native
