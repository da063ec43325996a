// A client that costs next to nothing: one kept-alive connection, requests prepared beforehand.
#pragma once

#include <string>

#include "base/fd.h"

namespace atl::bench {

// `address` is a Unix socket's path, or a port of 127.0.0.1. Ends the program when nobody answers.
Fd connect_to(const std::string& address);

// The bytes of a request. `key` may be empty.
std::string make_request(const std::string& method, const std::string& path,
                         const std::string& body, const std::string& key = "");

// Sends a request and reads its whole answer, which has a Content-Length.
std::string round_trip(int socket, const std::string& request);

}  // namespace atl::bench
