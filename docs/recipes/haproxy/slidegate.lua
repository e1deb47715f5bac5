-- Checks a request with Slidegate and stores the result in variables that haproxy.cfg evaluates.

-- Client headers that the policy uses, besides method, path, scheme, host and address.
local PASSED_ON = { "x-api-key" }

-- Slidegate rejects longer values, and all values together must fit HAProxy's buffer (16 KiB).
local MAX_VALUE_BYTES = 4096
local MAX_BYTES = 12288

-- A longer response body would not fit the buffer either.
local MAX_BODY_BYTES = 8192
local SHORT_BODY = '{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Too many requests"}'

local VARIABLES = {
    ["ratelimit-policy"] = "txn.slidegate_policy",
    ["ratelimit"] = "txn.slidegate_limit",
    ["retry-after"] = "txn.slidegate_retry_after",
}

-- The values of a header. HAProxy's index starts at 0.
local function values(headers, name)
    local list = {}
    local index = 0
    while headers[name] and headers[name][index] do
        list[#list + 1] = headers[name][index]
        index = index + 1
    end
    return list
end

local function question(txn)
    local headers = {
        ["x-forwarded-method"] = { txn.sf:method() },
        -- Without the query, which no rule uses and which may be long.
        ["x-forwarded-uri"] = { txn.sf:path() },
        ["x-forwarded-proto"] = { txn.f:ssl_fc() and "https" or "http" },
        ["x-forwarded-host"] = { txn.sf:req_hdr("host") },
        ["x-forwarded-for"] = { txn.sf:src() },
    }
    local from_client = txn.http:req_get_headers()
    for _, name in ipairs(PASSED_ON) do
        local list = values(from_client, name)
        if #list > 0 then
            headers[name] = list
        end
    end
    return headers
end

local function is_too_long(headers)
    local bytes = 0
    for _, list in pairs(headers) do
        for _, value in ipairs(list) do
            bytes = bytes + #value
            if #value > MAX_VALUE_BYTES then
                return true
            end
        end
    end
    return bytes > MAX_BYTES
end

-- Whether Slidegate is down. The status is then HAProxy's own: 503 if Slidegate is unreachable, 504
-- on a timeout, and no variable is set. Any other failure is a denial: the client may be the cause.
local function is_away(answer)
    return answer.status == 503 or answer.status == 504
end

core.register_action("slidegate", { "http-req" }, function(txn)
    local headers = question(txn)
    if is_too_long(headers) then
        txn:set_var("txn.slidegate_status", 400)
        txn:set_var("txn.slidegate_body", "")
        return
    end
    local answer = core.httpclient():get({
        url = "http://slidegate/v1/authorize",
        dst = "unix@slidegate.sock",
        headers = headers,
    })
    if not (answer.headers and answer.headers["x-answered-by"]) then
        if not is_away(answer) then
            txn:set_var("txn.slidegate_status", 500)
            txn:set_var("txn.slidegate_body", "")
        end
        return
    end
    local body = answer.body or ""
    txn:set_var("txn.slidegate_status", answer.status)
    txn:set_var("txn.slidegate_body", #body > MAX_BODY_BYTES and SHORT_BODY or body)
    for name, variable in pairs(VARIABLES) do
        local value = values(answer.headers, name)[1]
        if value then
            txn:set_var(variable, value)
        end
    end
end)
