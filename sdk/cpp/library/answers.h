// The types that calls give: whoever takes calls is compiled once for each.
#pragma once

#include <atoll/types.h>

#define ATOLL_CLIENT_FOR_EACH_ANSWER(FOR) \
  FOR(void)                               \
  FOR(std::string)                        \
  FOR(Outcome)                            \
  FOR(Process)                            \
  FOR(std::vector<ProcessInfo>)           \
  FOR(SandboxInfo)                        \
  FOR(SandboxPage)                        \
  FOR(std::vector<SandboxInfo>)           \
  FOR(Stats)                              \
  FOR(FileInfo)                           \
  FOR(std::vector<FileInfo>)              \
  FOR(Socket)                             \
  FOR(NewKey)                             \
  FOR(std::vector<KeyInfo>)               \
  FOR(Token)                              \
  FOR(Identity)                           \
  FOR(Limits)                             \
  FOR(DaemonVersion)                      \
  FOR(std::vector<DriverInfo>)
