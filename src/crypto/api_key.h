// API keys: 256 random bits with a prefix that secret scanners recognise. Only the hash is ever
// stored.
#pragma once

#include <string>
#include <string_view>

namespace atl::crypto {

// "atk_" and 43 letters and digits. Shown to its owner once and never again.
std::string make_api_key();

// What the store keeps and looks keys up by: SHA-256 in hex. A plain hash is enough, since nobody
// guesses 256 bits.
std::string hash_api_key(std::string_view key);

// The text with whatever looks like a key, or like a sandbox's token, blotted out: for logs, where
// one may come by mistake (in a path, in a message that quotes what was sent).
std::string hide_keys(std::string_view text);

}  // namespace atl::crypto
