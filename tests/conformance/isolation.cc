// What code in a sandbox cannot reach. Every driver of level `process` and above promises these.
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>

#include "native/landlock.h"
#include "tests/conformance/behaviour.h"
#include "tests/conformance/box.h"
#include "tests/support/require.h"

namespace atl::conformance {
namespace {

using test::DriverWorld;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

bool is_confined(const Subject& subject) { return subject.can.isolation >= Isolation::process; }
bool shares_the_hosts_files(const Subject& subject) {
  return subject.can.isolation == Isolation::process && subject.can.placement == Placement::host;
}
bool can_deny_the_network(const Subject& subject) {
  return subject.can.network != NetworkControl::none;
}

void only_stdio_is_inherited(DriverWorld& world) {
  Box box(world);

  EXPECT_EQ(box.ask_probe({"descriptors"}), "0\n1\n2");
}

void nothing_outside_can_be_written(DriverWorld& world) {
  Box box(world);
  test::TempDirectory outside;
  std::ofstream(outside / "file") << "of the host";

  const auto result = box.sh(
      "echo x > " + (outside / "new") + "; echo x >> " + (outside / "file") + "; rm -f " +
      (outside / "file") + "; mkdir " + (outside / "directory") + "; mv " + (outside / "file") +
      " stolen; ln " + (outside / "file") + " linked; echo x > /etc/atoll-conformance; exit 0");

  EXPECT_EQ(result.status.exit_code, 0);
  EXPECT_FALSE(std::ifstream(outside / "new").good());
  EXPECT_NE(access((outside / "directory").c_str(), F_OK), 0);
  EXPECT_NE(access("/etc/atoll-conformance", F_OK), 0);
  std::ifstream file(outside / "file");
  std::string text;
  std::getline(file, text);
  EXPECT_EQ(text, "of the host");
  EXPECT_FALSE(box.exists("stolen") || box.exists("linked"));
}

void secrets_of_the_host_cannot_be_read(DriverWorld& world) {
  Box box(world);
  test::TempDirectory outside;
  std::ofstream(outside / "key") << "of the host";

  EXPECT_EQ(box.sh("cat /etc/shadow").out, "");
  EXPECT_EQ(box.sh("cat " + (outside / "key")).out, "");
  EXPECT_EQ(box.sh("ls " + outside.path()).out, "");
}

void another_sandbox_cannot_be_reached(DriverWorld& world) {
  Box other(world);
  other.write("private", "of the other");
  const std::string its_workspace = without_newline(other.sh("pwd -P").out);
  Box box(world);

  EXPECT_EQ(box.sh("cat " + its_workspace + "/private").out, "");
  if (!world.can().own_root) {
    EXPECT_EQ(box.sh("ls " + its_workspace + " " + its_workspace + "/..").out, "");
  }
  box.sh("echo x > " + its_workspace + "/planted");

  EXPECT_FALSE(other.exists("planted"));
  EXPECT_EQ(other.read("private"), "of the other");
}

void records_and_tokens_cannot_be_read(DriverWorld& world) {
  Box box(world);
  const std::string own = world.run_directory() + "/box/" + box.id();
  ASSERT_EQ(access((own + "/record").c_str(), F_OK), 0);

  EXPECT_EQ(box.sh("cat " + own + "/record").out, "");
  EXPECT_EQ(box.sh("ls " + own).out, "");
}

void another_agents_socket_is_of_no_use(DriverWorld& world) {
  Box other(world);
  other.write("private", "of the other");
  Box box(world);
  const std::string its_socket = world.run_directory() + "/box/" + other.id() + "/agent.sock";
  ASSERT_EQ(access(its_socket.c_str(), F_OK), 0);

  EXPECT_THAT(box.ask_probe({"knock", its_socket}), AnyOf("closed", "EACCES", "EPERM"));
  EXPECT_THAT(box.ask_probe({"knock", world.run_directory() + "/launcher.sock"}),
              AnyOf("EPROTOTYPE", "EACCES", "EPERM"));
  EXPECT_EQ(other.read("private"), "of the other");
}

void no_privileges_are_left(DriverWorld& world) {
  Box box(world);

  const auto status = box.sh("cat /proc/self/status").out;

  for (const char* set : {"CapInh", "CapPrm", "CapEff"}) {
    EXPECT_THAT(status, HasSubstr(std::string(set) + ":\t0000000000000000\n"));
  }
  // gVisor has no ambient capabilities, and does not show the other, but tells it.
  if (world.can().isolation == Isolation::sentry) {
    EXPECT_EQ(box.ask_probe({"no_new_privs"}), "1");
  } else {
    EXPECT_THAT(status, HasSubstr("NoNewPrivs:\t1\n"));
    EXPECT_THAT(status, HasSubstr("CapAmb:\t0000000000000000\n"));
  }
  EXPECT_THAT(status, HasSubstr("Seccomp:\t2\n"));
}

void mounting_and_namespaces_are_refused(DriverWorld& world) {
  Box box(world);

  EXPECT_THAT(box.ask_probe({"mount"}), AnyOf("EPERM", "EACCES", "ENOSYS"));
  EXPECT_THAT(box.ask_probe({"unshare"}), AnyOf("EPERM", "EACCES", "ENOSYS"));
}

void nobody_outside_can_be_traced(DriverWorld& world) {
  Box box(world);
  const std::string agent = without_newline(box.sh("echo $PPID").out);

  EXPECT_THAT(box.ask_probe({"ptrace", agent}), AnyOf("EPERM", "EACCES", "ENOSYS", "ESRCH"));
  EXPECT_THAT(box.ask_probe({"ptrace", std::to_string(getpid())}),
              AnyOf("EPERM", "EACCES", "ENOSYS", "ESRCH"));
}

void nobody_outside_can_be_signalled(DriverWorld& world) {
  if (world.can().isolation == Isolation::process) {
    ATOLL_REQUIRE(native::landlock_abi() >= 6,
                  "signals are scoped by Landlock since ABI 6 (kernel 6.12)");
  }
  Box box(world);
  const std::string agent = without_newline(box.sh("echo $PPID").out);

  for (const int number : {0, SIGKILL, SIGSTOP, SIGTERM, SIGINT, SIGHUP, SIGSEGV}) {
    const auto told = box.ask_probe({"kill", agent, std::to_string(number)});
    // The first process of a pid namespace may be sent what it does not take.
    if (world.can().own_root && agent == "1") {
      EXPECT_THAT(told, AnyOf("EPERM", "ok")) << number;
    } else {
      EXPECT_EQ(told, "EPERM") << number;
    }
  }
  EXPECT_THAT(box.ask_probe({"kill", std::to_string(getpid()), "0"}), AnyOf("EPERM", "ESRCH"));
  EXPECT_EQ(box.exec({"true"}).status.exit_code, 0);
}

void the_memory_of_others_cannot_be_read(DriverWorld& world) {
  Box box(world, spec_with({{"SECRET", "of the sandbox"}}));
  const std::string agent = without_newline(box.sh("echo $PPID").out);
  const std::string host = std::to_string(getpid());

  if (world.can().isolation == Isolation::sentry) {
    // gVisor shows where the agent's memory lies and what it has open, and gives neither.
    EXPECT_EQ(box.ask_probe({"open", "/proc/" + agent + "/mem"}), "EACCES");
    EXPECT_THAT(box.sh("cat /proc/" + agent + "/environ").out, Not(HasSubstr("SECRET")));
    EXPECT_EQ(box.sh("cat /proc/" + agent + "/fd/3 /proc/" + agent + "/fd/4").out, "");
    return;
  }
  for (const auto& pid : {agent, host}) {
    EXPECT_EQ(box.sh("cat /proc/" + pid + "/environ").out, "");
    EXPECT_EQ(box.sh("head -c 1 /proc/" + pid + "/maps").out, "");
    EXPECT_EQ(
        box.sh("readlink /proc/" + pid + "/fd/* /proc/" + pid + "/cwd; ls /proc/" + pid + "/cwd/")
            .out,
        "");
  }
}

void a_denied_network_is_denied(DriverWorld& world) {
  Box box(world);
  if (world.can().ports) {
    // It has a loopback interface of its own, which is not the host's.
    Fd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ASSERT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    ASSERT_EQ(listen(listener.get(), 1), 0);
    ASSERT_EQ(getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    const std::string port = std::to_string(ntohs(address.sin_port));
    ASSERT_EQ(system(("bash -c 'exec 3<>/dev/tcp/127.0.0.1/" + port + "'").c_str()), 0);

    EXPECT_NE(box.exec({"bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/" + port}).status.exit_code, 0);
    EXPECT_EQ(box.sh("tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '").out, "lo\n");
    EXPECT_NE(box.exec({"bash", "-c", "exec 3<>/dev/tcp/1.1.1.1/53"}).status.exit_code, 0);
    return;
  }

  for (const char* family : {"inet", "inet6", "udp", "netlink"}) {
    EXPECT_THAT(box.ask_probe({"socket", family}), AnyOf("EACCES", "EPERM", "EAFNOSUPPORT"))
        << family;
  }
}

constexpr Behaviour kBehaviours[] = {
    {"only_stdio_is_inherited", only_stdio_is_inherited},
    {"nothing_outside_can_be_written", nothing_outside_can_be_written, is_confined},
    {"secrets_of_the_host_cannot_be_read", secrets_of_the_host_cannot_be_read, is_confined},
    {"another_sandbox_cannot_be_reached", another_sandbox_cannot_be_reached, is_confined},
    {"records_and_tokens_cannot_be_read", records_and_tokens_cannot_be_read,
     shares_the_hosts_files},
    {"another_agents_socket_is_of_no_use", another_agents_socket_is_of_no_use,
     shares_the_hosts_files},
    {"no_privileges_are_left", no_privileges_are_left, is_confined},
    {"mounting_and_namespaces_are_refused", mounting_and_namespaces_are_refused, is_confined},
    {"nobody_outside_can_be_traced", nobody_outside_can_be_traced, is_confined},
    {"nobody_outside_can_be_signalled", nobody_outside_can_be_signalled, is_confined},
    {"the_memory_of_others_cannot_be_read", the_memory_of_others_cannot_be_read, is_confined},
    {"a_denied_network_is_denied", a_denied_network_is_denied, can_deny_the_network},
};

}  // namespace

std::span<const Behaviour> isolation_behaviours() { return kBehaviours; }

}  // namespace atl::conformance
