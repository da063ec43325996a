#include "crypto/hash.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "base/check.h"
#include "base/ids.h"

namespace atl::crypto {
namespace {

// Fetched once and kept: looking an algorithm up by name costs more than hashing a short text.
const EVP_MD* sha256_method() {
  static const EVP_MD* const method = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  ATOLL_CHECK(method != nullptr);
  return method;
}

}  // namespace

Digest sha256(std::string_view bytes) {
  Digest digest;
  unsigned length = 0;
  ATOLL_CHECK(EVP_Digest(bytes.data(), bytes.size(), digest.data(), &length, sha256_method(),
                         nullptr) == 1);
  ATOLL_CHECK(length == digest.size());
  return digest;
}

std::string sha256_hex(std::string_view bytes) { return to_hex(sha256(bytes)); }

struct Sha256::State {
  State() : context(EVP_MD_CTX_new()) {
    ATOLL_CHECK(context != nullptr);
    ATOLL_CHECK(EVP_DigestInit_ex(context, sha256_method(), nullptr) == 1);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { EVP_MD_CTX_free(context); }

  EVP_MD_CTX* context;
};

Sha256::Sha256() : state_(std::make_unique<State>()) {}
Sha256::~Sha256() = default;

void Sha256::put(std::string_view bytes) {
  ATOLL_CHECK(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) == 1);
}

std::string Sha256::finish() {
  Digest digest;
  ATOLL_CHECK(EVP_DigestFinal_ex(state_->context, digest.data(), nullptr) == 1);
  return to_hex(digest);
}

Digest hmac_sha256(std::string_view key, std::string_view bytes) {
  Digest digest;
  size_t length = 0;
  // An empty key is legal, a null pointer is not.
  const char* key_bytes = key.empty() ? "" : key.data();
  ATOLL_CHECK(EVP_Q_mac(nullptr, "HMAC", nullptr, "SHA256", nullptr, key_bytes, key.size(),
                        reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
                        digest.data(), digest.size(), &length) != nullptr);
  ATOLL_CHECK(length == digest.size());
  return digest;
}

bool constant_time_equal(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace atl::crypto
