// Paths that are strange, or that try to lead out of the sandbox.
#include <gmock/gmock.h>

#include <fstream>

#include "tests/conformance/behaviour.h"
#include "tests/conformance/box.h"

namespace atl::conformance {
namespace {

using test::DriverWorld;
using testing::ElementsAre;

// Every file call refuses the path with `code`.
void expect_refused(Box& box, const std::string& path, Code code, Where where = Where::current()) {
  SCOPED_TRACE(std::string(where.file_name()) + ":" + std::to_string(where.line()) + " path " +
               path.substr(0, 60));
  auto& world = box.world();
  auto& guest = box.guest();
  EXPECT_CODE(code, world.run(guest.stat(path)));
  EXPECT_CODE(code, world.run(guest.list(path, 10)));
  EXPECT_CODE(code, box.try_read(path));
  EXPECT_CODE(code, box.try_write(path, "x"));
  EXPECT_CODE(code, world.run(guest.mkdir(path, Parents::must_exist)));
  EXPECT_CODE(code, world.run(guest.remove(path, Recursive::yes)));
  EXPECT_CODE(code, world.run(guest.move(path, "here")));
  EXPECT_CODE(code, world.run(guest.move("mine", path)));
}

void dot_dot_leads_nowhere(DriverWorld& world) {
  Box box(world);
  box.sh("mkdir sub; echo mine > mine");

  for (const char* path :
       {"../x", "sub/../../x", "/workspace/../x", "sub/../../../../../../etc/passwd"}) {
    expect_refused(box, path, Code::permission_denied);
  }
  EXPECT_EQ(box.read("sub/../mine"), "mine\n");
  EXPECT_EQ(box.read("mine"), "mine\n");
}

void an_absolute_path_outside_is_refused(DriverWorld& world) {
  Box box(world);
  box.write("mine", "x");

  for (const char* path :
       {"/etc/passwd", "/workspacex/file", "/proc/self/environ", "//etc/passwd"}) {
    expect_refused(box, path, Code::permission_denied);
  }
}

// A directory of the host with one file in it, and links to it in the sandbox.
struct Outside {
  explicit Outside(Box& box) {
    std::ofstream(directory / "secret") << "of the host";
    const std::string up = "../../../../../../../../../..";
    box.write("mine", "x");
    box.sh("ln -s " + directory.path() + " absolute; ln -s " + up + directory.path() +
           " relative; mkdir sub; ln -s ../" + up + directory.path() + " sub/deep; ln -s " +
           directory.path() + "/secret file");
  }

  bool is_untouched() const {
    std::ifstream file(directory / "secret");
    std::string text;
    std::getline(file, text);
    return text == "of the host" && !std::ifstream(directory / "new").good();
  }

