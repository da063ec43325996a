// Opening a ByteStream to somebody who listens: TCP by name or address, Unix sockets by path of any
// length.
#pragma once

#include <cstdint>
#include <string>

#include "net/byte_stream.h"

namespace atl::net {

// Resolves `host` (a literal address is not looked up), tries its addresses in order.
// Code::unavailable when none answers, Code::deadline_exceeded when time ran out, Code::not_found
// when the name does not exist. The name lookup runs on Asio's own thread and cannot be
// interrupted, only left behind.
Task<StreamPtr> connect_tcp(asio::any_io_executor executor, std::string host, uint16_t port,
                            TimePoint deadline);

// Code::not_found without such a file, Code::unavailable when nobody listens on it. A listener
// whose queue is full is asked again until the deadline.
Task<StreamPtr> connect_unix(asio::any_io_executor executor, std::string path, TimePoint deadline);

}  // namespace atl::net
