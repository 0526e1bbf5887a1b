-- Runs a plan (see load/generate.js) under wrk. The values that answers yield are sent by the next step.
local steps = {}
local yields = false

function init(arguments)
  steps = dofile(arguments[1])
  for _, step in ipairs(steps) do
    step.at = 0
    if step.yields then yields = true end
    if not step.takes then
      step.requests = {}
      for i, value in ipairs(step.values) do step.requests[i] = write(step, value) end
    end
  end
  if not yields then response = nil end
end

function write(step, value)
  local headers = {}
  for name, text in pairs(step.headers) do headers[name] = text:gsub("{value}", value) end
  local body = step.body and step.body:gsub("{value}", value)
  local path = step.path:gsub("{value}", value)
  return wrk.format(step.method, path, headers, body)
end

-- the last step that has a value to send
function request()
  for i = #steps, 1, -1 do
    local step = steps[i]
    if step.takes then
      local value = table.remove(step.values)
      if value then return write(step, value) end
    else
      step.at = step.at % #step.requests + 1
      return step.requests[step.at]
    end
  end
  error("no step has anything to send")
end

function response(status, headers, body)
  for i, step in ipairs(steps) do
    local yielded = step.yields and ((headers["Location"] or "") .. body):match(step.yields)
    if yielded then table.insert(steps[step.to].values, yielded) end
  end
end

function done(summary, latency)
  io.write(string.format(
    '\n{"requests":%d,"seconds":%f,"refused":%d,"broken":%d,"p50":%f,"p99":%f}\n',
    summary.requests, summary.duration / 1e6, summary.errors.status,
    summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3))
end
