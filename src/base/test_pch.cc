#include "base/test_pch.h"
