// atoll-simulation: many lives of the engine, each from its seed, hunted for lies.
//
//   atoll-simulation [--seeds N] [--first N] [--jobs N]   N lives; says which failed, and why
//                    [--within SECONDS]                   and fails if a job needs more of a
//                    processor, or takes more of the wall's time though it hardly had to wait for
//                    one
//   atoll-simulation --seed N [--mutant NAME]             one life, told as it happens
//   atoll-simulation --mutant NAME [--seeds N]            with a planted lie, which must be caught
//   atoll-simulation --twice yes [--seeds N]              the same seed must be the same life
//   atoll-simulation --mutants                            the names of the planted lies
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string_view>

#include "json/describe.h"
#include "tests/simulation/life.h"
#include "tests/simulation/outside.h"

namespace atl::simulation {
namespace {

constexpr uint64_t kMostLies = 5;  // of one job; more would tell nothing new
// A job that has a processor for so much of its time has it nearly alone.
constexpr double kQuiet = 0.9;

struct Orders {
  uint64_t first = 1;
  uint64_t seeds = 10'000;
  uint64_t jobs = 1;
  std::optional<uint64_t> within;  // seconds
  bool one = false;
  bool twice = false;
  Mutant mutant = Mutant::none;
};

// What the lives of one job came to. Shared with the parent, so that a death tells its seed, too.
struct Sum {
  uint64_t current = 0;
  uint64_t lives = 0;
  uint64_t operations = 0;
  uint64_t acknowledged = 0;
  uint64_t failovers = 0;
  uint64_t pool_hits = 0;
  uint64_t refused = 0;
  uint64_t queued = 0;
  uint64_t faults[kFaults] = {};
  uint64_t fewest_faults = UINT64_MAX;  // of a life
  uint64_t lies = 0;
  uint64_t first_lie = 0;
  uint64_t hash = 0;
  bool is_whole = false;
  double busy = 0;   // seconds that it had a processor; others may be at work beside us
  double took = 0;   // by the wall
  double quiet = 0;  // the same if nobody was
};

std::string describe(const Outcome& outcome) {
  if (!outcome.lie.empty()) return outcome.lie;
  if (outcome.operations < kLeastOperations) return "it had too few operations";
  if (outcome.fault_count < kLeastFaults) return "it had too few faults";
  return "";
}

// Every `jobs`th life from `first` on.
void live_all(const Orders& orders, uint64_t first, Sum& sum) {
  const uint64_t end = orders.first + orders.seeds;
  const double began = outside::seconds();
  for (uint64_t seed = first; seed < end; seed += orders.jobs) {
    sum.current = seed;
    const Outcome outcome = Life(seed, orders.mutant, Trace::Told::to_nobody).live();
    ++sum.lives;
    sum.operations += outcome.operations;
    sum.acknowledged += outcome.acknowledged;
    sum.failovers += outcome.failovers;
    sum.pool_hits += outcome.pool_hits;
    sum.refused += outcome.refused;
    sum.queued += outcome.queued;
    for (size_t i = 0; i < kFaults; ++i) sum.faults[i] += outcome.faults[i];
    if (outcome.lie.empty()) sum.fewest_faults = std::min(sum.fewest_faults, outcome.fault_count);
    sum.hash = (sum.hash ^ outcome.hash) * 0x100000001b3;
    const std::string lie = describe(outcome);
    const bool is_meant =
        orders.mutant == Mutant::none || lie.starts_with(invariant_of(orders.mutant));
    if (lie.empty() || !is_meant) continue;
    ++sum.lies;
    if (sum.first_lie == 0) sum.first_lie = seed;
    std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), lie.c_str());
    if (orders.mutant != Mutant::none || sum.lies >= kMostLies) break;
  }
  std::fflush(stdout);
  sum.busy = outside::processor_seconds();
  sum.took = outside::seconds() - began;
  if (sum.busy >= kQuiet * sum.took) sum.quiet = sum.took;
  sum.is_whole = true;
}

