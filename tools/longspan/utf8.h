// Cutting a stream of bytes at whole UTF-8 characters: whole_characters().
#pragma once

#include "longspan/text/utf8.h"
