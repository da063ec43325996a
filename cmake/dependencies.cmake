# Everything we link from Debian, and the two Boost libraries that we compile once ourselves so that no other
# translation unit pays for them.
find_package(Threads REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(fmt REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(Boost 1.81 REQUIRED COMPONENTS json)

add_library(asio_compiled STATIC ${CMAKE_SOURCE_DIR}/cmake/asio_compiled.cc)
target_compile_definitions(asio_compiled PUBLIC
  BOOST_ASIO_SEPARATE_COMPILATION BOOST_ASIO_NO_DEPRECATED BOOST_ASIO_DISABLE_VISIBILITY)
target_link_libraries(asio_compiled PUBLIC Boost::headers OpenSSL::SSL Threads::Threads)

add_library(beast_compiled STATIC ${CMAKE_SOURCE_DIR}/cmake/beast_compiled.cc)
target_compile_definitions(beast_compiled PUBLIC BOOST_BEAST_SEPARATE_COMPILATION)
target_link_libraries(beast_compiled PUBLIC asio_compiled)

foreach(compiled asio_compiled beast_compiled)
  if(ATOLL_SANITIZE)
    target_compile_options(${compiled} PRIVATE -fsanitize=${ATOLL_SANITIZE} -fno-omit-frame-pointer)
  endif()
endforeach()

if(BUILD_TESTING)
  find_package(GTest REQUIRED)
endif()
