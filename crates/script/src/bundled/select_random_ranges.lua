-- Counts within several ranges of the indexed column, each thread within a share of its own.

require("oltp_common")

sysbench.cmdline.options.number_of_ranges = { "Ranges of one query", 10 }
sysbench.cmdline.options.delta = { "Size of a range", 5 }

function thread_init()
  drv = sysbench.sql.driver()
  con = drv:connect()
  local ranges = sysbench.opt.number_of_ranges
  stmt = con:prepare("SELECT count(k) FROM sbtest1 WHERE " .. string.rep("k BETWEEN ? AND ? OR ", ranges - 1)
    .. "k BETWEEN ? AND ?")
  param = {}
  for place = 1, 2 * ranges do
    param[place] = stmt:bind_create(sysbench.sql.type.INT)
  end
  stmt:bind_param(unpack(param))
  share = sysbench.opt.table_size / sysbench.opt.threads
end

function event(tid)
  for range = 1, sysbench.opt.number_of_ranges do
    local low = sysbench.rand.default(share * tid, share * (tid + 1))
    param[2 * range - 1]:set(low)
    param[2 * range]:set(low + sysbench.opt.delta)
  end
  stmt:execute()
end

function thread_done()
  stmt:close()
  con:disconnect()
end
