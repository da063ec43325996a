#include "driver/new_file.h"

namespace atl {

Task<FileInfo> write_file(Guest& guest, NewFile file, Parents parents) {
  CO_TRY(const auto writer, co_await guest.open_write(std::move(file.path), file.mode, parents));
  if (!file.bytes.empty()) CO_TRY_OK(co_await writer->write(std::move(file.bytes)));
  co_return co_await writer->commit();
}

}  // namespace atl
