#include "native/box_facts.h"

#include <gtest/gtest.h>

#include "native/launcher_protocol.h"
#include "native/processors.h"

namespace atl::native {
namespace {

TEST(BoxFacts, SurviveTheirEncoding) {
  BoxFacts facts;
  facts.boxed = true;
  facts.rootless = true;
  facts.has_id_lock = true;
  facts.allow_ptrace = true;
  facts.without.add(Layer::seccomp);
  facts.cgroup_version = CgroupVersion::v2;
  facts.work_roles = {kRoleMemory | kRolePids};
  facts.copies = {"/workspace"};
  facts.rlimits = {{7, 4096}};
  facts.root_capabilities = 5;
  facts.memory_bytes = 1 << 30;
  facts.processors = 3;

  const auto back = decode_box_facts(encode(facts));

  ASSERT_TRUE(back);
  EXPECT_TRUE(back->boxed && back->rootless && back->has_id_lock && back->allow_ptrace &&
              !back->has_own_root);
  EXPECT_TRUE(back->without.has(Layer::seccomp));
  EXPECT_EQ(back->cgroup_version, CgroupVersion::v2);
  EXPECT_EQ(back->work_roles, facts.work_roles);
  EXPECT_EQ(back->copies, facts.copies);
  ASSERT_EQ(back->rlimits.size(), 1u);
  EXPECT_EQ(back->rlimits[0].value, 4096u);
  EXPECT_EQ(back->processors, 3u);
}

TEST(BoxFacts, AreRefusedWhenCutShort) {
  const std::string whole = encode(facts_of(Plan()));

  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(decode_box_facts(whole.substr(0, length))) << length;
  }
  EXPECT_FALSE(decode_box_facts(whole + "x"));
}

TEST(LaunchRequest, CarriesABox) {
  LaunchRequest request;
  request.id = "sbx00000000000000000001";
  request.driver = "native";
  request.box.emplace();
  request.box->memory_bytes = 1 << 28;
  request.box->cpu_millis = 500;
  request.box->has_workspace = true;
  request.box->home = "/home/agent";
  request.box->directories = {{"/workspace", ShownAs::cow}, {"/data", ShownAs::ro}};

  const auto back = decode_launch(encode(request));

  ASSERT_TRUE(back && back->box);
  EXPECT_EQ(back->box->memory_bytes, 1u << 28);
  EXPECT_EQ(back->box->cpu_millis, 500u);
  ASSERT_EQ(back->box->directories.size(), 2u);
  EXPECT_EQ(back->box->directories[0].shown, ShownAs::cow);
  EXPECT_EQ(back->box->directories[1].guest_path, "/data");
}

TEST(LaunchRequest, RefusesTooManyDirectories) {
  LaunchRequest request;
  request.box.emplace();
  request.box->directories.resize(64);

  EXPECT_FALSE(decode_launch(encode(request)));
}

TEST(Processors, AreReadAsTheKernelWritesThem) {
  EXPECT_EQ(to_text(*parse_processors("0-2,5")), "0,1,2,5");
  EXPECT_EQ(to_text(*parse_processors("")), "");
  for (const char* text : {"x", "3-1", "-1", "1-", "99999999999", "0-9999999"}) {
    EXPECT_FALSE(parse_processors(text)) << text;
  }
}

}  // namespace
}  // namespace atl::native
