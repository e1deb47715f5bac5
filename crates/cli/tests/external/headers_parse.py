# Reads structured-field lists (a JSON list of header values) and writes their items, by a parser that knows nothing of Slidegate.
import json
import sys

import http_sf


def plain(item):
    name, parameters = item
    # Strings, not tokens, as the draft has it; and integers, not decimals.
    assert type(name) is str, repr(name)
    assert all(type(value) in (int, str) for value in parameters.values()), repr(parameters)
    return {"name": name, "parameters": parameters}


values = json.load(sys.stdin)
json.dump([[plain(item) for item in http_sf.parse(value.encode("ascii"), tltype="list")] for value in values], sys.stdout)
