// Writing of message heads, for either side. Only src/net includes this.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "net/http_message.h"

namespace atl::net {

void append_number(std::string& out, uint64_t number);

// Appends "name: value" lines but those whose name `reserved` claims. Control characters become
// spaces: a line break inside a value would let whoever chose the value write further fields.
void append_fields(std::string& out, const Headers& headers, bool (*reserved)(std::string_view));

// "1f40\r\n", what stands before a chunk.
void append_chunk_size(std::string& out, uint64_t size);

}  // namespace atl::net
