#include "crypto/api_key.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "crypto/hash.h"

namespace atl::crypto {
namespace {

TEST(ApiKey, HasItsPrefixAndItsLength) {
  const std::string key = make_api_key();

  EXPECT_TRUE(key.starts_with("atk_"));
  EXPECT_EQ(key.size(), 47u);
  EXPECT_TRUE(
      std::all_of(key.begin() + 4, key.end(), [](unsigned char c) { return std::isalnum(c); }));
}

TEST(ApiKey, IsNeverTheSameTwiceAndUsesTheWholeAlphabet) {
  std::set<std::string> keys;
  std::set<char> letters;
  for (int i = 0; i < 200; ++i) {
    const std::string key = make_api_key();
    keys.insert(key);
    letters.insert(key.begin() + 4, key.end());
  }

  EXPECT_EQ(keys.size(), 200u);
  EXPECT_EQ(letters.size(), 62u);
}

TEST(ApiKey, IsStoredAsItsHash) {
  EXPECT_EQ(hash_api_key("atk_x"), sha256_hex("atk_x"));
  EXPECT_NE(hash_api_key("atk_x"), hash_api_key("atk_y"));
}

TEST(ApiKey, IsBlottedOutWhereverItStands) {
  const std::string key = make_api_key();

  EXPECT_EQ(hide_keys("/v1/keys/" + key + "/x"), "/v1/keys/atk_(hidden)/x");
  EXPECT_EQ(hide_keys(key + " and " + key), "atk_(hidden) and atk_(hidden)");
  EXPECT_EQ(hide_keys("no ast_sbx1.17.uid:5.00ff here"), "no ast_(hidden) here");
  EXPECT_EQ(hide_keys("plain"), "plain");
  EXPECT_EQ(hide_keys(""), "");
}

}  // namespace
}  // namespace atl::crypto
