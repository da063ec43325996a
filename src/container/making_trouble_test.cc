#include "container/making_trouble.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "base/ids.h"
#include "base/run_task.h"
#include "container/engine_driver.h"
#include "container/scripted_engine_internal.h"
#include "os/file.h"

namespace atl::container {
namespace {

using testing::HasSubstr;

Error told(Code code, const std::string& words) {
  return told_while_making(Error(code, "docker: " + words), {});
}

TEST(MakingTrouble, ABrokenEngineIsUnavailable) {
  for (const char* words :
       {"status 500",
        "OCI runtime create failed: runc did not terminate successfully: exit status 2",
        "failed to create shim task: context deadline exceeded: unknown",
        "mount /var/lib/docker/overlay2/x/merged: invalid argument",
        "error creating overlay mount: input/output error",
        "OCI runtime error: crun: opening `memory.max`: No such file or directory",
        "writing file `/sys/fs/cgroup/x/cpu.max`: Permission denied"}) {
    const Error error = told(Code::internal, words);
    EXPECT_EQ(error.code(), Code::unavailable) << words;
    EXPECT_THAT(error.message(), HasSubstr(words));
    EXPECT_THAT(error.hint(), HasSubstr("makes no containers"));
  }
}

TEST(MakingTrouble, WhatHelpsIsSaidWhereItIsKnown) {
  const auto hint = [](const char* words) { return told(Code::internal, words).hint(); };

  EXPECT_THAT(
      hint("crun: setrlimit `RLIMIT_NOFILE`: Operation not permitted: OCI permission denied"),
      HasSubstr("default_ulimits"));
  EXPECT_THAT(hint("unknown mount option \"nr_inodes=262144\": invalid mount option"),
              HasSubstr("driver podman"));
}

// Its containers' first program is our agent, so no command was wrong.
TEST(MakingTrouble, ARuntimeThatIsNotThereIsNoWrongRequest) {
  EXPECT_EQ(told(Code::invalid_argument,
                 "failed to start shim: exec: \"containerd-shim-runc-v2\": executable file not "
                 "found in $PATH: unknown")
                .code(),
            Code::unavailable);
  EXPECT_EQ(told(Code::invalid_argument,
                 "failed to create shim task: OCI runtime create failed: unable to retrieve OCI "
                 "runtime error: fork/exec /usr/bin/runc: no such file or directory: unknown")
                .code(),
            Code::unavailable);
}

TEST(MakingTrouble, WhatTheRequestHasBroughtAboutStaysAsItIs) {
  for (const char* words :
       {"container init was OOM-killed (memory limit too low?)",
        "Container size cannot be smaller than base fs size",
        "writing file `/sys/fs/cgroup/x/cpu.max`: Invalid argument",
        "failed to write 4194304 to memory.limit_in_bytes: device or resource busy",
        "mounting \"/x\" to rootfs at \"/workspace\": not a directory",
        "exec /opt/atoll/agent: exec format error",
        "unable to find user nobody: no matching entries in passwd file"}) {
    EXPECT_EQ(told(Code::internal, words).code(), Code::internal) << words;
  }
  for (const Code code : {Code::not_found, Code::already_exists, Code::conflict, Code::out_of_space,
                          Code::unsupported, Code::invalid_argument, Code::deadline_exceeded}) {
    EXPECT_EQ(told(code, "something of the request's").code(), code);
  }
}

// Whoever names a broken one would otherwise have the driver left alone for all.
TEST(MakingTrouble, ARuntimeThatTheRequestNamesIsNotTheEngines) {
  ContainerSpec made;
  made.runtime = "kata";

  EXPECT_EQ(told_while_making(Error(Code::internal, "docker: status 500"), made).code(),
            Code::internal);
}

// A driver over an engine that answers until the script is over.
class SickEngineTest : public testing::Test {
 protected:
  SickEngineTest() { EXPECT_NE(mkdtemp(place_.data()), nullptr); }
  ~SickEngineTest() override { EXPECT_TRUE(os::remove_tree(AT_FDCWD, place_).has_value()); }

  // What is told of a create, once the image and the runtime have been looked at.
  Error create(ScriptedEngine& engine) {
    const auto driver = make_engine_driver(loop_.get_executor(), kDocker,
                                           {.host = "unix://" + engine.path(),
                                            .image = "tiny:1",
                                            .directory = place_ + "/sandboxes",
                                            .agent = "/bin/true"});
    SandboxSpec spec;
    spec.id = make_sandbox_id();
    auto made = run_task(loop_, driver->create(std::move(spec)));
    EXPECT_FALSE(made.has_value());
    return made ? Error(Code::internal, "it was made") : std::move(made).error();
  }
  static std::vector<std::string> script(std::vector<std::string> rest) {
    std::vector<std::string> answers{ping("1.41"), answer(200, R"({"Id":"sha256:1"})"),
                                     answer(200, R"({"DefaultRuntime":"runc"})")};
    for (auto& one : rest) answers.push_back(std::move(one));
    // Nothing is left of it.
    answers.push_back(answer(404, R"({"message":"No such container"})"));
    return answers;
  }

  asio::io_context loop_;
  std::string place_ = "/tmp/atoll-sick-XXXXXX";
};

TEST_F(SickEngineTest, ItsFailureToStartIsItsOwn) {
  ScriptedEngine engine(
      script({answer(201, "{}"),
              answer(500, R"({"message":"OCI runtime create failed: runc: exit status 1"})")}));

  const Error why = create(engine);

  EXPECT_EQ(why.code(), Code::unavailable);
  EXPECT_EQ(why.message(),
            "starting the container: docker: OCI runtime create failed: runc: exit status 1");
  EXPECT_THAT(engine.asked(), testing::SizeIs(6));
}

TEST_F(SickEngineTest, ItsFailureToMakeIsItsOwn) {
  ScriptedEngine engine(script({answer(500, R"({"message":"input/output error"})")}));

  const Error why = create(engine);

  EXPECT_EQ(why.code(), Code::unavailable);
  EXPECT_EQ(why.message(), "making the container: docker: input/output error");
}

TEST_F(SickEngineTest, AWrongRequestStaysOne) {
  ScriptedEngine engine(script({answer(400, R"({"message":"invalid mount config"})")}));

  EXPECT_EQ(create(engine).code(), Code::invalid_argument);
}

}  // namespace
}  // namespace atl::container
