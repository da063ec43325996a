// Answers of a daemon, for people and for verbs.
#pragma once

#include <string>

#include "client/answer.h"
#include "json/value.h"

namespace atl::cli {

using client::at;
using client::bytes_at;
using client::flag_at;
using client::list_at;
using client::number_at;
using client::parse_answer;
using client::text_at;

// Indented by two blanks, for people.
std::string to_pretty(const json::Value& value);

}  // namespace atl::cli
