#include "net/tls.h"

#include <fmt/core.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <climits>

#include "net/event.h"

namespace atl::net {
namespace {

constexpr size_t kReadSize = 32 * 1024;
// How much may be encrypted before it is sent.
constexpr size_t kWriteSlice = 128 * 1024;

struct FreeContext {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
struct FreeSession {
  void operator()(SSL* session) const { SSL_free(session); }
};
using SslContext = std::unique_ptr<SSL_CTX, FreeContext>;
using SslSession = std::unique_ptr<SSL, FreeSession>;

class OpenSslContext final : public TlsContext {
 public:
  explicit OpenSslContext(SslContext context) : context_(std::move(context)) {}
  SSL_CTX* get() const { return context_.get(); }

 private:
  SslContext context_;
};

// The oldest entry of OpenSSL's queue is the cause; the rest is who passed it on.
std::string last_reason() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  if (code == 0) return "unknown reason";
  const char* reason = ERR_reason_error_string(code);
  return reason != nullptr ? reason : fmt::format("OpenSSL error {:x}", code);
}

Result<SslContext> new_context(const SSL_METHOD* method) {
  SslContext context(SSL_CTX_new(method));
  if (!context) return Error(Code::internal, "making a TLS context: " + last_reason());
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS);
  return context;
}

Result<> load_key(SSL_CTX* context, const std::string& certificate, const std::string& key) {
  if (SSL_CTX_use_certificate_chain_file(context, certificate.c_str()) != 1) {
    return Error(Code::invalid_argument,
                 fmt::format("loading the certificate {}: {}", certificate, last_reason()));
  }
  if (SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(context) != 1) {
    return Error(Code::invalid_argument, fmt::format("loading the key {}: {}", key, last_reason()));
  }
  return {};
}

// OpenSSL works on two memory buffers; we carry the bytes between them and the stream below.
class TlsStream final : public ByteStream {
 public:
  TlsStream(const asio::any_io_executor& executor, StreamPtr lower, TlsContextPtr context,
            SslSession session)
      : lower_(std::move(lower)),
        context_(std::move(context)),
        ssl_(std::move(session)),
        flushed_(executor) {
    incoming_ = BIO_new(BIO_s_mem());
    outgoing_ = BIO_new(BIO_s_mem());
    BIO_set_mem_eof_return(incoming_, -1);
    SSL_set_bio(ssl_.get(), incoming_, outgoing_);
  }

  Task<> handshake() {
    while (true) {
      ERR_clear_error();
      const int result = SSL_do_handshake(ssl_.get());
      const int reason = result == 1 ? SSL_ERROR_NONE : SSL_get_error(ssl_.get(), result);
      if (result != 1 && reason != SSL_ERROR_WANT_READ) {
        Error failed = handshake_error();
        const auto alert_sent = co_await flush();
        (void)alert_sent;
        co_return failed;
      }
      CO_TRY_OK(co_await flush());
      if (result == 1) co_return Result<>();
      CO_TRY(const size_t got, co_await feed());
      if (got == 0) co_return Error(Code::unavailable, "TLS handshake: the peer broke off");
    }
  }

  Task<size_t> read_some(void* data, size_t size) override {
    if (size == 0) co_return 0;
    const int most = static_cast<int>(std::min<size_t>(size, INT_MAX));
    while (true) {
      ERR_clear_error();
      const int got = SSL_read(ssl_.get(), data, most);
      const int reason = got > 0 ? SSL_ERROR_NONE : SSL_get_error(ssl_.get(), got);
      if (got > 0) co_return static_cast<size_t>(got);
      if (reason == SSL_ERROR_ZERO_RETURN) co_return 0;
      if (reason != SSL_ERROR_WANT_READ) {
        Error failed(Code::unavailable, "TLS: " + last_reason());
        const auto alert_sent = co_await flush();
        (void)alert_sent;
        lower_->close();
        co_return failed;
      }
      if (BIO_ctrl_pending(outgoing_) > 0 && !flushing_) CO_TRY_OK(co_await flush());
      CO_TRY(const size_t fed, co_await feed());
      // Without the peer's goodbye anybody on the path could have cut the stream here.
      if (fed == 0) co_return Error(Code::unavailable, "TLS: the stream was cut off");
    }
  }

  Task<> write_pieces(Pieces pieces) override {
    for (std::string_view piece : pieces) {
      while (!piece.empty()) {
        const size_t count = std::min(piece.size(), kWriteSlice);
        ERR_clear_error();
        if (SSL_write(ssl_.get(), piece.data(), static_cast<int>(count)) <= 0) {
          co_return Error(Code::unavailable, "TLS: " + last_reason());
        }
        piece.remove_prefix(count);
        if (BIO_ctrl_pending(outgoing_) >= kWriteSlice) CO_TRY_OK(co_await flush());
      }
    }
    co_return co_await flush();
  }

  Task<> shutdown_write() override {
    if (SSL_is_init_finished(ssl_.get())) {
      ERR_clear_error();
      SSL_shutdown(ssl_.get());
      CO_TRY_OK(co_await flush());
    }
    co_return co_await lower_->shutdown_write();
  }

  void close() override { lower_->close(); }
  void cancel() override { lower_->cancel(); }
  bool is_open() const override { return lower_->is_open(); }
  void set_read_deadline(std::optional<TimePoint> deadline) override {
    lower_->set_read_deadline(deadline);
  }
  void set_write_deadline(std::optional<TimePoint> deadline) override {
    lower_->set_write_deadline(deadline);
  }
  bool is_quiet() const override {
    return SSL_pending(ssl_.get()) == 0 && BIO_ctrl_pending(incoming_) == 0 && lower_->is_quiet();
  }
  int native_handle() const override { return lower_->native_handle(); }

