#include "tests/api/api_world.h"

#include <unistd.h>

#include <filesystem>

#include "base/ids.h"
#include "json/write.h"
#include "net/connect.h"
#include "telemetry/log.h"

namespace atl {
namespace {

Task<size_t> read_piece(net::ClientCall* call, std::string* buffer) {
  char piece[16 * 1024];
  CO_TRY(const size_t got, co_await call->read_some(piece, sizeof piece));
  buffer->append(piece, got);
  co_return got;
}

Task<std::string> say(net::ByteStream* stream, std::string bytes) {
  auto sent = co_await stream->write_all(bytes);
  static_cast<void>(sent);  // a server that refuses may close before it has read everything
  std::string all;
  char piece[16 * 1024];
  for (;;) {
    const auto got = co_await stream->read_some(piece, sizeof piece);
    if (!got || *got == 0) break;
    all.append(piece, *got);
  }
  co_return all;
}

}  // namespace

json::Value Answer::json() const {
  auto value = json::parse(body, {.max_bytes = size_t{64} << 20});
  return value ? *std::move(value) : json::Value();
}

std::string Answer::operator[](std::string_view member) const {
  const auto value = json();
  const auto* object = value.if_object();
  const auto* found =
      object != nullptr ? object->if_contains({member.data(), member.size()}) : nullptr;
  if (found == nullptr) return {};
  if (const auto* text = found->if_string()) return std::string(text->data(), text->size());
  std::string out;
  json::write_value(out, *found);
  return out;
}

bool Streaming::fill() {
  auto got = world_.run(read_piece(call_.get(), &buffer_));
  return got && *got > 0;
}

std::string Streaming::line() {
  while (buffer_.find('\n') == std::string::npos) {
    if (!fill()) return {};
  }
  const size_t end = buffer_.find('\n');
  std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end + 1);
  return line;
}

std::string Streaming::frame(int& kind) {
  kind = -1;
  while (buffer_.size() < 8) {
    if (!fill()) return {};
  }
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(buffer_[i]); };
  EXPECT_EQ(byte(1) | byte(2) | byte(3), 0);
  const size_t size =
      size_t{byte(4)} << 24 | size_t{byte(5)} << 16 | size_t{byte(6)} << 8 | byte(7);
  while (buffer_.size() < 8 + size) {
    if (!fill()) return {};
  }
  kind = byte(0);
  std::string payload = buffer_.substr(8, size);
  buffer_.erase(0, 8 + size);
  return payload;
}

std::string Streaming::rest() {
  while (fill()) {
  }
  return std::exchange(buffer_, {});
}

