// Runs several commands at once, each in a sandbox of its own, and gives up the rest when the first
// has succeeded.
//
//   race 'sleep 60' 'echo quick'
#include <atoll/async_client.h>

#include <iostream>
#include <memory>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

namespace {

namespace asio = boost::asio;
namespace calls = atoll_client::calls;

struct Race {
  std::vector<std::unique_ptr<asio::cancellation_signal>> runners;
  std::string winner;
};

asio::awaitable<void> run(atoll_client::AsyncClient& client, Race& race, std::string line) {
  const auto done = co_await client(calls::run({.shell = line}));
  if (!done.ok() || !race.winner.empty()) co_return;
  race.winner = line;
  std::cout << line << ": " << done.out;
  for (const auto& runner : race.runners) runner->emit(asio::cancellation_type::terminal);
}

}  // namespace

int main(int count, char** words) {
  try {
    atoll_client::AsyncClient client;
    asio::io_context loop;
    Race race;
    for (int i = 1; i < count; ++i) {
      race.runners.push_back(std::make_unique<asio::cancellation_signal>());
      asio::co_spawn(loop, run(client, race, words[i]),
                     asio::bind_cancellation_slot(race.runners.back()->slot(), asio::detached));
    }
    loop.run();
    return race.winner.empty() ? 1 : 0;
  } catch (const atoll_client::Error& error) {
    std::cerr << "race: " << error.what() << "\n";
    return 2;
  }
}
