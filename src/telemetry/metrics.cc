#include "telemetry/metrics.h"

namespace atl::telemetry {

std::string Metrics::render() const {
  std::string out;
  out.reserve(16 * 1024);
  for (const MetricFamily* family : all_) family->render(out);
  return out;
}

}  // namespace atl::telemetry
