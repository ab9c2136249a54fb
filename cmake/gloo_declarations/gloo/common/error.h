// See README.md: nothing of this header is used.
#pragma once
