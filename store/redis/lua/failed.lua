-- What is done when a script fails that is not of a queue, or only looks.
local text = type(result) == 'table' and result.err or tostring(result)
