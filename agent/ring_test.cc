#include "agent/ring.h"

#include <gtest/gtest.h>

namespace atl::agent {
namespace {

std::string kept(const Ring& ring) {
  std::string all;
  for (uint64_t at = ring.first(); at < ring.end();) {
    const auto piece = ring.piece(at);
    all += piece;
    at += piece.size();
  }
  return all;
}

TEST(Ring, KeepsTheNewestBytesAndSaysWhereTheyBegin) {
  Ring ring(4096);
  std::string written;
  for (int i = 0; i < 3000; ++i) {
    const std::string line = std::to_string(i) + "\n";
    ring.append(line);
    written += line;
  }

  EXPECT_EQ(ring.end(), written.size());
  EXPECT_EQ(ring.first(), written.size() - 4096);
  EXPECT_EQ(kept(ring), written.substr(written.size() - 4096));
}

TEST(Ring, GrowsWithoutLosingAnything) {
  Ring ring(1 << 20);
  std::string written;
  for (int i = 0; i < 1000; ++i) {
    const std::string part(static_cast<size_t>(i), static_cast<char>('a' + i % 26));
    ring.append(part);
    written += part;
  }

  EXPECT_EQ(ring.first(), 0u);
  EXPECT_EQ(kept(ring), written);
  EXPECT_LE(ring.memory(), size_t{1} << 20);
}

TEST(Ring, TakesNoMemoryBeforeTheFirstByte) { EXPECT_EQ(Ring(1 << 20).memory(), 0u); }

}  // namespace
}  // namespace atl::agent
