-- What the oltp_* scripts share: options, tables and their rows, the statements of a transaction. The names are those that
-- scripts of one's own build on.

sysbench.cmdline.options = {
  auto_inc = { "Let the server give the ids of rows", true },
  create_secondary = { "Create an index on k beside the primary key", true },
  create_table_options = { "Further options of CREATE TABLE", "" },
  delete_inserts = { "DELETE and INSERT pairs of a transaction", 1 },
  distinct_ranges = { "SELECT DISTINCT queries of a transaction", 1 },
  index_updates = { "UPDATE queries of the indexed column of a transaction", 1 },
  mysql_storage_engine = { "Storage engine", "innodb" },
  non_index_updates = { "UPDATE queries of a column without index of a transaction", 1 },
  order_ranges = { "SELECT ... ORDER BY queries of a transaction", 1 },
  pgsql_variant = { "Not used: there is no PostgreSQL driver" },
  point_selects = { "SELECT queries of one row of a transaction", 10 },
  range_selects = { "Whether a transaction has any queries of ranges", true },
  range_size = { "Rows of a range", 100 },
  reconnect = { "Connect anew after so many events; 0 for never", 0 },
  secondary = { "Have an index in place of the primary key", false },
  simple_ranges = { "SELECT queries of a range of a transaction", 1 },
  skip_trx = { "No BEGIN and COMMIT: each statement commits by itself", false },
  sum_ranges = { "SELECT SUM() queries of a transaction", 1 },
  table_size = { "Rows of a table", 10000 },
  tables = { "Tables", 1 },
}

local kinds = sysbench.sql.type
local by_range = { kinds.INT, kinds.INT }

-- Statements for each table: text, types of the parameters.
local statements = {
  point_selects = { "SELECT c FROM sbtest%u WHERE id=?", { kinds.INT } },
  simple_ranges = { "SELECT c FROM sbtest%u WHERE id BETWEEN ? AND ?", by_range },
  sum_ranges = { "SELECT SUM(k) FROM sbtest%u WHERE id BETWEEN ? AND ?", by_range },
  order_ranges = { "SELECT c FROM sbtest%u WHERE id BETWEEN ? AND ? ORDER BY c", by_range },
  distinct_ranges = { "SELECT DISTINCT c FROM sbtest%u WHERE id BETWEEN ? AND ? ORDER BY c", by_range },
  index_updates = { "UPDATE sbtest%u SET k=k+1 WHERE id=?", { kinds.INT } },
  non_index_updates = { "UPDATE sbtest%u SET c=? WHERE id=?", { { kinds.CHAR, 120 }, kinds.INT } },
  deletes = { "DELETE FROM sbtest%u WHERE id=?", { kinds.INT } },
  inserts = {
    "INSERT INTO sbtest%u (id, k, c, pad) VALUES (?, ?, ?, ?)",
    { kinds.INT, kinds.INT, { kinds.CHAR, 120 }, { kinds.CHAR, 60 } },
  },
}

local c_format = string.rep("###########-", 9) .. "###########"
local pad_format = string.rep("###########-", 4) .. "###########"

function get_c_value()
  return sysbench.rand.string(c_format)
end

function get_pad_value()
  return sysbench.rand.string(pad_format)
end

function get_id()
  return sysbench.rand.default(1, sysbench.opt.table_size)
end

function get_table_num()
  return sysbench.rand.uniform(1, sysbench.opt.tables)
end

-- Calls a function with the number of each table that is this thread's.
local function for_own_tables(task)
  for number = sysbench.tid % sysbench.opt.threads + 1, sysbench.opt.tables, sysbench.opt.threads do
    task(number)
  end
end

function create_table(drv, con, number)
  local opt = sysbench.opt
  print(string.format("Creating table 'sbtest%d'...", number))
  con:query(string.format([[
CREATE TABLE sbtest%d(
  id INTEGER NOT NULL%s,
  k INTEGER DEFAULT '0' NOT NULL,
  c CHAR(120) DEFAULT '' NOT NULL,
  pad CHAR(60) DEFAULT '' NOT NULL,
  %s (id)
) /*! ENGINE = %s */ %s]], number, opt.auto_inc and " AUTO_INCREMENT" or "",
    opt.secondary and "KEY xid" or "PRIMARY KEY", opt.mysql_storage_engine, opt.create_table_options or ""))
  if opt.table_size > 0 then
    print(string.format("Inserting %d records into 'sbtest%d'", opt.table_size, number))
  end
  local columns = opt.auto_inc and "(k, c, pad)" or "(id, k, c, pad)"
  con:bulk_insert_init("INSERT INTO sbtest" .. number .. columns .. " VALUES")
  for id = 1, opt.table_size do
    local row = string.format("%d, '%s', '%s')", get_id(), get_c_value(), get_pad_value())
    con:bulk_insert_next(opt.auto_inc and "(" .. row or string.format("(%d, ", id) .. row)
  end
  con:bulk_insert_done()
  if opt.create_secondary then
    print(string.format("Creating a secondary index on 'sbtest%d'...", number))
    con:query(string.format("CREATE INDEX k_%d ON sbtest%d(k)", number, number))
  end
end

function cmd_prepare()
  local drv = sysbench.sql.driver()
  local con = drv:connect()
  for_own_tables(function(number)
    create_table(drv, con, number)
  end)
end

