-- sysbench.rand: functions of ours under the names that scripts use.
local host, interface = ...

local random = {}
for _, name in ipairs({
  "default", "uniform", "gaussian", "special", "pareto", "zipfian", "unique", "string", "varstring", "uniform_double",
}) do
  random[name] = host[name]
end

local ffi = require("ffi")

if host.IS_COMPILED then
  local draw = ffi.cast("double (*)(void *, uint32_t, double, double)", host.DRAW)
  local machine = ffi.cast("void *", host.MACHINE)
  for name, shape in pairs(host.SHAPES) do
    random[name] = function(low, high)
      local drawn = draw(machine, shape, low, high)
      -- Nothing but no number differs from itself.
      return drawn == drawn and drawn or host[name](low, high)
    end
  end
end

local uint64 = ffi.typeof("uint64_t")

function random.uniform_uint64()
  local high, low = host.halves()
  return uint64(high) * 4294967296ULL + uint64(low)
end

interface.rand = random
