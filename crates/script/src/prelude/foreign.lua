-- ffi as a script sees it: what waits is asked, sysbench's own symbols are functions of ours, everything else is C's.
local host, interface = ...
local ask = interface.ask
local foreign = require("ffi")

-- The types of sysbench's that declarations of scripts name.
foreign.cdef([[
typedef enum {
  SB_CNT_OTHER, SB_CNT_READ, SB_CNT_WRITE, SB_CNT_TRX, SB_CNT_EVENT = SB_CNT_TRX, SB_CNT_ERROR, SB_CNT_RECONNECT
} sb_counter_type;
typedef struct plimsoll_sql_driver sql_driver;
typedef struct plimsoll_sql_connection sql_connection;
typedef struct plimsoll_sql_statement sql_statement;
typedef struct plimsoll_sql_result sql_result;
]])

-- A declaration that several environments of a machine make is made once.
local declared = {}
-- Functions of C's by their names; false where we do not have one.
local found = {}
local function declare(text)
  if not declared[text] then
    foreign.cdef(text)
    declared[text] = true
    found = {}
  end
end

local function own_symbols()
  local rand = interface.rand
  local own = {
    SB_CNT_OTHER = 0, SB_CNT_READ = 1, SB_CNT_WRITE = 2, SB_CNT_TRX = 3, SB_CNT_EVENT = 3, SB_CNT_ERROR = 4,
    SB_CNT_RECONNECT = 5,
    sb_rand_default = rand.default, sb_rand_uniform = rand.uniform, sb_rand_gaussian = rand.gaussian,
    sb_rand_special = rand.special, sb_rand_pareto = rand.pareto, sb_rand_zipfian = rand.zipfian,
    sb_rand_unique = rand.unique, sb_rand_uniform_double = rand.uniform_double,
    sb_rand_uniform_uint64 = rand.uniform_uint64,
  }
  function own.usleep(microseconds)
    ask(host.SLEEP, tonumber(microseconds) / 1e6)
    return 0
  end
  function own.sleep(seconds)
    ask(host.SLEEP, tonumber(seconds))
    return 0
  end
  function own.sb_more_events()
    return ask(host.MORE)
  end
  function own.sb_event_start() end
  function own.sb_event_stop()
    ask(host.ENDED)
  end
  function own.sb_counter_inc(_, kind)
    host.count(tonumber(kind), 1)
  end
  function own.sb_counter_add(_, kind, by)
    host.count(tonumber(kind), tonumber(by))
  end
  return own
end

local function missing(name)
  local why = " is none of the symbols of sysbench that are there; docs/sysbench.md lists them"
  if string.find(name, "^SB_CNT_%d$") then
    why = " is a counter of a patched sysbench; it is not there"
  end
  error("ffi.C." .. name .. why, 3)
end

-- The type of a function as a script has declared it.
local function declared_type(name)
  for text in pairs(declared) do
    local code = string.gsub(string.gsub(text, "/%*.-%*/", " "), "//[^\n]*", " ")
    for part in string.gmatch(code, "[^;{}]+") do
      local result, parameters = string.match(part, "^%s*(.-)%f[%w_]" .. name .. "%s*(%b())%s*$")
      if result then
        return string.gsub(result, "^extern%s+", "") .. "(*)" .. parameters
      end
    end
  end
end

-- A symbol of C's: by its address where we have it, since a static program can look up nothing.
local function by_address(name)
  local address = host.function_of_c(name)
  local type_ = address and declared_type(name)
  if type_ then
    -- What we cannot read of a declaration, C's own search can.
    local is_cast, symbol = pcall(foreign.cast, type_, foreign.cast("void *", address))
    return is_cast and symbol
  end
end

local function symbol_of_c(name)
  if found[name] == nil then
    found[name] = by_address(name) or false
  end
  return found[name] or foreign.C[name]
end

local function load_library(name, is_global)
  local is_there, library = pcall(foreign.load, name, is_global)
  if not is_there then
    -- A static program can load nothing, and does not say what.
    local says_what = string.find(tostring(library), tostring(name), 1, true)
    error(says_what and library or "cannot load " .. tostring(name) .. ": " .. tostring(library), 2)
  end
  return library
end

-- Gives an environment its ffi.
function interface.add_foreign(environment)
  local own = own_symbols()
  local proxied = {}
  for name, value in pairs(foreign) do
    proxied[name] = value
  end
  proxied.cdef = declare
  proxied.load = load_library
  proxied.C = setmetatable({}, {
    __index = function(_, name)
      if own[name] ~= nil then
        return own[name]
      elseif string.find(name, "^sb_") or string.find(name, "^db_") or string.find(name, "^SB_") then
        missing(name)
      end
      local is_there, symbol = pcall(symbol_of_c, name)
      if not is_there then
        error((string.gsub(symbol, "^plimsoll%.[^:]+:%d+: ", "")), 2)
      end
      return symbol
    end,
    __newindex = function(_, name, value)
      foreign.C[name] = value
    end,
  })
  environment.ffi = proxied
  environment.package.loaded.ffi = proxied
  return own
end
