-- Rows by several values of the indexed column, each thread within a share of its own.

require("oltp_common")

sysbench.cmdline.options.random_points = { "Values of one query", 10 }

function thread_init()
  drv = sysbench.sql.driver()
  con = drv:connect()
  local points = sysbench.opt.random_points
  stmt = con:prepare("SELECT id, k, c, pad FROM sbtest1 WHERE k IN (" .. string.rep("?, ", points - 1) .. "?)")
  param = {}
  for place = 1, points do
    param[place] = stmt:bind_create(sysbench.sql.type.INT)
  end
  stmt:bind_param(unpack(param))
  share = sysbench.opt.table_size / sysbench.opt.threads
end

function event(tid)
  for place = 1, sysbench.opt.random_points do
    param[place]:set(sysbench.rand.default(share * tid, share * (tid + 1)))
  end
  stmt:execute()
end

function thread_done()
  stmt:close()
  con:disconnect()
end
