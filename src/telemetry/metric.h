// The kinds of metric, and families of them told apart by labels. metrics.h is the catalogue
// that uses them.
//
// Counting is a relaxed atomic: any thread, no lock. Finding a series by its labels takes a short
// lock, so a hot path may keep the reference; a series lives as long as its family.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace atl::telemetry {

class Counter final {
 public:
  void add(uint64_t count = 1) { count_.fetch_add(count, std::memory_order_relaxed); }
  // What somebody else counts, told now and then; never falls.
  void raise_to(uint64_t count) {
    uint64_t seen = value();
    while (seen < count && !count_.compare_exchange_weak(seen, count, std::memory_order_relaxed)) {
    }
  }
  uint64_t value() const { return count_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> count_{0};
};

class Gauge final {
 public:
  void set(int64_t level) { level_.store(level, std::memory_order_relaxed); }
  void add(int64_t change) { level_.fetch_add(change, std::memory_order_relaxed); }
  int64_t value() const { return level_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> level_{0};
};

// Time that adds up; told in seconds.
class TimeCounter final {
 public:
  // A negative duration counts as zero.
  void add(std::chrono::microseconds duration) {
    if (duration.count() > 0) count_.add(static_cast<uint64_t>(duration.count()));
  }
  std::chrono::microseconds value() const { return std::chrono::microseconds(count_.value()); }

 private:
  Counter count_;
};

// Durations in the buckets that every histogram of ours has: from 50 µs, what a local exec costs,
// to a minute.
class Histogram final {
 public:
  static constexpr std::array<std::chrono::microseconds, 19> kBounds = [] {
    using std::chrono::microseconds;
    return std::array{microseconds(50),        microseconds(100),        microseconds(250),
                      microseconds(500),       microseconds(1'000),      microseconds(2'500),
                      microseconds(5'000),     microseconds(10'000),     microseconds(25'000),
                      microseconds(50'000),    microseconds(100'000),    microseconds(250'000),
                      microseconds(500'000),   microseconds(1'000'000),  microseconds(2'500'000),
                      microseconds(5'000'000), microseconds(10'000'000), microseconds(30'000'000),
                      microseconds(60'000'000)};
  }();

  // A negative duration counts as zero.
  void observe(std::chrono::nanoseconds duration);

  // What lies up to kBounds[i], not counting lower buckets; the last is what exceeds every bound.
  uint64_t in_bucket(size_t i) const { return buckets_[i].load(std::memory_order_relaxed); }
  std::chrono::nanoseconds sum() const {
    return std::chrono::nanoseconds(sum_ns_.load(std::memory_order_relaxed));
  }

 private:
  std::array<std::atomic<uint64_t>, kBounds.size() + 1> buckets_{};
  std::atomic<int64_t> sum_ns_{0};
};

// Sizes in bytes, from 1 MiB to 64 GiB by fours.
class SizeHistogram final {
 public:
  static constexpr std::array<uint64_t, 9> kBounds = [] {
    std::array<uint64_t, 9> bounds{};
    for (size_t i = 0; i < bounds.size(); ++i) bounds[i] = uint64_t{1} << (20 + 2 * i);
    return bounds;
  }();

  void observe(uint64_t bytes);

  // As in Histogram.
  uint64_t in_bucket(size_t i) const { return buckets_[i].load(std::memory_order_relaxed); }
  uint64_t sum() const { return sum_.load(std::memory_order_relaxed); }

 private:
  std::array<std::atomic<uint64_t>, kBounds.size() + 1> buckets_{};
  std::atomic<uint64_t> sum_{0};
};

// What the catalogue knows of a family, whatever its kind.
class MetricFamily {
 public:
  virtual ~MetricFamily() = default;
  // Appends the family in Prometheus text format; nothing if no series exists yet.
  virtual void render(std::string& out) const = 0;
};

using Catalogue = std::vector<const MetricFamily*>;

// Series of one kind under one name. At most kMostSeries sets of label values are kept apart; later
// ones are counted together as "other", so that no caller can make memory or a scrape grow without
// end.
template <typename Metric, size_t kLabels>
class Family final : public MetricFamily {
 public:
  static constexpr size_t kMostSeries = 512;

  using Keys = std::array<std::string_view, kLabels>;

  // Adds itself to the catalogue, which must not outlive it. Texts are constants.
  Family(Catalogue& catalogue, std::string_view name, std::string_view help, Keys keys);
  Family(const Family&) = delete;
  Family& operator=(const Family&) = delete;

  template <typename... Values>
    requires(sizeof...(Values) == kLabels)
  Metric& at(const Values&... values) {
    return find({std::string_view(values)...});
  }

  void render(std::string& out) const override;

 private:
  struct Less {
    using is_transparent = void;
    bool operator()(const auto& a, const auto& b) const {
      for (size_t i = 0; i < kLabels; ++i) {
        if (const int order = std::string_view(a[i]).compare(b[i]); order != 0) return order < 0;
      }
      return false;
    }
  };

  Metric& find(const Keys& values);

  const std::string_view name_;
  const std::string_view help_;
  const Keys keys_;
  mutable std::mutex mutex_;
  std::map<std::array<std::string, kLabels>, std::unique_ptr<Metric>, Less> series_;
};

extern template class Family<Counter, 0>;
extern template class Family<Counter, 1>;
extern template class Family<Counter, 2>;
extern template class Family<Counter, 3>;
extern template class Family<Gauge, 0>;
extern template class Family<Gauge, 1>;
extern template class Family<Histogram, 0>;
extern template class Family<Histogram, 1>;
extern template class Family<Histogram, 2>;
extern template class Family<TimeCounter, 1>;
extern template class Family<SizeHistogram, 1>;

}  // namespace atl::telemetry
