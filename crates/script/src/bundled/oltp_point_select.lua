-- One row by its primary key.

require("oltp_common")

function prepare_statements()
  -- One query for each event, whatever was asked for.
  sysbench.opt.point_selects = 1
  prepare_point_selects()
end

function event()
  execute_point_selects()
  check_reconnect()
end
