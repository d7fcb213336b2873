-- Inserts of one row.

require("oltp_common")

sysbench.cmdline.commands.prepare = {
  function()
    if not sysbench.opt.auto_inc then
      -- Its own ids would meet those of the rows.
      sysbench.opt.table_size = 0
    end
    cmd_prepare()
  end,
  sysbench.cmdline.PARALLEL_COMMAND,
}

-- Its statement is no prepared one.
function prepare_statements() end

function event()
  local id = sysbench.opt.auto_inc and 0 or sysbench.rand.unique() - 2147483648
  con:query(string.format("INSERT INTO sbtest%d (id, k, c, pad) VALUES (%d, %d, '%s', '%s')",
    get_table_num(), id, get_id(), get_c_value(), get_pad_value()))
  check_reconnect()
end
