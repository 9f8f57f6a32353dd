-- What the linked program runs in the demonstration: tables, strings, closures, coroutines, errors and numbers.
local function primes(limit)
  return coroutine.wrap(function()
    local composite = {}
    for n = 2, limit do
      if not composite[n] then
        coroutine.yield(n)
        for multiple = n * n, limit, n do composite[multiple] = true end
      end
    end
  end)
end

local count, sum = 0, 0
for prime in primes(100000) do count, sum = count + 1, sum + prime end
assert(count == 9592 and sum == 454396537)

local words = {}
for word in ("the quick brown fox jumps over the lazy dog"):gmatch("%a+") do words[#words + 1] = word end
table.sort(words)
assert(table.concat(words, " ") == "brown dog fox jumps lazy over quick the the")

local ok, message = pcall(error, { code = 42 })
assert(not ok and message.code == 42)
assert(string.format("%.10f", math.pi) == "3.1415926536")

print(string.format("%s: %d primes below 100000, their sum is %d", _VERSION, count, sum))
