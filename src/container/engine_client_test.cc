// What an engine may do wrong; what a real one does right is in tests/conformance.
#include "container/engine_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "base/run_task.h"
#include "container/engine_images.h"
#include "container/scripted_engine_internal.h"
#include "container/snapshot_images.h"

namespace atl::container {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(EngineClient, RefusesAnEngineThatIsTooOld) {
  asio::io_context loop;
  for (const char* version : {"1.40", "2.0", "", "1.x"}) {
    ScriptedEngine engine({ping(version)});
    EngineClient client(loop.get_executor(), kDocker, engine_at_socket(engine.path()));

    const auto greeted = run_task(loop, client.line().greet());

    ASSERT_FALSE(greeted.has_value()) << version;
    EXPECT_EQ(greeted.error().code(), Code::unsupported);
    EXPECT_THAT(greeted.error().hint(), HasSubstr("1.41"));
  }
}

TEST(EngineClient, SpeaksTheNewestVersionThatBothKnow) {
  asio::io_context loop;
  struct Case {
    std::vector<std::string> answers;
    std::vector<std::string> asked;
  };
  const std::string none = answer(200, "{}");
  for (const auto& one : {Case{{ping("1.41"), none}, {"GET /_ping", "GET /v1.41/info"}},
                          Case{{ping("1.43"), none}, {"GET /_ping", "GET /v1.43/info"}},
                          Case{{ping("1.51"), answer(200, R"({"MinAPIVersion":"1.44"})"), none},
                               {"GET /_ping", "GET /version", "GET /v1.44/info"}}}) {
    ScriptedEngine engine(one.answers);
    EngineClient client(loop.get_executor(), kDocker, engine_at_socket(engine.path()));

    const auto told = run_task(loop, client.facts());

    EXPECT_TRUE(told.has_value()) << told.error().message();
    EXPECT_EQ(engine.asked(), one.asked);
  }
}

TEST(EngineClient, RefusesAnEngineThatIsTooNew) {
  asio::io_context loop;
  ScriptedEngine engine({ping("1.60"), answer(200, R"({"MinAPIVersion":"1.46"})")});
  EngineClient client(loop.get_executor(), kDocker, engine_at_socket(engine.path()));

  const auto greeted = run_task(loop, client.line().greet());

  ASSERT_FALSE(greeted.has_value());
  EXPECT_EQ(greeted.error().code(), Code::unsupported);
  EXPECT_EQ(
      greeted.error().message(),
      "docker speaks versions 1.46 to 1.60 of the Engine API, and this Atoll none after 1.44");
  EXPECT_THAT(greeted.error().hint(), HasSubstr("DOCKER_MIN_API_VERSION=1.44"));
}

TEST(EngineClient, GreetsAgainAnEngineThatHasBecomeAnother) {
  asio::io_context loop;
  ScriptedEngine engine(
      {ping("1.43"), answer(200, "{}"),
       answer(
           400,
           R"({"message":"client version 1.43 is too new. Maximum supported API version is 1.41"})"),
       ping("1.41"), answer(200, "{}")});
  EngineClient client(loop.get_executor(), kDocker, engine_at_socket(engine.path()));

  EXPECT_TRUE(run_task(loop, client.facts()).has_value());
  EXPECT_TRUE(run_task(loop, client.facts()).has_value());

  EXPECT_THAT(engine.asked(), ElementsAre("GET /_ping", "GET /v1.43/info", "GET /v1.43/info",
                                          "GET /_ping", "GET /v1.41/info"));
}

TEST(EngineClient, KnowsWhetherTheEngineFiltersSystemCalls) {
  asio::io_context loop;
  const std::pair<const char*, bool> told[] = {
      {R"(["name=apparmor","name=seccomp,profile=default","name=cgroupns"])", true},
      {R"(["name=seccomp,profile=builtin"])", true},
      {R"(["name=seccomp,profile=/etc/docker/seccomp.json"])", true},
      {R"(["name=apparmor","name=seccomp,profile=unconfined"])", false},
      {R"(["name=apparmor"])", false},
      {R"([7,null,"seccomp"])", false},
      {R"("name=seccomp")", false},
      {"null", false},
  };
  for (const auto& [options, filters] : told) {
    ScriptedEngine engine(
        {ping("1.41"), answer(200, R"({"DefaultRuntime":"runc","SecurityOptions":)" +
                                       std::string(options) + "}")});
    EngineClient client(loop.get_executor(), kDocker, engine_at_socket(engine.path()));

    const auto facts = run_task(loop, client.facts());

    ASSERT_TRUE(facts.has_value()) << facts.error().message();
    EXPECT_EQ(facts->filters_calls, filters) << options;
  }
}

// A large one takes minutes.
TEST(EngineClient, IsPatientWithACommit) {
  asio::io_context loop;
  const std::string image = R"({"Id":"sha256:1","Size":7,"Config":{"Labels":{)"
                            R"("atoll.instance":"us","atoll.driver":"docker",)"
                            R"("atoll.snapshot":"snp00000000000000000001"}}})";
  ScriptedEngine engine({ping("1.41"), std::string(kSlowly) + answer(201, R"({"Id":"sha256:1"})"),
                         answer(200, image)});
  EngineClient client(loop.get_executor(), kDocker, engine_at_socket(engine.path()),
                      {.quick = Millis(5'000), .slow = Millis(100), .patient = Millis(60'000)});

  const auto kept =
      run_task(loop, SnapshotImages(client.line(), "us").commit("sbx1", "snp00000000000000000001"));

  ASSERT_TRUE(kept.has_value()) << kept.error().message();
  EXPECT_EQ(*kept, 7U);
  const std::string asked = engine.asked().at(1);
  EXPECT_THAT(asked, HasSubstr("&container=atoll-sbx1&"));
  for (const char* label : {"instance%3Dus", "driver%3Ddocker", "sandbox%3Dsbx1", "generation%3D1",
                            "snapshot%3Dsnp00000000000000000001"})
    EXPECT_THAT(asked, HasSubstr("&changes=LABEL%20atoll." + std::string(label)));
}

// It is told in a line of an answer that began well.
TEST(EngineClient, TellsThatTheDiskIsFullWhileAnImageIsFetched) {
  asio::io_context loop;
  ScriptedEngine engine(
      {ping("1.41"), answer(200,
                            "{\"status\":\"Downloading\"}\n"
                            "{\"error\":\"write /data/blob: no space left on device\"}\n")});
  EngineClient client(loop.get_executor(), kDocker, engine_at_socket(engine.path()));

  const auto pulled =
      run_task(loop, EngineImages(client.line()).pull("tiny:1", "", Millis(5'000), {}));

  ASSERT_FALSE(pulled.has_value());
  EXPECT_EQ(pulled.error().code(), Code::out_of_space);
  EXPECT_THAT(pulled.error().hint(), HasSubstr("docker system df"));
}

// What a listener hears of a pull of which the engine says this, line by line: "done/total".
std::vector<std::string> progress_of(const Dialect& dialect,
                                     const std::vector<std::string>& lines) {
  asio::io_context loop;
  std::string said;
  for (const auto& line : lines) said += line + "\n";
  ScriptedEngine engine({ping("1.41"), answer(200, said)});
  EngineClient client(loop.get_executor(), dialect, engine_at_socket(engine.path()));
  std::vector<std::string> heard;
  PullWatch watch;
  watch.on_progress = [&heard](const Progress& progress) {
    EXPECT_EQ(progress.stage, "pull");
    heard.push_back(std::to_string(progress.done) + "/" + std::to_string(progress.total));
  };

  const auto pulled = run_task(
      loop, EngineImages(client.line()).pull("tiny:1", "", Millis(5'000), std::move(watch)));

  EXPECT_TRUE(pulled.has_value()) << pulled.error().message();
  return heard;
}

TEST(PullProgress, IsTheSumOfLayersAsDockerTells) {
  EXPECT_THAT(
      progress_of(
          kDocker,
          {R"({"status":"Pulling from library/tiny","id":"1"})",
           R"({"status":"Pulling fs layer","progressDetail":{},"id":"aaaa"})",
           R"({"status":"Downloading","progressDetail":{"current":100,"total":1000},"progress":"[> ]","id":"aaaa"})",
           R"({"status":"Downloading","progressDetail":{"current":50,"total":500},"progress":"[> ]","id":"bbbb"})",
           R"({"status":"Downloading","progressDetail":{"current":900,"total":1000},"progress":"[> ]","id":"aaaa"})",
           R"({"status":"Verifying Checksum","progressDetail":{},"id":"aaaa"})",
           R"({"status":"Download complete","progressDetail":{},"id":"aaaa"})",
           R"({"status":"Extracting","progressDetail":{"current":10,"total":1000},"progress":"[> ]","id":"aaaa"})",
           R"({"status":"Already exists","progressDetail":{},"id":"cccc"})",
           R"({"status":"Pull complete","progressDetail":{},"id":"bbbb"})",
           R"({"status":"Digest: sha256:0123"})",
           R"({"status":"Status: Downloaded newer image for tiny:1"})"}),
      ElementsAre("0/0", "0/0", "100/1000", "150/1500", "950/1500", "950/1500", "1050/1500",
                  "1050/1500", "1050/1500", "1500/1500", "1500/1500", "1500/1500"));
}

// Of a layer whose size the registry has not told it says -1; the last line is the image's.
TEST(PullProgress, IsTheSumOfLayersAsPodmanTells) {
  EXPECT_THAT(
      progress_of(
          kPodman,
          {R"({"status":"Pulling fs layer","progressDetail":{},"id":"0123456789ab"})",
           R"({"status":"Downloading","progressDetail":{"current":300,"total":1000},"progress":"[> ]","id":"0123456789ab"})",
           R"({"status":"Downloading","progressDetail":{"current":40,"total":-1},"id":"ba9876543210"})",
           R"({"status":"Download complete","progressDetail":{},"id":"0123456789ab"})",
           R"({"status":"Already exists","progressDetail":{},"id":"ffffffffffff"})",
           R"({"stream":"Writing manifest\n"})",
           R"({"status":"Download complete","progressDetail":{},"id":"eeeeeeeeeeee"})"}),
      ElementsAre("0/0", "300/1000", "300/1000", "1000/1000", "1000/1000", "1000/1000",
                  "1000/1000"));
}

TEST(PullProgress, BelievesNoHostileNumbers) {
  constexpr const char* kMost = "1125899906842624";  // of one layer
  EXPECT_THAT(
      progress_of(
          kDocker,
          {R"({"status":"Downloading","progressDetail":{"current":-5,"total":-7},"id":"a"})",
           R"({"status":"Downloading","progressDetail":{"current":"5","total":1.5},"id":"a"})",
           R"({"status":"Downloading","progressDetail":null,"id":"a"})",
           R"({"status":"Downloading","id":"a"})", R"({"status":7,"id":["a"]})",
           R"({"status":"Downloading","progressDetail":{"current":9,"total":5},"id":"a"})",
           R"({"status":"Downloading","progressDetail":{"current":9223372036854775807,"total":9223372036854775807},"id":"a"})",
           R"({"status":"Downloading","progressDetail":{"current":18446744073709551615,"total":18446744073709551615},"id":"a"})"}),
      ElementsAre("0/0", "0/0", "0/0", "0/0", "0/0", "5/5", std::string(kMost) + "/" + kMost,
                  "0/0"));
}

TEST(PullProgress, EndsWhereNoImageHasSoManyLayers) {
  std::vector<std::string> lines;
  for (int i = 0; i < 1'500; ++i) {
    lines.push_back(
        R"({"status":"Downloading","progressDetail":{"current":1,"total":9223372036854775807},"id":")" +
        std::to_string(i) + R"("})");
  }

  const auto heard = progress_of(kDocker, lines);

  ASSERT_LE(heard.size(), 1'001u);
  ASSERT_GE(heard.size(), 1'000u);
  EXPECT_EQ(heard[999], "1000/1125899906842624000");
}

TEST(EngineClient, LabelsWhatItImports) {
  asio::io_context loop;
  ScriptedEngine engine({ping("1.41"), answer(200, "{}")});
  EngineClient client(loop.get_executor(), kDocker, engine_at_socket(engine.path()));

  const Labels labels{{"atoll.instance", "/of a/$place"}, {"atoll.template", "0123"}};
  const auto imported = run_task(
      loop,
      EngineImages(client.line()).import("atoll-template:1", labels, []() -> Task<std::string> {
        co_return std::string();
      }));

  EXPECT_TRUE(imported.has_value()) << imported.error().message();
  EXPECT_THAT(engine.asked().back(), HasSubstr("&changes=LABEL%20atoll.driver%3Ddocker&"));
  EXPECT_THAT(engine.asked().back(), HasSubstr("&changes=LABEL%20atoll.template%3D0123"));
  EXPECT_THAT(engine.asked().back(), HasSubstr("&changes=LABEL%20atoll.generation%3D1"));
  // Nothing in a path is a word of the recipe's.
  EXPECT_THAT(engine.asked().back(),
              HasSubstr("&changes=LABEL%20atoll.instance%3D%22%2Fof%20a%2F%5C%24place%22"));
}

TEST(EngineClient, ListsImagesOfItsDriverThatAreNoSnapshots) {
  asio::io_context loop;
  ScriptedEngine engine({ping("1.41"), answer(200, R"([
    {"RepoTags":["mine:1","other-name:1"],"Labels":{"atoll.driver":"docker","atoll.template":"a"}},
    {"RepoTags":["theirs:1"],"Labels":{"atoll.driver":"podman","atoll.template":"b"}},
    {"RepoTags":["kept:1"],"Labels":{"atoll.driver":"docker","atoll.template":"a","atoll.snapshot":"s"}},
    {"RepoTags":null,"Labels":{"atoll.driver":"docker","atoll.template":"c"}},
    {"RepoTags":["bare:1"],"Labels":null}, 7])")});
  EngineClient client(loop.get_executor(), kDocker, engine_at_socket(engine.path()));

  const auto listed = run_task(loop, EngineImages(client.line()).list_labelled("atoll.template"));

  ASSERT_TRUE(listed.has_value()) << listed.error().message();
  std::vector<std::string> names;
  for (const auto& image : *listed) names.push_back(image.name);
  EXPECT_THAT(names, testing::ElementsAre("mine:1", "other-name:1"));
}

TEST(EngineClient, SaysThatNobodyIsThere) {
  asio::io_context loop;
  EngineClient client(loop.get_executor(), kDocker, engine_at_socket("/nonexistent/docker.sock"));

  const auto greeted = run_task(loop, client.line().greet());

  ASSERT_FALSE(greeted.has_value());
  EXPECT_EQ(greeted.error().code(), Code::unavailable);
  EXPECT_EQ(greeted.error().message(),
            "docker is not running: there is no /nonexistent/docker.sock");
  EXPECT_THAT(greeted.error().hint(), HasSubstr("DOCKER_HOST"));
}

TEST(EngineClient, SaysThatWhatWasNamedIsNoSocket) {
  asio::io_context loop;
  EngineClient client(loop.get_executor(), kPodman, engine_at_socket("/etc/passwd"));

  const auto greeted = run_task(loop, client.line().greet());

  ASSERT_FALSE(greeted.has_value());
  EXPECT_EQ(greeted.error().message(), "podman is not there: /etc/passwd is no socket");
  EXPECT_THAT(greeted.error().hint(), HasSubstr("CONTAINER_HOST=unix:///path"));
}

TEST(EngineClient, SaysThatAnAnswerWasLost) {
  asio::io_context loop;
  ScriptedEngine engine({ping("1.41"), "HTTP/1.1 201 Created\r\nContent-Length: 100\r\n\r\n{"});
  EngineClient client(loop.get_executor(), kDocker, engine_at_socket(engine.path()));

  const auto created = run_task(loop, client.create("atoll-x", "{}"));

  ASSERT_FALSE(created.has_value());
  EXPECT_EQ(created.error().code(), Code::unavailable);
  EXPECT_THAT(created.error().message(), HasSubstr("broke off before its answer"));
  EXPECT_THAT(created.error().hint(), HasSubstr("is removed when it is back"));
}

TEST(EngineClient, UnderstandsATakenNameFromBoth) {
  asio::io_context loop;
  for (const int status : {409, 500}) {
    ScriptedEngine engine(
        {ping("1.41"),
         answer(status, R"({"message":"the container name is already in use by x"})")});
    EngineClient client(loop.get_executor(), kPodman, engine_at_socket(engine.path()));

    EXPECT_EQ(run_task(loop, client.create("atoll-x", "{}")).error().code(), Code::already_exists);
  }
}

TEST(EngineClient, DoesNotBelieveNonsense) {
  asio::io_context loop;
  ScriptedEngine engine({ping("1.41"), answer(200, "<html>")});
  EngineClient client(loop.get_executor(), kDocker, engine_at_socket(engine.path()));

  EXPECT_EQ(run_task(loop, client.inspect("atoll-x")).error().code(), Code::internal);
}

TEST(EngineClient, RefusesVolumesThatItCannotCover) {
  asio::io_context loop;
  for (const char* path : {"/", "relative", "/a/../b", "/a,size=1", "/a:b"}) {
    ScriptedEngine engine({ping("1.41"), answer(200, R"({"Config":{"Volumes":{")" +
                                                         std::string(path) + R"(":{}}}})")});
    EngineClient client(loop.get_executor(), kDocker, engine_at_socket(engine.path()));

    const auto found = run_task(loop, EngineImages(client.line()).inspect("debian:stable-slim"));

    ASSERT_FALSE(found.has_value()) << path;
    EXPECT_EQ(found.error().code(), Code::unsupported);
  }
}

TEST(EngineClient, RemovesUntilItIsGone) {
  asio::io_context loop;
  // Somebody removes it already; then it is still there for a moment; then it is not.
  ScriptedEngine engine({ping("1.44"), answer(409, R"({"message":"removal is in progress"})"),
                         answer(204, ""), answer(200, R"({"State":{"Running":false}})"),
                         answer(404, R"({"message":"No such container"})")});
  EngineClient client(loop.get_executor(), kDocker, engine_at_socket(engine.path()));

  const auto removed = run_task(loop, client.remove("atoll-x"));

  EXPECT_TRUE(removed.has_value()) << removed.error().message();
}

TEST(EngineClient, EndsItsWaitsWhenItIsClosed) {
  asio::io_context loop;
  ScriptedEngine engine({ping("1.41"), "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"});
  EngineClient client(loop.get_executor(), kDocker, engine_at_socket(engine.path()));
  client.close();

  EXPECT_EQ(run_task(loop, client.wait("atoll-x")).error().code(), Code::cancelled);
}

}  // namespace
}  // namespace atl::container
