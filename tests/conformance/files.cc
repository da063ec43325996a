// The file calls: what is written is read, whole or not at all.
#include <gmock/gmock.h>

#include "tests/conformance/behaviour.h"
#include "tests/conformance/box.h"
#include "tests/conformance/pattern.h"

namespace atl::conformance {
namespace {

using test::DriverWorld;
using testing::ElementsAre;
using testing::IsEmpty;
using namespace std::chrono_literals;

std::vector<std::string> names_in(Box& box, std::string path, Where where = Where::current()) {
  std::vector<std::string> names;
  for (auto& entry : must(box.world().run(box.guest().list(std::move(path), 5000)), where)) {
    names.push_back(std::move(entry.name));
  }
  return names;
}

void what_is_written_is_read(DriverWorld& world) {
  Box box(world);
  const std::string bytes("\0\xff text\n", 8);

  auto info = must(box.try_write("file", bytes));

  EXPECT_EQ(info.size, bytes.size());
  EXPECT_EQ(info.name, "file");
  EXPECT_EQ(info.kind, FileKind::file);
  EXPECT_EQ(box.read("file"), bytes);
  EXPECT_EQ(box.read("/workspace/file"), bytes);
}

void an_empty_file_is_a_file(DriverWorld& world) {
  Box box(world);

  box.write("empty", "");

  EXPECT_EQ(box.read("empty"), "");
  EXPECT_EQ(must(world.run(box.guest().stat("empty"))).size, 0U);
}

void sixty_four_megabytes_come_back(DriverWorld& world) {
  Box box(world);
  std::string bytes(64 << 20, '\0');
  fill_pattern(bytes.data(), 0, bytes.size());

  box.write("large", bytes);

  EXPECT_TRUE(box.read("large") == bytes);
}

void any_range_can_be_read(DriverWorld& world) {
  Box box(world);
  std::string bytes(700'000, '\0');
  fill_pattern(bytes.data(), 0, bytes.size());
  box.write("file", bytes);
  auto reader = must(world.run(box.guest().open_read("file")));

  EXPECT_EQ(reader->size(), bytes.size());
  EXPECT_EQ(must(world.run(reader->read(0, 10))), bytes.substr(0, 10));
  EXPECT_EQ(must(world.run(reader->read(500'001, 1000))), bytes.substr(500'001, 1000));
  EXPECT_EQ(must(world.run(reader->read(699'999, 10))), bytes.substr(699'999));
  EXPECT_EQ(must(world.run(reader->read(700'000, 10))), "");
  EXPECT_EQ(must(world.run(reader->read(1ULL << 40, 10))), "");
}

void files_of_commands_and_of_the_api_are_the_same(DriverWorld& world) {
  Box box(world);

  box.write("from_api", "written by the API");
  box.sh("printf 'written by a command' > from_command; mkdir sub; echo x > sub/x");

  EXPECT_EQ(box.sh("cat from_api").out, "written by the API");
  EXPECT_EQ(box.read("from_command"), "written by a command");
  EXPECT_EQ(box.read("sub/x"), "x\n");
}

void a_write_sets_the_mode(DriverWorld& world) {
  Box box(world);

  box.write("script", "#!/bin/sh\necho ran\n", 0750);
  box.write("secret", "x", 0600);

  EXPECT_EQ(must(world.run(box.guest().stat("script"))).mode, 0750U);
  EXPECT_EQ(must(world.run(box.guest().stat("secret"))).mode, 0600U);
  EXPECT_EQ(box.exec({"./script"}).out, "ran\n");
}

void nothing_is_visible_before_commit(DriverWorld& world) {
  Box box(world);
  box.write("file", "old");
  auto writer = must(world.run(box.guest().open_write("file", 0644, Parents::must_exist)));
  must(world.run(writer->write("new")));

  EXPECT_EQ(box.read("file"), "old");
  must(world.run(writer->commit()));
  EXPECT_EQ(box.read("file"), "new");
}

void a_replaced_file_stays_whole_for_who_reads_it(DriverWorld& world) {
  Box box(world);
  box.write("file", "the old contents");
  auto reader = must(world.run(box.guest().open_read("file")));
  must(world.run(reader->read(0, 4)));

  box.write("file", "new");

  EXPECT_EQ(must(world.run(reader->read(4, 100))), "old contents");
  EXPECT_EQ(box.read("file"), "new");
}

void an_abandoned_upload_leaves_nothing(DriverWorld& world) {
  Box box(world);
  auto writer = must(world.run(box.guest().open_write("file", 0644, Parents::must_exist)));
  must(world.run(writer->write(std::string(100'000, 'x'))));

  writer.reset();

  EXPECT_TRUE(world.eventually([&] { return names_in(box, "").empty(); }));
}

void an_upload_whose_client_died_leaves_nothing(DriverWorld& world) {
  Box box(world);
  auto writer = must(world.run(box.guest().open_write("file", 0644, Parents::must_exist)));
  must(world.run(writer->write(std::string(100'000, 'x'))));

  writer.reset();
  box.reattach();

  EXPECT_TRUE(world.eventually([&] { return names_in(box, "").empty(); }));
}

void parents_are_made_only_if_asked(DriverWorld& world) {
  Box box(world);

  EXPECT_CODE(Code::not_found, box.try_write("a/b/file", "x"));
  EXPECT_CODE(Code::not_found, world.run(box.guest().mkdir("a/b", Parents::must_exist)));
  EXPECT_THAT(names_in(box, ""), IsEmpty());

  must(box.try_write("a/b/file", "x", 0644, Parents::create));
  must(world.run(box.guest().mkdir("c/d/e", Parents::create)));
  EXPECT_EQ(box.read("a/b/file"), "x");
  EXPECT_THAT(names_in(box, "c"), ElementsAre("d"));
}

void stat_tells_what_a_file_is(DriverWorld& world) {
  Box box(world);
  box.sh("printf 12345 > file; chmod 640 file; mkdir directory; ln -s file link; mkfifo fifo");
  const auto stat = [&](const char* path) { return must(world.run(box.guest().stat(path))); };

  const auto file = stat("file");
  EXPECT_EQ(file.kind, FileKind::file);
  EXPECT_EQ(file.size, 5U);
  EXPECT_EQ(file.mode, 0640U);
  EXPECT_LT(std::chrono::abs(file.modified_at - system_clock().wall()), 60s);
  EXPECT_EQ(stat("directory").kind, FileKind::directory);
  EXPECT_EQ(stat("link").kind, FileKind::symlink);
  EXPECT_EQ(stat("link").link_target, "file");
  EXPECT_EQ(stat("fifo").kind, FileKind::other);
  EXPECT_EQ(stat("").kind, FileKind::directory);
}

void what_is_missing_is_not_found(DriverWorld& world) {
  Box box(world);
  auto& guest = box.guest();

  EXPECT_CODE(Code::not_found, world.run(guest.stat("no")));
  EXPECT_CODE(Code::not_found, world.run(guest.list("no", 10)));
  EXPECT_CODE(Code::not_found, box.try_read("no"));
  EXPECT_CODE(Code::not_found, world.run(guest.move("no", "yes")));
  EXPECT_CODE(Code::not_found, world.run(guest.remove("no", Recursive::no)));
  EXPECT_CODE(Code::not_found, world.run(guest.remove("no", Recursive::yes)));
}

void a_list_is_sorted_and_complete(DriverWorld& world) {
  Box box(world);
  box.sh("mkdir many; cd many; i=1000; while [ $i -lt 3000 ]; do : > f$i; i=$((i+1)); done");

  const auto names = names_in(box, "many");

  ASSERT_EQ(names.size(), 2000U);
  EXPECT_EQ(names.front(), "f1000");
  EXPECT_EQ(names.back(), "f2999");
  EXPECT_TRUE(std::ranges::is_sorted(names));
}

void a_list_over_its_bound_is_too_large(DriverWorld& world) {
  Box box(world);
  box.sh(": > a; : > b; : > c");

  EXPECT_CODE(Code::too_large, world.run(box.guest().list("", 2)));
  EXPECT_EQ(must(world.run(box.guest().list("", 3))).size(), 3U);
}

void a_list_shows_what_each_entry_is(DriverWorld& world) {
  Box box(world);
  box.sh("mkdir sub; printf 123 > sub/file; ln -s /etc/passwd sub/link; : > sub/.hidden");

  const auto entries = must(world.run(box.guest().list("sub", 10)));

  ASSERT_EQ(entries.size(), 3U);
  EXPECT_EQ(entries[0].name, ".hidden");
  EXPECT_EQ(entries[1].path, "sub/file");
  EXPECT_EQ(entries[1].size, 3U);
  EXPECT_EQ(entries[2].kind, FileKind::symlink);
  EXPECT_EQ(entries[2].link_target, "/etc/passwd");
}

void mkdir_of_what_exists_is_refused(DriverWorld& world) {
  Box box(world);
  must(world.run(box.guest().mkdir("a", Parents::must_exist)));
  box.write("file", "x");

  EXPECT_CODE(Code::already_exists, world.run(box.guest().mkdir("a", Parents::must_exist)));
  EXPECT_EQ(outcome(world.run(box.guest().mkdir("a", Parents::create))), "done");
  EXPECT_CODE(Code::already_exists, world.run(box.guest().mkdir("file", Parents::create)));
}

void move_renames_and_replaces(DriverWorld& world) {
  Box box(world);
  box.write("from", "moved");
  box.write("old", "replaced");
  must(world.run(box.guest().mkdir("directory", Parents::must_exist)));

  must(world.run(box.guest().move("from", "directory/to")));
  must(world.run(box.guest().move("directory/to", "old")));
  must(world.run(box.guest().move("directory", "renamed")));

  EXPECT_EQ(box.read("old"), "moved");
  EXPECT_THAT(names_in(box, ""), ElementsAre("old", "renamed"));
}

void remove_takes_a_tree_only_if_asked(DriverWorld& world) {
  Box box(world);
  box.sh("mkdir -p tree/deep empty; echo x > tree/deep/file; echo x > file; chmod 500 tree/deep");

  must(world.run(box.guest().remove("file", Recursive::no)));
  must(world.run(box.guest().remove("empty", Recursive::no)));
  EXPECT_CODE(Code::conflict, world.run(box.guest().remove("tree", Recursive::no)));
  EXPECT_TRUE(box.exists("tree/deep/file"));
  box.sh("chmod 700 tree/deep");
  must(world.run(box.guest().remove("tree", Recursive::yes)));

  EXPECT_THAT(names_in(box, ""), IsEmpty());
}

void the_workspace_itself_cannot_be_removed(DriverWorld& world) {
  Box box(world);
  box.write("file", "x");

  for (const char* path : {"", ".", "/workspace", "./"}) {
    EXPECT_FALSE(world.run(box.guest().remove(path, Recursive::yes)).has_value()) << path;
  }
  EXPECT_EQ(box.read("file"), "x");
}

void only_regular_files_are_read(DriverWorld& world) {
  Box box(world);
  box.sh("mkfifo fifo; mkdir directory; ln -s fifo link");

  EXPECT_CODE(Code::invalid_argument, box.try_read("fifo"));
  EXPECT_CODE(Code::invalid_argument, box.try_read("link"));
  EXPECT_CODE(Code::invalid_argument, box.try_read("directory"));
  EXPECT_CODE(Code::invalid_argument, box.try_write("directory", "x"));
}

void a_write_replaces_what_is_no_file(DriverWorld& world) {
  Box box(world);
  box.sh("mkfifo fifo; echo target > target; ln -s target link");

  box.write("fifo", "now a file");
  box.write("link", "now a file too");

  EXPECT_EQ(box.read("fifo"), "now a file");
  EXPECT_EQ(must(world.run(box.guest().stat("link"))).kind, FileKind::file);
  EXPECT_EQ(box.read("target"), "target\n");
}

void many_open_files_end_in_an_error_not_in_harm(DriverWorld& world) {
  Box box(world);
  box.write("file", "x");
  std::vector<std::unique_ptr<FileReader>> readers;
  Result<std::unique_ptr<FileReader>> last = std::unique_ptr<FileReader>();
  while (readers.size() < 5000 && (last = world.run(box.guest().open_read("file")))) {
    readers.push_back(std::move(*last));
  }

  if (!last) EXPECT_EQ(last.error().code(), Code::resource_exhausted);
  readers.clear();
  EXPECT_TRUE(world.eventually([&] { return box.try_read("file").has_value(); }));
}

constexpr Behaviour kBehaviours[] = {
    {"what_is_written_is_read", what_is_written_is_read},
    {"an_empty_file_is_a_file", an_empty_file_is_a_file},
    {"sixty_four_megabytes_come_back", sixty_four_megabytes_come_back},
    {"any_range_can_be_read", any_range_can_be_read},
    {"files_of_commands_and_of_the_api_are_the_same",
     files_of_commands_and_of_the_api_are_the_same},
    {"a_write_sets_the_mode", a_write_sets_the_mode},
    {"nothing_is_visible_before_commit", nothing_is_visible_before_commit},
    {"a_replaced_file_stays_whole_for_who_reads_it", a_replaced_file_stays_whole_for_who_reads_it},
    {"an_abandoned_upload_leaves_nothing", an_abandoned_upload_leaves_nothing},
    {"an_upload_whose_client_died_leaves_nothing", an_upload_whose_client_died_leaves_nothing},
    {"parents_are_made_only_if_asked", parents_are_made_only_if_asked},
    {"stat_tells_what_a_file_is", stat_tells_what_a_file_is},
    {"what_is_missing_is_not_found", what_is_missing_is_not_found},
    {"a_list_is_sorted_and_complete", a_list_is_sorted_and_complete},
    {"a_list_over_its_bound_is_too_large", a_list_over_its_bound_is_too_large},
    {"a_list_shows_what_each_entry_is", a_list_shows_what_each_entry_is},
    {"mkdir_of_what_exists_is_refused", mkdir_of_what_exists_is_refused},
    {"move_renames_and_replaces", move_renames_and_replaces},
    {"remove_takes_a_tree_only_if_asked", remove_takes_a_tree_only_if_asked},
    {"the_workspace_itself_cannot_be_removed", the_workspace_itself_cannot_be_removed},
    {"only_regular_files_are_read", only_regular_files_are_read},
    {"a_write_replaces_what_is_no_file", a_write_replaces_what_is_no_file},
    {"many_open_files_end_in_an_error_not_in_harm", many_open_files_end_in_an_error_not_in_harm},
};

}  // namespace

std::span<const Behaviour> file_behaviours() { return kBehaviours; }

}  // namespace atl::conformance
