#include "net/tls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>

#include "net/connect.h"
#include "net/http_client.h"
#include "net/test_world_internal.h"

namespace atl::net {
namespace {

// A key and a certificate that names 127.0.0.1 and vouches for itself.
class SelfSigned final {
 public:
  SelfSigned() {
    EVP_PKEY* key = EVP_EC_gen("P-256");
    X509* certificate = X509_new();
    X509_set_version(certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_set_pubkey(certificate, key);
    X509_NAME* name = X509_get_subject_name(certificate);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>("atoll test"), -1, -1, 0);
    X509_set_issuer_name(certificate, name);
    X509_EXTENSION* names =
        X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "IP:127.0.0.1");
    X509_add_ext(certificate, names, -1);
    X509_EXTENSION_free(names);
    X509_sign(certificate, key, EVP_sha256());

    std::FILE* file = std::fopen(key_file().c_str(), "w");
    PEM_write_PrivateKey(file, key, nullptr, nullptr, 0, nullptr, nullptr);
    std::fclose(file);
    file = std::fopen(certificate_file().c_str(), "w");
    PEM_write_X509(file, certificate);
    std::fclose(file);
    X509_free(certificate);
    EVP_PKEY_free(key);
  }

  std::string key_file() const { return dir_.file("key.pem"); }
  std::string certificate_file() const { return dir_.file("certificate.pem"); }
  TlsContextPtr server() const { return *make_tls_server({certificate_file(), key_file()}); }

 private:
  TempDir dir_;
};

class TlsWorld final : public TestWorld {
 public:
  explicit TlsWorld(ServerLimits limits = {}) : server(io.get_executor(), handler, limits) {
    const auto port = server.listen_tcp("127.0.0.1", 0, keys.server());
    EXPECT_TRUE(port.has_value());
    endpoint = *Endpoint::parse("https://127.0.0.1:" + std::to_string(*port));
  }

  Result<Response> send(TlsClientOptions options, ClientRequest request) {
    ClientLimits limits;
    limits.tls = options;
    HttpClient client(io.get_executor(), limits);
    auto first = await(client.send(endpoint, request));
    if (!first) return first;
    // The second goes over the kept connection.
    EXPECT_EQ(client.idle_connections(), 1u);
    return await(client.send(endpoint, std::move(request)));
  }

  SelfSigned keys;
  TestHandler handler;
  HttpServer server;
  Endpoint endpoint;
};

TEST(Tls, CarriesHttpWithATrustedCertificate) {
  TlsWorld world;
  const std::string body(900'000, 'b');

  const auto answer = world.send({.ca_file = world.keys.certificate_file()},
                                 {.method = Method::post, .target = "/echo", .body = body});

  ASSERT_TRUE(answer.has_value()) << answer.error().message();
  EXPECT_TRUE(answer->body == body);
  EXPECT_EQ(world.server.stats().requests, 2u);
}

TEST(Tls, RefusesACertificateThatNobodyVouchesFor) {
  TlsWorld world;

  const auto answer = world.send({}, {.target = "/a"});

  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code(), Code::permission_denied);
  EXPECT_EQ(world.handler.calls, 0);
}

TEST(Tls, RefusesACertificateForAnotherName) {
  TlsWorld world;
  world.endpoint.host = "localhost";

  const auto answer = world.send({.ca_file = world.keys.certificate_file()}, {.target = "/a"});

  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code(), Code::permission_denied);
}

TEST(Tls, TakesAnyCertificateWhenToldSo) {
  TlsWorld world;

  const auto answer = world.send({.verify = TlsVerify::none}, {.target = "/a"});

  ASSERT_TRUE(answer.has_value()) << answer.error().message();
  EXPECT_EQ(answer->body, "hello /a");
}

TEST(Tls, CutsOffAClientThatNeverShakesHands) {
  ServerLimits limits;
  limits.header_timeout = milliseconds(30);
  TlsWorld world(limits);
  auto stream = world.await(connect_tcp(world.io.get_executor(), "127.0.0.1", world.endpoint.port,
                                        after(milliseconds(5'000))));
  ASSERT_TRUE(stream.has_value());

  EXPECT_EQ(*world.await(read_to_end(stream->get())), "");
}

TEST(Tls, EndsWithAGoodbyeOrAnError) {
  TestWorld world;
  const SelfSigned keys;
  auto [left, right] = world.pair();
  ByteStream* raw = right.get();
  auto served = tls_accept(world.io.get_executor(), std::move(right), keys.server());
  char byte;
  std::optional<Result<size_t>> got;
  asio::co_spawn(world.io, store_result((*served)->read_some(&byte, 1), &got),
                 [](std::exception_ptr) {});
  auto client = world.await(tls_connect(world.io.get_executor(), std::move(left),
                                        *make_tls_client({.verify = TlsVerify::none}), "anything",
                                        after(milliseconds(5'000))));
  ASSERT_TRUE(client.has_value()) << client.error().message();

  ASSERT_TRUE(world.await((*client)->shutdown_write()).has_value());
  ASSERT_TRUE(world.run_until([&] { return got.has_value(); }));
  EXPECT_EQ(got->value(), 0u);
  raw->close();
  const auto cut = world.await((*client)->read_some(&byte, 1));
  ASSERT_FALSE(cut.has_value());
  EXPECT_EQ(cut.error().code(), Code::unavailable);
}

TEST(Tls, SaysWhichFileIsBad) {
  const auto server = make_tls_server({"/nowhere/c.pem", "/nowhere/k.pem"});
  const auto client = make_tls_client({.ca_file = "/nowhere/ca.pem"});

  ASSERT_FALSE(server.has_value());
  EXPECT_THAT(server.error().message(), testing::HasSubstr("/nowhere/c.pem"));
  EXPECT_THAT(client.error().message(), testing::HasSubstr("/nowhere/ca.pem"));
}

}  // namespace
}  // namespace atl::net