 private:
  Error handshake_error() {
    const long verdict = SSL_get_verify_result(ssl_.get());
    if (verdict != X509_V_OK) {
      return Error(Code::permission_denied, fmt::format("TLS handshake: the certificate: {}",
                                                        X509_verify_cert_error_string(verdict)));
    }
    return Error(Code::unavailable, "TLS handshake: " + last_reason());
  }

  // Bytes from below into OpenSSL; 0 is the end.
  Task<size_t> feed() {
    if (!buffer_) buffer_ = std::make_unique_for_overwrite<char[]>(kReadSize);
    CO_TRY(const size_t got, co_await lower_->read_some(buffer_.get(), kReadSize));
    if (got > 0) BIO_write(incoming_, buffer_.get(), static_cast<int>(got));
    co_return got;
  }

  // What OpenSSL wants to send, its own messages included, goes out in order: one flush at a time,
  // and it goes on until nothing is left, so whoever comes meanwhile only waits for it.
  Task<> flush() {
    if (flushing_) {
      co_await flushed_.wait();
      co_return flush_result_;
    }
    struct Guard {
      TlsStream& stream;
      ~Guard() {
        stream.flushing_ = false;
        stream.flushed_.set();
      }
    };
    flushing_ = true;
    flushed_.reset();
    const Guard guard{*this};
    flush_result_ = Result<>();
    while (const size_t there = BIO_ctrl_pending(outgoing_)) {
      sending_.resize(there);
      BIO_read(outgoing_, sending_.data(), static_cast<int>(there));
      flush_result_ = co_await lower_->write_all(std::string_view(sending_));
      if (!flush_result_) break;
    }
    co_return flush_result_;
  }

  StreamPtr lower_;
  TlsContextPtr context_;
  SslSession ssl_;
  BIO* incoming_ = nullptr;  // both owned by the session
  BIO* outgoing_ = nullptr;
  std::unique_ptr<char[]> buffer_;
  std::string sending_;
  Event flushed_;
  Result<> flush_result_;
  bool flushing_ = false;
};

Result<SslSession> new_session(const TlsContextPtr& context) {
  SslSession session(SSL_new(static_cast<OpenSslContext&>(*context).get()));
  if (!session) return Error(Code::internal, "making a TLS session: " + last_reason());
  return session;
}

}  // namespace

Result<TlsContextPtr> make_tls_client(TlsClientOptions options) {
  TRY(auto context, new_context(TLS_client_method()));
  if (options.verify == TlsVerify::peer) {
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
    if (options.ca_file.empty()) {
      SSL_CTX_set_default_verify_paths(context.get());
    } else if (SSL_CTX_load_verify_locations(context.get(), options.ca_file.c_str(), nullptr) !=
               1) {
      return Error(Code::invalid_argument,
                   fmt::format("loading the authorities {}: {}", options.ca_file, last_reason()));
    }
  }
  if (!options.certificate_file.empty()) {
    TRY_OK(load_key(context.get(), options.certificate_file, options.key_file));
  }
  static constexpr unsigned char kProtocols[] = "\x08http/1.1";
  SSL_CTX_set_alpn_protos(context.get(), kProtocols, sizeof kProtocols - 1);
  return TlsContextPtr(std::make_shared<OpenSslContext>(std::move(context)));
}

Result<TlsContextPtr> make_tls_server(TlsServerOptions options) {
  TRY(auto context, new_context(TLS_server_method()));
  TRY_OK(load_key(context.get(), options.certificate_file, options.key_file));
  return TlsContextPtr(std::make_shared<OpenSslContext>(std::move(context)));
}

Task<StreamPtr> tls_connect(asio::any_io_executor executor, StreamPtr lower, TlsContextPtr context,
                            std::string server_name, TimePoint deadline) {
  CO_TRY(auto session, new_session(context));
  X509_VERIFY_PARAM* rules = SSL_get0_param(session.get());
  if (X509_VERIFY_PARAM_set1_ip_asc(rules, server_name.c_str()) != 1) {
    X509_VERIFY_PARAM_set_hostflags(rules, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    if (server_name.empty() || SSL_set1_host(session.get(), server_name.c_str()) != 1 ||
        SSL_set_tlsext_host_name(session.get(), server_name.c_str()) != 1) {
      co_return Error(Code::invalid_argument, "TLS: no server name: " + server_name);
    }
  }
  SSL_set_connect_state(session.get());
  auto stream = std::make_unique<TlsStream>(executor, std::move(lower), std::move(context),
                                            std::move(session));
  stream->set_deadline(deadline);
  auto shaken = co_await stream->handshake();
  if (!shaken) co_return std::move(shaken).error().with(server_name);
  stream->set_deadline(std::nullopt);
  co_return StreamPtr(std::move(stream));
}

Result<StreamPtr> tls_accept(const asio::any_io_executor& executor, StreamPtr lower,
                             TlsContextPtr context) {
  TRY(auto session, new_session(context));
  SSL_set_accept_state(session.get());
  return StreamPtr(std::make_unique<TlsStream>(executor, std::move(lower), std::move(context),
                                               std::move(session)));
}

}  // namespace atl::net
