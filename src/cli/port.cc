// `atoll port`: ports of a sandbox as ports of this machine.
#include <fmt/core.h>
#include <signal.h>

#include <charconv>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include "api/object_writer.h"
#include "base/run_task.h"
#include "base/text.h"
#include "cli/client.h"
#include "cli/json_view.h"
#include "cli/output_pipe.h"
#include "cli/report.h"
#include "cli/verbs.h"
#include "client/port_dial.h"
#include "net/event.h"
#include "net/listener.h"
#include "net/relay.h"

namespace atl::cli {
namespace {

constexpr Flag kFlags[] = {
    {"address", 0, "ADDRESS", "where to listen here; 127.0.0.1 if not given"},
};

struct Forward {
  uint16_t here = 0;  // 0 = the same, or any that is free
  uint16_t there = 0;
};

std::optional<uint16_t> port_from(std::string_view text) {
  uint16_t port = 0;
  const auto [stop, failure] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (failure != std::errc() || stop != text.data() + text.size() || port == 0) return std::nullopt;
  return port;
}

Result<Forward> forward_from(const std::string& text) {
  const size_t colon = text.find(':');
  const std::string_view all = text;
  const auto there = port_from(colon == std::string::npos ? all : all.substr(colon + 1));
  const auto here =
      colon == std::string::npos ? std::optional<uint16_t>(0) : port_from(all.substr(0, colon));
  if (here && there) return Forward{*here, *there};
  return usage_error(fmt::format("'{}' is no port", to_printable(text)))
      .with_hint("a port of the sandbox, or HERE:THERE: atoll port BOX 8080:3000");
}

// The same number as in the sandbox where it is free, or any.
Result<Fd> listen_here(const std::string& address, const Forward& forward) {
  if (forward.here != 0) return net::listen_at_tcp(address, forward.here);
  if (auto same = net::listen_at_tcp(address, forward.there)) return same;
  return net::listen_at_tcp(address, 0);
}

Task<> serve(Client& client, std::string sandbox, uint16_t port, net::StreamPtr visitor) {
  CO_TRY(auto released, co_await client::dial_port(client.connection(), sandbox, port));
  co_return co_await net::relay(std::move(visitor), std::move(released.stream),
                                std::move(released.already_read));
}

struct Served {
  std::unique_ptr<net::Listener> listener;
  Forward forward;
};

Result<Served> open(Context& context, Client& client, const std::string& sandbox,
                    const std::string& address, Forward forward) {
  TRY(Fd socket, listen_here(address, forward));
  const uint16_t there = forward.there;
  const bool quiet = context.quiet();
  Served served;
  TRY(served.listener,
      net::Listener::create(
          client.loop().get_executor(), std::move(socket),
          [&client, sandbox, there, quiet](net::StreamPtr visitor, const net::Peer&) {
            spawn(client.loop().get_executor(), serve(client, sandbox, there, std::move(visitor)),
                  [there, quiet](Result<> done) {
                    // A visitor that leaves is nobody's error.
                    if (done || quiet || done.error().code() == Code::cancelled) return;
                    tell(fmt::format("atoll: port {}: {}", there, done.error().message()));
                  });
          }));
  forward.here = served.listener->port();
  served.forward = forward;
  return served;
}

Result<> announce(const Context& context, const std::string& sandbox, const std::string& address,
                  const std::vector<Served>& all) {
  std::string text;
  for (const auto& [listener, forward] : all) {
    if (context.json()) {
      api::ObjectWriter object(text);
      object.member("address", address);
      object.member("port", forward.here);
      object.member("sandbox", sandbox);
      object.member("sandbox_port", forward.there);
      object.close();
      text += '\n';
    } else {
      const bool is_six = address.find(':') != std::string::npos;
      text += fmt::format("http://{}:{} is port {} of {}\n", is_six ? "[" + address + "]" : address,
                          forward.here, forward.there, sandbox);
    }
  }
  TRY_OK(print(text));
  if (!context.quiet() && !context.json()) tell_dim("· Ctrl-C ends it");
  return {};
}

Task<> wait_for_signal(Client& client) {
  const auto over = std::make_shared<net::Event>(client.loop().get_executor());
  asio::signal_set signals(client.loop(), SIGINT, SIGTERM, SIGHUP);
  signals.async_wait([over](const boost::system::error_code&, int) { over->set(); });
  co_await over->wait();
  co_return Result<>();
}

Result<int> port(Context& context) {
  const auto& words = context.args.words();
  const std::string& sandbox = words[0];
  const std::string address = context.args.find("address").value_or("127.0.0.1");
  std::vector<Forward> forwards;
  for (size_t i = 1; i < words.size(); ++i) {
    TRY(forwards.emplace_back(), forward_from(words[i]));
  }
  TRY(const auto client, open_client(context));
  TRY(const std::string text, client->get(sandbox_path(sandbox)));
  TRY(const auto view, parse_answer(text));
  std::vector<Served> served;
  for (const Forward& forward : forwards) {
    auto opened = open(context, *client, text_at(view, "id"), address, forward);
    if (!opened) {
      return std::move(opened).error().with_hint("take another port here: atoll port BOX 18080:" +
                                                 std::to_string(forward.there));
    }
    served.push_back(*std::move(opened));
  }
  TRY_OK(announce(context, sandbox, address, served));
  TRY_OK(run_task(client->loop(), wait_for_signal(*client)));
  return 0;
}

}  // namespace

const Verb kPortVerb{
    .grammar = {.verb = "port",
                .usage = "[FLAGS] BOX [HERE:]PORT…",
                .flags = {kFlags, kEverywhereFlags},
                .least_words = 2,
                .most_words = 65},
    .group = kAccessGroup,
    .summary = "Make ports of a sandbox ports of this machine",
    .more =
        "Anything that speaks TCP to the port here speaks to the one in the sandbox, which needs "
        "no "
        "network\nfor that. Without HERE it is the same number, or another that is free. Only this "
        "machine can\nconnect, unless --address says otherwise.",
    .run = port};

}  // namespace atl::cli
