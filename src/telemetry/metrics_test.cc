#include "telemetry/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/text.h"

namespace atl::telemetry {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

TEST(Metrics, RendersCountersWithTheirLabels) {
  Metrics metrics;
  metrics.http_requests.at("GET", "/v1/sandboxes/{id}", "200").add();
  metrics.http_requests.at("GET", "/v1/sandboxes/{id}", "200").add(2);

  const std::string page = metrics.render();

  EXPECT_THAT(page,
              HasSubstr("# HELP atoll_http_requests_total HTTP requests answered.\n"
                        "# TYPE atoll_http_requests_total counter\n"
                        "atoll_http_requests_total{method=\"GET\",route=\"/v1/sandboxes/{id}\","
                        "status=\"200\"} 3\n"));
}

TEST(Metrics, ShowsUnlabelledMetricsFromTheStart) {
  const Metrics metrics;

  EXPECT_THAT(metrics.render(), HasSubstr("\natoll_launcher_reconnects_total 0\n"));
  EXPECT_THAT(metrics.render(), Not(HasSubstr("atoll_sandboxes{")));
}

TEST(Metrics, RendersGaugesThatRiseAndFall) {
  Metrics metrics;
  metrics.sandboxes.at("running").set(7);
  metrics.open_connections.at().add(3);
  metrics.open_connections.at().add(-5);

  EXPECT_THAT(metrics.render(), HasSubstr("atoll_sandboxes{state=\"running\"} 7\n"));
  EXPECT_THAT(metrics.render(), HasSubstr("atoll_http_open_connections -2\n"));
}

TEST(Metrics, TakesOverWhatSomebodyElseCountsAndNeverFalls) {
  Metrics metrics;
  auto& hits = metrics.parked_requests.at("native", "hit");
  hits.raise_to(5);
  hits.raise_to(3);

  EXPECT_EQ(hits.value(), 5U);
  hits.raise_to(6);
  EXPECT_EQ(hits.value(), 6U);
}

TEST(Metrics, CountsADurationInEveryBucketThatHoldsIt) {
  Metrics metrics;
  auto& histogram = metrics.exec_duration.at("local");
  histogram.observe(1ms);
  histogram.observe(1ms + 1ns);
  histogram.observe(2h);
  histogram.observe(-1s);

  const std::string page = metrics.render();

  EXPECT_THAT(page, HasSubstr("# TYPE atoll_exec_duration_seconds histogram\n"));
  EXPECT_THAT(page,
              HasSubstr("atoll_exec_duration_seconds_bucket{driver=\"local\",le=\"0.00025\"} 1\n"));
  EXPECT_THAT(page,
              HasSubstr("atoll_exec_duration_seconds_bucket{driver=\"local\",le=\"0.001\"} 2\n"));
  EXPECT_THAT(page,
              HasSubstr("atoll_exec_duration_seconds_bucket{driver=\"local\",le=\"60\"} 3\n"));
  EXPECT_THAT(page,
              HasSubstr("atoll_exec_duration_seconds_bucket{driver=\"local\",le=\"+Inf\"} 4\n"));
  EXPECT_THAT(page,
              HasSubstr("atoll_exec_duration_seconds_sum{driver=\"local\"} 7200.002000001\n"));
  EXPECT_THAT(page, HasSubstr("atoll_exec_duration_seconds_count{driver=\"local\"} 4\n"));
}

TEST(Metrics, EscapesLabelValues) {
  Metrics metrics;
  metrics.sandboxes.at("a\"b\\c\nd\xFF").set(1);

  EXPECT_THAT(metrics.render(), HasSubstr("state=\"a\\\"b\\\\c\\nd\uFFFD\"} 1\n"));
}

TEST(Metrics, GathersWhatExceedsTheSeriesLimit) {
  Metrics metrics;
  constexpr size_t kLimit = Family<Counter, 3>::kMostSeries;
  for (size_t i = 0; i < kLimit + 10; ++i)
    metrics.http_requests.at("GET", std::to_string(i), "200").add();

  const std::string page = metrics.render();

  const auto lines = split(page, '\n');
  const auto series = std::ranges::count_if(lines, [](const std::string& line) {
    return line.starts_with("atoll_http_requests_total{");
  });
  EXPECT_EQ(series, static_cast<long>(kLimit + 1));
  EXPECT_THAT(page, HasSubstr("{method=\"other\",route=\"other\",status=\"other\"} 10\n"));
  EXPECT_EQ(metrics.http_requests.at("GET", "0", "200").value(), 1u);
}

TEST(Metrics, GivesTheSameSeriesForTheSameLabels) {
  Metrics metrics;

  EXPECT_EQ(&metrics.creates.at("local", "ok"), &metrics.creates.at(std::string("local"), "ok"));
  EXPECT_NE(&metrics.creates.at("local", "ok"), &metrics.creates.at("ok", "local"));
}

TEST(Metrics, LosesNoCountBetweenThreads) {
  Metrics metrics;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        metrics.store_commits.at("boot").add();
        metrics.store_commit_duration.at("boot").observe(1us);
      }
    });
  }
  for (auto& thread : threads) thread.join();

  EXPECT_EQ(metrics.store_commits.at("boot").value(), 4000u);
  EXPECT_EQ(metrics.store_commit_duration.at("boot").sum(), 4ms);
}

TEST(Metrics, NamesEveryMetricOnce) {
  const auto lines = split(Metrics().render(), '\n');
  std::multiset<std::string> types;
  for (const auto& line : lines) {
    if (line.starts_with("# TYPE ")) types.insert(line);
  }

  EXPECT_EQ(types.size(), std::set<std::string>(types.begin(), types.end()).size());
  EXPECT_GE(types.size(), 3u);
}

}  // namespace
}  // namespace atl::telemetry
