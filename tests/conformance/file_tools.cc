// The file tools: what is found, told, packed and unpacked is what is there, and no link leads out.
#include <gmock/gmock.h>

#include "base/tar.h"
#include "tests/conformance/behaviour.h"
#include "tests/conformance/box.h"

namespace atl::conformance {
namespace {

using test::DriverWorld;
using testing::ElementsAre;

// Everything that a tool tells until its end.
std::vector<ToolEvent> run_tool(Box& box, ToolRequest request, Where where = Where::current()) {
  auto tool = must(box.world().run(box.guest().start_tool(std::move(request))), where);
  std::vector<ToolEvent> events;
  do {
    events.push_back(must(box.world().run(tool->next()), where));
  } while (!std::holds_alternative<ToolEnd>(events.back()));
  return events;
}

std::vector<std::string> found_in(Box& box, FindRequest request, Where where = Where::current()) {
  std::vector<std::string> paths;
  for (const auto& event : run_tool(box, std::move(request), where)) {
    if (const auto* info = std::get_if<FileInfo>(&event)) paths.push_back(info->path);
  }
  return paths;
}

std::string file_entry(const std::string& path, const std::string& bytes) {
  return tar_header({.path = path, .size = bytes.size(), .mode = 0644}) + bytes +
         tar_padding(bytes.size());
}

Result<ToolEvent> unpack(Box& box, std::string archive, Where where = Where::current()) {
  auto tool =
      must(box.world().run(box.guest().start_tool(UnpackRequest{".", std::nullopt})), where);
  static_cast<void>(box.world().run(tool->write(std::move(archive))));
  static_cast<void>(box.world().run(tool->finish()));
  return box.world().run(tool->next());
}

void files_are_found_by_name_and_kind(DriverWorld& world) {
  Box box(world);
  box.sh("mkdir -p a/b");
  box.write("a/one.txt", "1");
  box.write("a/b/two.txt", "22");
  box.write("a/b/three.md", "333");

  EXPECT_THAT(found_in(box, {.path = "a", .name = "*.txt"}),
              ElementsAre("a/b/two.txt", "a/one.txt"));
  EXPECT_THAT(found_in(box, {.path = "a", .kind = FileKind::directory}), ElementsAre("a/b"));
  EXPECT_THAT(found_in(box, {.path = "a", .depth = 1}), ElementsAre("a/b", "a/one.txt"));
}

void lines_are_found_by_pattern(DriverWorld& world) {
  Box box(world);
  box.write("log", "first\nsecond 2\nthird\n");

  const auto events = run_tool(box, GrepRequest{.path = "log", .pattern = "[a-z]+ [0-9]$"});

  ASSERT_EQ(events.size(), 2U);
  const auto& match = std::get<LineMatch>(events[0]);
  EXPECT_EQ(match.path, "log");
  EXPECT_EQ(match.line, 2U);
  EXPECT_EQ(match.text, "second 2");
}

void a_search_ends_at_its_limit_and_says_so(DriverWorld& world) {
  Box box(world);
  for (const char* name : {"a", "b", "c"}) box.write(name, "x\n");

  const auto found = run_tool(box, FindRequest{.path = ".", .limit = 2});
  const auto matches = run_tool(box, GrepRequest{.path = ".", .pattern = "x", .limit = 2});

  EXPECT_EQ(found.size(), 3U);
  EXPECT_TRUE(std::get<ToolEnd>(found.back()).more);
  EXPECT_EQ(matches.size(), 3U);
  EXPECT_TRUE(std::get<ToolEnd>(matches.back()).more);
}

void a_pattern_that_is_none_is_refused(DriverWorld& world) {
  Box box(world);
  auto tool = must(world.run(box.guest().start_tool(GrepRequest{.path = ".", .pattern = "("})));

  EXPECT_CODE(Code::invalid_argument, world.run(tool->next()));
}

void a_tool_where_nothing_is_is_not_found(DriverWorld& world) {
  Box box(world);

  EXPECT_CODE(Code::not_found, world.run(box.guest().start_tool(FindRequest{.path = "missing"})));
}

void an_archive_goes_in_and_comes_out(DriverWorld& world) {
  Box box(world);
  const std::string large(300'000, 'x');

  const auto end = must(unpack(box, file_entry("t/deep/file", large) + tar_end()));
  EXPECT_EQ(std::get<ToolEnd>(end).bytes, large.size());
  EXPECT_TRUE(box.read("t/deep/file") == large);

  std::string archive;
  for (const auto& event : run_tool(box, PackRequest{.path = "t"})) {
    if (const auto* piece = std::get_if<ArchivePiece>(&event)) archive += piece->bytes;
  }
  EXPECT_NE(archive.find("deep/file"), std::string::npos);
  EXPECT_NE(archive.find(large), std::string::npos);
  EXPECT_EQ(archive.size() % 512, 0U);
}

void a_hostile_archive_is_refused(DriverWorld& world) {
  Box box(world);

  EXPECT_CODE(Code::invalid_argument, unpack(box, file_entry("../evil", "x") + tar_end()));
  EXPECT_CODE(Code::invalid_argument, unpack(box, file_entry("/evil", "x") + tar_end()));
  EXPECT_CODE(Code::invalid_argument, unpack(box, file_entry("cut", "x")));
  EXPECT_CODE(Code::invalid_argument,
              unpack(box, tar_header({.path = "l", .kind = TarKind::symlink, .link_target = "/"}) +
                              tar_end()));
}

void no_tool_goes_through_a_link(DriverWorld& world) {
  Box box(world);
  box.sh("mkdir real && ln -s real link && ln -s /etc outside");
  box.write("real/file", "needle\n");

  EXPECT_THAT(found_in(box, {.path = ".", .kind = FileKind::file}), ElementsAre("real/file"));
  EXPECT_CODE(Code::permission_denied, unpack(box, file_entry("link/x", "x") + tar_end()));
  EXPECT_CODE(Code::not_found, box.try_read("real/x"));
}

void changes_are_told(DriverWorld& world) {
  Box box(world);
  box.sh("mkdir -p d/sub && echo > d/sub/before");
  auto tool = must(world.run(box.guest().start_tool(WatchRequest{"d", true})));
  EXPECT_TRUE(std::holds_alternative<ToolReady>(must(world.run(tool->next()))));

  box.sh("mkdir d/new && mv d/sub/before d/new/after");

  // One that comes so soon after its directory may be told as made instead of moved.
  std::vector<std::string> told;
  while (told.empty() || told.back() != "d/new/after") {
    auto event = std::get<FileEvent>(must(world.run(tool->next())));
    const bool is_new =
        event.event == FileEventKind::created || event.event == FileEventKind::moved;
    if (is_new) told.push_back(std::move(event.path));
  }
  EXPECT_THAT(told, ElementsAre("d/new", "d/new/after"));
}

void watching_says_that_it_cannot(DriverWorld& world) {
  Box box(world);
  auto tool = must(world.run(box.guest().start_tool(WatchRequest{".", false})));

  EXPECT_CODE(Code::unsupported, world.run(tool->next()));
}

void an_upload_goes_on_where_it_was_left(DriverWorld& world) {
  Box box(world);
  const ResumableWrite first{.path = "d/big", .upload = "up1"};
  auto writer = must(world.run(box.guest().resume_write(first)));
  must(world.run(writer->write("0123456789")));
  writer.reset();
  box.reattach();

  EXPECT_EQ(must(world.run(box.guest().uploaded("d/big", "up1"))), 10U);
  EXPECT_CODE(Code::not_found, box.try_read("d/big"));
  ResumableWrite beyond = first;
  beyond.offset = 11;
  EXPECT_CODE(Code::conflict, world.run(box.guest().resume_write(beyond)));
  ResumableWrite second = first;
  second.offset = 5;
  writer = must(world.run(box.guest().resume_write(second)));
  must(world.run(writer->write("abc")));
  must(world.run(writer->commit()));

  EXPECT_EQ(box.read("d/big"), "01234abc");
  EXPECT_EQ(must(world.run(box.guest().uploaded("d/big", "up1"))), 0U);
}

void another_version_has_another_number(DriverWorld& world) {
  Box box(world);
  const auto before = must(box.try_write("file", "one"));
  const auto same = must(world.run(box.guest().stat("file")));
  box.sh("printf two > file");
  const auto after = must(world.run(box.guest().stat("file")));

  EXPECT_NE(before.version, 0U);
  EXPECT_EQ(before.version, same.version);
  EXPECT_NE(before.version, after.version);
}

bool can_watch(const Subject& subject) { return subject.can.watch; }

constexpr Behaviour kBehaviours[] = {
    {"files_are_found_by_name_and_kind", files_are_found_by_name_and_kind},
    {"lines_are_found_by_pattern", lines_are_found_by_pattern},
    {"a_search_ends_at_its_limit_and_says_so", a_search_ends_at_its_limit_and_says_so},
    {"a_pattern_that_is_none_is_refused", a_pattern_that_is_none_is_refused},
    {"a_tool_where_nothing_is_is_not_found", a_tool_where_nothing_is_is_not_found},
    {"an_archive_goes_in_and_comes_out", an_archive_goes_in_and_comes_out},
    {"a_hostile_archive_is_refused", a_hostile_archive_is_refused},
    {"no_tool_goes_through_a_link", no_tool_goes_through_a_link},
    {"changes_are_told", changes_are_told, can_watch, watching_says_that_it_cannot},
    {"an_upload_goes_on_where_it_was_left", an_upload_goes_on_where_it_was_left},
    {"another_version_has_another_number", another_version_has_another_number},
};

}  // namespace

std::span<const Behaviour> file_tool_behaviours() { return kBehaviours; }

}  // namespace atl::conformance
