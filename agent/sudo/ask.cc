#include "agent/sudo/ask.h"

#include "base/bytes.h"

namespace atl::sudo {
namespace {

constexpr uint8_t kVersion = 1;
constexpr size_t kMostArguments = 4096;
constexpr size_t kMostVariables = 1024;

}  // namespace

std::string encode(const Ask& ask) {
  ByteWriter writer;
  writer.u8(kVersion);
  writer.text(ask.user);
  writer.texts(ask.argv);
  writer.pairs(ask.env);
  return std::move(writer).bytes();
}

Result<Ask> decode_ask(std::string_view bytes) {
  ByteReader reader(bytes);
  const uint8_t version = reader.u8();
  Ask ask;
  ask.user = reader.text();
  ask.argv = reader.texts(kMostArguments);
  ask.env = reader.pairs(kMostVariables);
  TRY_OK(reader.finish());
  if (version != kVersion) return Error(Code::invalid_argument, "another version of sudo");
  return ask;
}

std::string encode(const Answer& answer) {
  ByteWriter writer;
  writer.u8(kVersion);
  writer.text(answer.refused);
  writer.u32(static_cast<uint32_t>(answer.exit_code));
  writer.u32(static_cast<uint32_t>(answer.signal));
  return std::move(writer).bytes();
}

Result<Answer> decode_answer(std::string_view bytes) {
  ByteReader reader(bytes);
  const uint8_t version = reader.u8();
  Answer answer;
  answer.refused = reader.text();
  answer.exit_code = static_cast<int>(reader.u32());
  answer.signal = static_cast<int>(reader.u32());
  TRY_OK(reader.finish());
  if (version != kVersion) return Error(Code::invalid_argument, "another version of the agent");
  return answer;
}

}  // namespace atl::sudo
