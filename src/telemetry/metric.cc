#include "telemetry/metric.h"

#include <algorithm>
#include <span>
#include <type_traits>

#include "json/write.h"

namespace atl::telemetry {
namespace {

// Prometheus escapes just these three in a label's value; what is not UTF-8 would make a scraper
// drop everything.
void write_label_value(std::string& out, std::string_view value) {
  for (const char c : json::to_well_formed(value)) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
}

using Labels = std::span<const std::pair<std::string_view, std::string_view>>;

void write_series(std::string& out, std::string_view name, std::string_view suffix, Labels labels) {
  out += name;
  out += suffix;
  if (!labels.empty()) {
    out += '{';
    for (const auto& [key, value] : labels) {
      if (out.back() != '{') out += ',';
      out += key;
      out += "=\"";
      write_label_value(out, value);
      out += '"';
    }
    out += '}';
  }
  out += ' ';
}

double to_seconds(std::chrono::nanoseconds duration) {
  return static_cast<double>(duration.count()) / 1e9;
}

using LabelList = std::vector<std::pair<std::string_view, std::string_view>>;

void write_metric(std::string& out, std::string_view name, const LabelList& labels,
                  const Counter& counter) {
  write_series(out, name, "", labels);
  json::write_integer(out, counter.value());
  out += '\n';
}

void write_metric(std::string& out, std::string_view name, const LabelList& labels,
                  const Gauge& gauge) {
  write_series(out, name, "", labels);
  json::write_integer(out, gauge.value());
  out += '\n';
}

void write_metric(std::string& out, std::string_view name, const LabelList& labels,
                  const TimeCounter& counter) {
  write_series(out, name, "", labels);
  json::write_double(out, to_seconds(counter.value()));
  out += '\n';
}

double bound_of(std::chrono::nanoseconds bound) { return to_seconds(bound); }
double bound_of(uint64_t bytes) { return static_cast<double>(bytes); }

// Of either kind of histogram.
template <typename Buckets>
void write_buckets(std::string& out, std::string_view name, LabelList labels,
                   const Buckets& histogram) {
  uint64_t below = 0;
  for (size_t i = 0; i <= Buckets::kBounds.size(); ++i) {
    std::string bound = "+Inf";
    if (i < Buckets::kBounds.size()) {
      bound.clear();
      json::write_double(bound, bound_of(Buckets::kBounds[i]));
    }
    below += histogram.in_bucket(i);
    labels.emplace_back("le", bound);
    write_series(out, name, "_bucket", labels);
    labels.pop_back();
    json::write_integer(out, below);
    out += '\n';
  }
  write_series(out, name, "_sum", labels);
  json::write_double(out, bound_of(histogram.sum()));
  out += '\n';
  // The same sum as the last bucket, so that one scrape never contradicts itself.
  write_series(out, name, "_count", labels);
  json::write_integer(out, below);
  out += '\n';
}

void write_metric(std::string& out, std::string_view name, const LabelList& labels,
                  const Histogram& histogram) {
  write_buckets(out, name, labels, histogram);
}

void write_metric(std::string& out, std::string_view name, const LabelList& labels,
                  const SizeHistogram& histogram) {
  write_buckets(out, name, labels, histogram);
}

template <typename Metric>
constexpr std::string_view type_name() {
  if constexpr (std::is_same_v<Metric, Counter>) return "counter";
  if constexpr (std::is_same_v<Metric, TimeCounter>) return "counter";
  if constexpr (std::is_same_v<Metric, Gauge>) return "gauge";
  return "histogram";
}

}  // namespace

void Histogram::observe(std::chrono::nanoseconds duration) {
  duration = std::max(duration, std::chrono::nanoseconds(0));
  const auto at = std::ranges::lower_bound(kBounds, duration);
  buckets_[static_cast<size_t>(at - kBounds.begin())].fetch_add(1, std::memory_order_relaxed);
  sum_ns_.fetch_add(duration.count(), std::memory_order_relaxed);
}

void SizeHistogram::observe(uint64_t bytes) {
  const auto at = std::ranges::lower_bound(kBounds, bytes);
  buckets_[static_cast<size_t>(at - kBounds.begin())].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(bytes, std::memory_order_relaxed);
}

template <typename Metric, size_t kLabels>
Family<Metric, kLabels>::Family(Catalogue& catalogue, std::string_view name, std::string_view help,
                                Keys keys)
    : name_(name), help_(help), keys_(keys) {
  // Without labels there is one series, which a scrape shows from the start as zero.
  if constexpr (kLabels == 0) find({});
  catalogue.push_back(this);
}

template <typename Metric, size_t kLabels>
Metric& Family<Metric, kLabels>::find(const Keys& values) {
  const std::lock_guard lock(mutex_);
  const auto found = series_.find(values);
  if (found != series_.end()) return *found->second;

  std::array<std::string, kLabels> owned;
  const bool full = series_.size() >= kMostSeries;
  for (size_t i = 0; i < kLabels; ++i) owned[i] = full ? "other" : values[i];
  auto& metric = series_[std::move(owned)];
  if (!metric) metric = std::make_unique<Metric>();
  return *metric;
}

template <typename Metric, size_t kLabels>
void Family<Metric, kLabels>::render(std::string& out) const {
  const std::lock_guard lock(mutex_);
  if (series_.empty()) return;
  out.append("# HELP ").append(name_).append(" ").append(help_);
  out.append("\n# TYPE ").append(name_).append(" ").append(type_name<Metric>()).append("\n");
  for (const auto& [values, metric] : series_) {
    LabelList labels;
    for (size_t i = 0; i < kLabels; ++i) labels.emplace_back(keys_[i], values[i]);
    write_metric(out, name_, labels, *metric);
  }
}

template class Family<Counter, 0>;
template class Family<Counter, 1>;
template class Family<Counter, 2>;
template class Family<Counter, 3>;
template class Family<Gauge, 0>;
template class Family<Gauge, 1>;
template class Family<Histogram, 0>;
template class Family<Histogram, 1>;
template class Family<Histogram, 2>;
template class Family<TimeCounter, 1>;
template class Family<SizeHistogram, 1>;

}  // namespace atl::telemetry
