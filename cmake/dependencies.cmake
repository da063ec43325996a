# Everything we link from Debian, and the libraries that we compile once ourselves so that no other translation unit
# pays for them.
find_package(Threads REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(fmt REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(Boost 1.81 REQUIRED COMPONENTS json)

# A library of Debian's, shared or, for a program with the property ATOLL_STATIC, as the archives beside it: such a
# program starts in a third of the time, on a host that has none of these libraries.
function(atoll_dependency name shared)
  set(archives)
  foreach(archive ${ARGN})
    find_library(ATOLL_ARCHIVE_${archive} lib${archive}.a REQUIRED)
    list(APPEND archives ${ATOLL_ARCHIVE_${archive}})
  endforeach()
  set(is_static $<BOOL:$<TARGET_PROPERTY:ATOLL_STATIC>>)
  add_library(${name} INTERFACE)
  target_link_libraries(${name} INTERFACE "$<IF:${is_static},${archives},${shared}>")
endfunction()
atoll_dependency(openssl OpenSSL::SSL ssl crypto)
atoll_dependency(sqlite SQLite::SQLite3 sqlite3)
atoll_dependency(yaml yaml-cpp yaml-cpp)
atoll_dependency(boost_json Boost::json boost_json boost_container)

# Debian has no archive of it.
add_library(fmt_compiled STATIC ${CMAKE_SOURCE_DIR}/cmake/fmt_compiled.cc)
target_include_directories(fmt_compiled SYSTEM PUBLIC $<TARGET_PROPERTY:fmt::fmt,INTERFACE_INCLUDE_DIRECTORIES>)

add_library(asio_compiled STATIC ${CMAKE_SOURCE_DIR}/cmake/asio_compiled.cc)
target_compile_definitions(asio_compiled PUBLIC
  BOOST_ASIO_SEPARATE_COMPILATION BOOST_ASIO_NO_DEPRECATED BOOST_ASIO_DISABLE_VISIBILITY)
target_link_libraries(asio_compiled PUBLIC Boost::headers openssl Threads::Threads)

add_library(beast_compiled STATIC ${CMAKE_SOURCE_DIR}/cmake/beast_compiled.cc)
target_compile_definitions(beast_compiled PUBLIC BOOST_BEAST_SEPARATE_COMPILATION)
target_link_libraries(beast_compiled PUBLIC asio_compiled)

foreach(compiled asio_compiled beast_compiled fmt_compiled)
  if(ATOLL_SANITIZE)
    target_compile_options(${compiled} PRIVATE -fsanitize=${ATOLL_SANITIZE} -fno-omit-frame-pointer)
  endif()
endforeach()

if(BUILD_TESTING)
  find_package(GTest REQUIRED)
endif()
