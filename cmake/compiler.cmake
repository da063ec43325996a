# Warnings, hardening and sanitizers, for every target of ours.
add_library(atoll_flags INTERFACE)

target_compile_options(atoll_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Werror
  -Wno-missing-field-initializers
  -fstack-protector-strong
  -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)
target_compile_definitions(atoll_flags INTERFACE
  _GLIBCXX_ASSERTIONS
  ATOLL_VERSION="${PROJECT_VERSION}"
  $<$<CONFIG:Release,RelWithDebInfo>:_FORTIFY_SOURCE=2>)
target_include_directories(atoll_flags INTERFACE ${CMAKE_SOURCE_DIR}/src)
target_link_options(atoll_flags INTERFACE -Wl,-z,relro,-z,now)

# A precompiled header without times inside: ccache then knows it again in a fresh clone.
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND ATOLL_PCH)
  target_compile_options(atoll_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>)
endif()

if(ATOLL_SANITIZE)
  target_compile_options(atoll_flags INTERFACE
    -fsanitize=${ATOLL_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(atoll_flags INTERFACE -fsanitize=${ATOLL_SANITIZE})
endif()

set(CMAKE_POSITION_INDEPENDENT_CODE ON)
