// Everything that a handler needs to go between described structs and JSON text.
#pragma once

#include "json/decode.h"    // IWYU pragma: export
#include "json/describe.h"  // IWYU pragma: export
#include "json/encode.h"    // IWYU pragma: export