ApiWorld::ApiWorld(api::ApiOptions options, const std::function<void(FakeHost&)>& prepare)
    : host_(FakeHost::make()) {
  if (prepare) prepare(*host_);
  telemetry::set_level(telemetry::Level::off);
  std::vector<EngineDriver> drivers;
  drivers.push_back({make_fake_driver(host_), "for tests"});
  EngineOptions engine_options;
  engine_options.boot_id = "boot-1";
  engine_options.run_pause = Micros(0);
  engine_options.admission.quotas.tenants["narrow"] = {.memory_mb = 1'000};
  engine_ = std::make_unique<Engine>(loop_.get_executor(), store_, std::move(drivers), metrics,
                                     clock_, engine_options);
  EXPECT_TRUE(run(engine_->recover()));
  keys_ = std::make_unique<Keys>(store_, clock_);
  EXPECT_TRUE(run(keys_->load()));
  key_ = make_key("default", Role::admin);

  if (options.version.empty()) options.version = "1.2.3";
  if (!options.visitors.trusted_uid) options.visitors.trusted_uid = ::geteuid();
  if (options.token_secret.empty()) options.token_secret = "a secret of the daemon";
  options.connections = [this] { return server_->stats().connections; };
  options.on_shutdown = [this](Ending ending) { shutdowns.push_back(ending); };
  api_ = std::make_unique<api::Api>(*engine_, *keys_, metrics, tracer_, clock_, std::move(options));
  server_ = std::make_unique<net::HttpServer>(loop_.get_executor(), *api_);
  client_ = std::make_unique<net::HttpClient>(loop_.get_executor());
  const auto port = server_->listen_tcp("127.0.0.1", 0).value();
  tcp_ = net::Endpoint::parse("http://127.0.0.1:" + std::to_string(port)).value();
  directory_ = (std::filesystem::temp_directory_path() / ("atoll-api-" + random_name(8))).string();
  std::filesystem::create_directory(directory_);
  EXPECT_TRUE(server_->listen_unix(directory_ + "/sock", 0600));
  unix_ = net::Endpoint::parse("unix:" + directory_ + "/sock").value();
}

ApiWorld::~ApiWorld() {
  client_.reset();
  server_.reset();
  // Handlers see that their clients are gone, and return.
  loop_.restart();
  while (loop_.poll() != 0) {
  }
  api_.reset();
  engine_.reset();
  std::filesystem::remove_all(directory_);
}

Answer ApiWorld::send(const net::Endpoint& endpoint, net::ClientRequest request) {
  auto response = run(client_->send(endpoint, std::move(request)));
  if (!response) {
    ADD_FAILURE() << response.error().message();
    return {};
  }
  return {response->status, std::move(response->headers), std::move(response->body)};
}

Answer ApiWorld::call(net::Method method, std::string target, std::string body,
                      net::Headers headers) {
  if (!headers.contains("Authorization")) headers.add("Authorization", "Bearer " + key_);
  net::ClientRequest request;
  request.method = method;
  request.target = std::move(target);
  request.body = std::move(body);
  request.headers = std::move(headers);
  return send(tcp_, std::move(request));
}

Answer ApiWorld::bare(net::Method method, std::string target, net::Headers headers) {
  net::ClientRequest request;
  request.method = method;
  request.target = std::move(target);
  request.headers = std::move(headers);
  return send(tcp_, std::move(request));
}

Answer ApiWorld::local(net::Method method, std::string target, std::string body) {
  net::ClientRequest request;
  request.method = method;
  request.target = std::move(target);
  request.body = std::move(body);
  return send(unix_, std::move(request));
}

std::string ApiWorld::raw(std::string bytes, net::Peer peer) {
  auto [near, far] = net::make_stream_pair(loop_.get_executor()).value();
  server_->serve(std::move(far), std::move(peer));
  return run(say(near.get(), std::move(bytes))).value();
}

void ApiWorld::raw_cut(std::string bytes) {
  const size_t before = server_->stats().connections;
  auto [near, far] = net::make_stream_pair(loop_.get_executor()).value();
  server_->serve(std::move(far), {});
  EXPECT_TRUE(run(near->write_all(bytes)));
  near->close();
  EXPECT_TRUE(wait_until([&] { return server_->stats().connections == before; }));
}

std::unique_ptr<net::ClientCall> ApiWorld::begin(net::Method method, std::string target,
                                                 std::string body) {
  net::ClientRequest request;
  request.method = method;
  request.target = std::move(target);
  request.body = std::move(body);
  request.headers.add("Authorization", "Bearer " + key_);
  return run(client_->open(tcp_, std::move(request))).value();
}

std::unique_ptr<Streaming> ApiWorld::stream(net::Method method, std::string target,
                                            std::string body, std::string accept) {
  net::ClientRequest request;
  request.method = method;
  request.target = std::move(target);
  request.body = std::move(body);
  request.headers.add("Authorization", "Bearer " + key_);
  if (!accept.empty()) request.headers.add("Accept", accept);
  auto call = run(client_->open(tcp_, std::move(request))).value();
  const auto received = run(call->receive());
  EXPECT_TRUE(received) << received.error().message();
  return std::make_unique<Streaming>(*this, std::move(call));
}

std::string ApiWorld::create(std::string body) {
  const auto answer = post("/v1/sandboxes", std::move(body));
  EXPECT_EQ(answer.status, 201) << answer.body;
  return answer["id"];
}

std::string ApiWorld::make_key(std::string tenant, Role role) {
  KeyRequest request{.tenant = std::move(tenant), .role = role};
  return run(keys_->create(std::move(request))).value().token;
}

}  // namespace atl
