-- What a script's hooks print reports with, and sysbench.histogram.
local _, interface = ...

local function rates(stat)
  local seconds = stat.time_interval
  return stat.events / seconds, stat.reads / seconds, stat.writes / seconds, stat.other / seconds,
    stat.errors / seconds, stat.reconnects / seconds
end

local function report_default(stat, percentile)
  local events, reads, writes, other, errors, reconnects = rates(stat)
  local line = "[ %.0fs ] thds: %d tps: %4.2f qps: %4.2f (r/w/o: %4.2f/%4.2f/%4.2f) lat (ms,%d%%): %4.2f "
    .. "err/s %4.2f reconn/s: %4.2f\n"
  return string.format(line, stat.time_total, stat.threads_running, events, reads + writes + other, reads, writes,
    other, percentile, stat.latency_pct * 1000, errors, reconnects)
end

local function report_csv(stat)
  local events, reads, writes, other, errors, reconnects = rates(stat)
  return string.format("%.0f,%d,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f\n", stat.time_total,
    stat.threads_running, events, reads + writes + other, reads, writes, other, stat.latency_pct * 1000, errors,
    reconnects)
end

local JSON = [[
  {
    "time": %4d,
    "threads": %d,
    "tps": %4.2f,
    "qps": {
      "total": %4.2f,
      "reads": %4.2f,
      "writes": %4.2f,
      "other": %4.2f
    },
    "latency": %4.2f,
    "errors": %4.2f,
    "reconnects": %4.2f
  }]]

local function report_json(stat)
  local events, reads, writes, other, errors, reconnects = rates(stat)
  return string.format(JSON, math.floor(stat.time_total + 0.5), stat.threads_running, events, reads + writes + other,
    reads, writes, other, stat.latency_pct * 1000, errors, reconnects)
end

-- Gives an environment its reports; what it returns ends them.
function interface.add_reports(environment, sysbench)
  local has_json = false
  local function write(text)
    environment.io.write(text)
  end
  function sysbench.report_default(stat)
    write(report_default(stat, sysbench.opt.percentile))
  end
  function sysbench.report_csv(stat)
    write(report_csv(stat))
  end
  function sysbench.report_json(stat)
    write(has_json and ",\n" or "[\n")
    has_json = true
    write(report_json(stat))
  end
  return function()
    if has_json then
      write("\n]\n")
    end
  end
end

local histogram = {}
histogram.__index = histogram

-- Values are counted in buckets whose widths grow by one factor from the least value to the most.
function histogram.new(size, least, most)
  local made = { counts = {}, least = least, factor = (math.log(most) - math.log(least)) / (size - 1), size = size }
  return setmetatable(made, histogram)
end

function histogram:update(value)
  local place = math.floor((math.log(value) - math.log(self.least)) / self.factor + 0.5)
  place = math.max(0, math.min(place, self.size - 1))
  self.counts[place] = (self.counts[place] or 0) + 1
end

function histogram:print()
  local largest = 0
  for _, count in pairs(self.counts) do
    largest = math.max(largest, count)
  end
  io.write("       value  ------------- distribution ------------- count\n")
  for place = 0, self.size - 1 do
    local count = self.counts[place]
    if count then
      local bar = string.rep("*", math.floor(count * 40 / largest + 0.5))
      io.write(string.format("%12.3f |%-40s %d\n", self.least * math.exp(place * self.factor), bar, count))
    end
  end
end

interface.histogram = { new = histogram.new }
