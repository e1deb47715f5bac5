-- Asks Slidegate about a request, and leaves the answer in variables for haproxy.cfg to act on.

-- Headers of the client that the policy uses, besides method, path, scheme, host and address.
local PASSED_ON = { "x-api-key" }

local VARIABLES = {
    ["ratelimit-policy"] = "txn.slidegate_policy",
    ["ratelimit"] = "txn.slidegate_limit",
    ["retry-after"] = "txn.slidegate_retry_after",
}

-- The values of a header, which HAProxy counts from 0.
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
        ["x-forwarded-uri"] = { txn.sf:pathq() },
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

core.register_action("slidegate", { "http-req" }, function(txn)
    local answer = core.httpclient():get({
        url = "http://slidegate/v1/authorize",
        dst = "unix@slidegate.sock",
        headers = question(txn),
    })
    if not (answer.headers and answer.headers["x-answered-by"]) then
        return
    end
    txn:set_var("txn.slidegate_status", answer.status)
    txn:set_var("txn.slidegate_body", answer.body or "")
    for name, variable in pairs(VARIABLES) do
        local value = values(answer.headers, name)[1]
        if value then
            txn:set_var(variable, value)
        end
    end
end)
