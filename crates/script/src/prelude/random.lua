-- sysbench.rand: functions of ours under the names that scripts use.
local host, interface = ...

local random = {}
for _, name in ipairs({
  "default", "uniform", "gaussian", "special", "pareto", "zipfian", "unique", "string", "varstring", "uniform_double",
}) do
  random[name] = host[name]
end

local ffi = require("ffi")
local uint64 = ffi.typeof("uint64_t")

function random.uniform_uint64()
  local high, low = host.halves()
  return uint64(high) * 4294967296ULL + uint64(low)
end

interface.rand = random