function cmd_warmup()
  local con = sysbench.sql.driver():connect()
  con:query("SET tmp_table_size=2*1024*1024*1024")
  con:query("SET max_heap_table_size=2*1024*1024*1024")
  for_own_tables(function(number)
    local name, rows = "sbtest" .. number, sysbench.opt.table_size
    print("Prewarming table " .. name)
    con:query("ANALYZE TABLE " .. name)
    con:query(string.format("SELECT AVG(id) FROM (SELECT * FROM %s FORCE KEY (PRIMARY) LIMIT %u) t", name, rows))
    con:query(string.format("SELECT COUNT(*) FROM (SELECT * FROM %s WHERE k LIKE '%%0%%' LIMIT %u) t", name, rows))
  end)
end
cmd_prewarm = cmd_warmup

sysbench.cmdline.commands = {
  prepare = { cmd_prepare, sysbench.cmdline.PARALLEL_COMMAND },
  warmup = { cmd_warmup, sysbench.cmdline.PARALLEL_COMMAND },
  prewarm = { cmd_prewarm, sysbench.cmdline.PARALLEL_COMMAND },
}

function cleanup()
  local con = sysbench.sql.driver():connect()
  for number = 1, sysbench.opt.tables do
    print(string.format("Dropping table 'sbtest%d'...", number))
    con:query("DROP TABLE IF EXISTS sbtest" .. number)
  end
end

-- Prepares a statement for each table, with its parameters.
function prepare_for_each_table(key)
  for number = 1, sysbench.opt.tables do
    local text, types = statements[key][1], statements[key][2]
    local prepared, parameters = con:prepare(string.format(text, number)), {}
    for place, kind in ipairs(types) do
      if type(kind) == "table" then
        parameters[place] = prepared:bind_create(kind[1], kind[2])
      else
        parameters[place] = prepared:bind_create(kind)
      end
    end
    prepared:bind_param(unpack(parameters))
    stmt[number][key], param[number][key] = prepared, parameters
  end
end

function prepare_begin()
  stmt.begin = con:prepare("BEGIN")
end

function prepare_commit()
  stmt.commit = con:prepare("COMMIT")
end

function prepare_point_selects()
  prepare_for_each_table("point_selects")
end

function prepare_simple_ranges()
  prepare_for_each_table("simple_ranges")
end

function prepare_sum_ranges()
  prepare_for_each_table("sum_ranges")
end

function prepare_order_ranges()
  prepare_for_each_table("order_ranges")
end

function prepare_distinct_ranges()
  prepare_for_each_table("distinct_ranges")
end

function prepare_index_updates()
  prepare_for_each_table("index_updates")
end

function prepare_non_index_updates()
  prepare_for_each_table("non_index_updates")
end

function prepare_delete_inserts()
  prepare_for_each_table("deletes")
  prepare_for_each_table("inserts")
end

function begin()
  stmt.begin:execute()
end

function commit()
  stmt.commit:execute()
end

function execute_point_selects()
  local number = get_table_num()
  for _ = 1, sysbench.opt.point_selects do
    param[number].point_selects[1]:set(get_id())
    stmt[number].point_selects:execute()
  end
end

local function execute_range(key)
  local number = get_table_num()
  for _ = 1, sysbench.opt[key] do
    local id = get_id()
    param[number][key][1]:set(id)
    param[number][key][2]:set(id + sysbench.opt.range_size - 1)
    stmt[number][key]:execute()
  end
end

function execute_simple_ranges()
  execute_range("simple_ranges")
end

function execute_sum_ranges()
  execute_range("sum_ranges")
end

function execute_order_ranges()
  execute_range("order_ranges")
end

function execute_distinct_ranges()
  execute_range("distinct_ranges")
end

function execute_index_updates()
  local number = get_table_num()
  for _ = 1, sysbench.opt.index_updates do
    param[number].index_updates[1]:set(get_id())
    stmt[number].index_updates:execute()
  end
end

function execute_non_index_updates()
  local number = get_table_num()
  for _ = 1, sysbench.opt.non_index_updates do
    param[number].non_index_updates[1]:set_rand_str(c_format)
    param[number].non_index_updates[2]:set(get_id())
    stmt[number].non_index_updates:execute()
  end
end

function execute_delete_inserts()
  local number = get_table_num()
  for _ = 1, sysbench.opt.delete_inserts do
    local id, row = get_id(), param[number].inserts
    param[number].deletes[1]:set(id)
    row[1]:set(id)
    row[2]:set(get_id())
    row[3]:set_rand_str(c_format)
    row[4]:set_rand_str(pad_format)
    stmt[number].deletes:execute()
    stmt[number].inserts:execute()
  end
end

local function new_statements()
  stmt, param = {}, {}
  for number = 1, sysbench.opt.tables do
    stmt[number], param[number] = {}, {}
  end
  prepare_statements()
end

function thread_init()
  drv = sysbench.sql.driver()
  con = drv:connect()
  new_statements()
end

function close_statements()
  for _, prepared in pairs(stmt) do
    if type(prepared) == "table" and prepared.close == nil then
      for _, of_table in pairs(prepared) do
        of_table:close()
      end
    else
      prepared:close()
    end
  end
end

function thread_done()
  close_statements()
  con:disconnect()
end

-- Statements are gone with their connection: prepared again where it was lost.
local lost = { [2006] = true, [2011] = true, [2013] = true, [2055] = true }
function sysbench.hooks.before_restart_event(err)
  if lost[err.sql_errno] then
    new_statements()
  end
end

local events = 0
function check_reconnect()
  if (sysbench.opt.reconnect or 0) > 0 then
    events = events + 1
    if events % sysbench.opt.reconnect == 0 then
      close_statements()
      con:reconnect()
      new_statements()
    end
  end
end
