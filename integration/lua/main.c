/* Runs one Lua script: the program that the demonstration links. */
#include <stdio.h>

#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s SCRIPT.lua\n", argv[0]);
    return 2;
  }
  lua_State *state = luaL_newstate();
  if (state == NULL) {
    fprintf(stderr, "%s: out of memory\n", argv[0]);
    return 1;
  }
  luaL_openlibs(state);
  int failed = luaL_dofile(state, argv[1]);
  if (failed) fprintf(stderr, "%s: %s\n", argv[0], lua_tostring(state, -1));
  lua_close(state);
  return failed ? 1 : 0;
}