  test::TempDirectory directory;
};

void a_link_in_the_middle_cannot_lead_out(DriverWorld& world) {
  Box box(world);
  Outside outside(box);

  for (const char* link : {"absolute", "relative", "sub/deep"}) {
    for (const char* name : {"/secret", "/new"})
      expect_refused(box, std::string(link) + name, Code::permission_denied);
  }
  EXPECT_TRUE(outside.is_untouched());
}

void a_link_at_the_end_cannot_lead_out(DriverWorld& world) {
  Box box(world);
  Outside outside(box);

  EXPECT_CODE(Code::permission_denied, box.try_read("file"));
  EXPECT_CODE(Code::permission_denied, world.run(box.guest().list("absolute", 10)));
  EXPECT_CODE(Code::permission_denied, world.run(box.guest().list("relative", 10)));
  // Writing replaces the link itself, and removing takes only the link.
  box.write("file", "mine now");
  must(world.run(box.guest().remove("absolute", Recursive::yes)));
  must(world.run(box.guest().remove("sub", Recursive::yes)));

  EXPECT_EQ(box.read("file"), "mine now");
  EXPECT_TRUE(outside.is_untouched());
}

void a_link_that_stays_inside_is_followed(DriverWorld& world) {
  Box box(world);
  box.sh(
      "mkdir -p a/b; echo deep > a/b/file; ln -s a/b near; ln -s ../a/b a/again; ln -s near/file "
      "both");

  EXPECT_EQ(box.read("near/file"), "deep\n");
  EXPECT_EQ(box.read("a/again/file"), "deep\n");
  EXPECT_EQ(box.read("both"), "deep\n");
  box.write("near/new", "x");
  EXPECT_EQ(box.read("a/b/new"), "x");
}

void links_in_a_circle_are_an_error(DriverWorld& world) {
  Box box(world);
  box.sh("ln -s b a; ln -s a b; ln -s . self");

  EXPECT_CODE(Code::invalid_argument, box.try_read("a"));
  EXPECT_CODE(Code::invalid_argument, box.try_read("a/x"));
}

void a_name_of_five_thousand_bytes_is_an_error(DriverWorld& world) {
  Box box(world);
  box.write("mine", "x");

  expect_refused(box, std::string(5000, 'n'), Code::invalid_argument);
  expect_refused(box, std::string(300, 'n'), Code::invalid_argument);
  EXPECT_EQ(box.read("mine"), "x");
}

void a_nul_byte_in_a_path_is_an_error(DriverWorld& world) {
  Box box(world);
  box.write("mine", "x");

  expect_refused(box, std::string("mine\0.txt", 9), Code::invalid_argument);
  EXPECT_EQ(box.read("mine"), "x");
}

void strange_names_are_carried(DriverWorld& world) {
  Box box(world);
  const std::vector<std::string> names{" ",         "-rf",     "line\nbreak",
                                       "\"quotes'", "ünïcode", "\xff\xfe not UTF-8"};
  for (const auto& name : names) box.write(name, name);

  std::vector<std::string> listed;
  for (const auto& entry : must(world.run(box.guest().list("", 100)))) listed.push_back(entry.name);

  EXPECT_THAT(listed, testing::UnorderedElementsAreArray(names));
  for (const auto& name : names) {
    EXPECT_EQ(box.read(name), name);
    EXPECT_EQ(box.exec({"cat", "--", name}).out, name);
  }
}

void a_file_is_no_directory(DriverWorld& world) {
  Box box(world);
  box.write("file", "x");

  EXPECT_CODE(Code::invalid_argument, box.try_read("file/below"));
  EXPECT_CODE(Code::invalid_argument, box.try_write("file/below", "x", 0644, Parents::create));
  EXPECT_CODE(Code::invalid_argument, world.run(box.guest().list("file", 10)));
}

bool shares_the_root(const Subject& subject) { return !subject.can.own_root; }

constexpr Behaviour kBehaviours[] = {
    {"dot_dot_leads_nowhere", dot_dot_leads_nowhere, shares_the_root},
    {"an_absolute_path_outside_is_refused", an_absolute_path_outside_is_refused, shares_the_root},
    {"a_link_in_the_middle_cannot_lead_out", a_link_in_the_middle_cannot_lead_out, shares_the_root},
    {"a_link_at_the_end_cannot_lead_out", a_link_at_the_end_cannot_lead_out, shares_the_root},
    {"a_link_that_stays_inside_is_followed", a_link_that_stays_inside_is_followed},
    {"links_in_a_circle_are_an_error", links_in_a_circle_are_an_error},
    {"a_name_of_five_thousand_bytes_is_an_error", a_name_of_five_thousand_bytes_is_an_error},
    {"a_nul_byte_in_a_path_is_an_error", a_nul_byte_in_a_path_is_an_error},
    {"strange_names_are_carried", strange_names_are_carried},
    {"a_file_is_no_directory", a_file_is_no_directory},
};

}  // namespace

std::span<const Behaviour> path_behaviours() { return kBehaviours; }

}  // namespace atl::conformance