std::optional<uint64_t> to_number(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool obey(Orders& orders, std::string_view word, std::string_view value) {
  if (word == "--mutant") {
    const auto mutant = json::find_enum<Mutant>(value);
    orders.mutant = mutant.value_or(Mutant::none);
    return mutant.has_value();
  }
  if (word == "--twice") return orders.twice = value == "yes";
  const auto number = to_number(value);
  if (!number) return false;
  if (word == "--seeds") return (orders.seeds = *number) > 0;
  if (word == "--first") return orders.first = *number, true;
  if (word == "--within") return (orders.within = *number) > 0;
  if (word == "--jobs") return (orders.jobs = *number) > 0 && *number <= 64;
  if (word != "--seed") return false;
  orders.first = *number;
  return orders.one = true;
}

// Words come in pairs.
std::optional<Orders> parse(int argc, char** argv) {
  Orders orders;
  if (argc % 2 == 0) return std::nullopt;
  for (int i = 1; i < argc; i += 2) {
    if (!obey(orders, argv[i], argv[i + 1])) return std::nullopt;
  }
  return orders;
}

void add(Sum& all, const Sum& one) {
  all.lives += one.lives;
  all.operations += one.operations;
  all.acknowledged += one.acknowledged;
  all.failovers += one.failovers;
  all.pool_hits += one.pool_hits;
  all.refused += one.refused;
  all.queued += one.queued;
  for (size_t i = 0; i < kFaults; ++i) all.faults[i] += one.faults[i];
  all.fewest_faults = std::min(all.fewest_faults, one.fewest_faults);
  all.lies += one.lies;
  all.hash ^= one.hash;
  all.busy = std::max(all.busy, one.busy);
  all.took = std::max(all.took, one.took);
  all.quiet = std::max(all.quiet, one.quiet);
  if (one.first_lie != 0 && (all.first_lie == 0 || one.first_lie < all.first_lie))
    all.first_lie = one.first_lie;
}

// Each job is a process: a life that ends in a crash of the engine is a lie like any other.
std::optional<Sum> run_jobs(const Orders& orders) {
  const size_t bytes = sizeof(Sum) * orders.jobs;
  void* const shared =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return std::nullopt;
  Sum* const sums = new (shared) Sum[orders.jobs];
  std::fflush(stdout);
  for (uint64_t job = 0; job < orders.jobs; ++job) {
    const pid_t child = fork();
    if (child < 0) return std::nullopt;
    if (child != 0) continue;
    live_all(orders, orders.first + job, sums[job]);
    _exit(0);
  }
  while (wait(nullptr) > 0) {
  }
  Sum all;
  for (uint64_t job = 0; job < orders.jobs; ++job) {
    Sum& sum = sums[job];
    if (!sum.is_whole) {
      std::printf("seed %llu: the engine died\n", static_cast<unsigned long long>(sum.current));
      ++sum.lies;
      if (sum.first_lie == 0) sum.first_lie = sum.current;
    }
    add(all, sum);
  }
  munmap(shared, bytes);
  return all;
}

void print(const Sum& sum, double took) {
  const auto show = [](const char* what, uint64_t count) {
    std::printf("  %-18s %12llu\n", what, static_cast<unsigned long long>(count));
  };
  show("lives", sum.lives);
  show("operations", sum.operations);
  show("acknowledged", sum.acknowledged);
  for (size_t i = 0; i < kFaults; ++i)
    show(std::string(json::name_of(static_cast<Fault>(i))).c_str(), sum.faults[i]);
  if (sum.fewest_faults != UINT64_MAX) show("fewest of a life", sum.fewest_faults);
  show("failovers", sum.failovers);
  show("pool_hits", sum.pool_hits);
  show("refused", sum.refused);
  show("queued", sum.queued);
  show("lies", sum.lies);
  std::printf("  %.1f s\n", took);
}

// The command that lives the first of them again, alone.
void print_replay(const Orders& orders, const Sum& sum, const char* program) {
  std::printf("to see the first: %s --seed %llu", program,
              static_cast<unsigned long long>(sum.first_lie));
  if (orders.mutant != Mutant::none) {
    const auto name = json::name_of(orders.mutant);
    std::printf(" --mutant %.*s", static_cast<int>(name.size()), name.data());
  }
  std::printf("\n");
}

bool is_in_time(const Orders& orders, const Sum& sum) {
  if (!orders.within) return true;
  const auto most = static_cast<double>(*orders.within);
  if (sum.busy > most) std::printf("a job had a processor for more than %.0f s\n", most);
  if (sum.quiet > most) std::printf("a job took more than %.0f s, and nobody kept it\n", most);
  return sum.busy <= most && sum.quiet <= most;
}

int tell_one(const Orders& orders) {
  const Outcome outcome = Life(orders.first, orders.mutant, Trace::Told::as_it_happens).live();
  const std::string lie = describe(outcome);
  std::printf(
      "%llu operations, %llu faults: %s\n", static_cast<unsigned long long>(outcome.operations),
      static_cast<unsigned long long>(outcome.fault_count), lie.empty() ? "no lie" : lie.c_str());
  return lie.empty() ? 0 : 1;
}

int live_twice(const Orders& orders) {
  const auto once = run_jobs(orders);
  const auto again = run_jobs(orders);
  if (!once || !again) return 2;
  const bool same = once->hash == again->hash && once->lives == again->lives;
  std::printf("%llu lives, %s\n", static_cast<unsigned long long>(once->lives),
              same ? "the same twice" : "and others when they were lived again");
  return same && once->lies == 0 ? 0 : 1;
}

int run(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--mutants") {
    for (const auto name : json::detail::kEnumNames<Mutant>) {
      if (name != "none") std::printf("%.*s\n", static_cast<int>(name.size()), name.data());
    }
    return 0;
  }
  const auto orders = parse(argc, argv);
  if (!orders) {
    std::fprintf(stderr,
                 "usage: %s [--seeds N] [--first N] [--jobs N] [--within SECONDS] [--seed N] "
                 "[--mutant NAME] [--twice yes] | --mutants\n",
                 argv[0]);
    return 2;
  }
  if (orders->one) return tell_one(*orders);
  if (orders->twice) return live_twice(*orders);

  const double began = outside::seconds();
  const auto sum = run_jobs(*orders);
  if (!sum) return 2;
  const double took = outside::seconds() - began;
  print(*sum, took);
  if (orders->mutant != Mutant::none) {
    std::printf(sum->lies == 0 ? "the planted lie was not caught\n" : "caught\n");
    if (sum->lies > 0) print_replay(*orders, *sum, argv[0]);
    return sum->lies == 0 ? 1 : 0;
  }
  std::printf(
      "figure: %llu lives by %llu jobs in %.1f s, each at most %.1f s of a processor; %llu "
      "operations, %llu lies\n",
      static_cast<unsigned long long>(sum->lives), static_cast<unsigned long long>(orders->jobs),
      took, sum->busy, static_cast<unsigned long long>(sum->operations),
      static_cast<unsigned long long>(sum->lies));
  if (sum->lies == 0) return is_in_time(*orders, *sum) ? 0 : 1;
  print_replay(*orders, *sum, argv[0]);
  return 1;
}

}  // namespace
}  // namespace atl::simulation

int main(int argc, char** argv) { return atl::simulation::run(argc, argv); }
