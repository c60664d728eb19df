"""Prints as JSON what feedparser reads in the files whose paths it gets as lines, which are the reference."""
import json
import re
import sys

import feedparser

HEADER = re.compile(rb"^Header:\s+Content-type:(.*)$", re.MULTILINE | re.IGNORECASE)


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    header = HEADER.search(data)
    content_type = header and header.group(1).decode("latin1").strip()
    headers = {"content-type": content_type} if content_type else {}
    feed = feedparser.parse(data, response_headers=headers, resolve_relative_uris=False, sanitize_html=False)
    is_rss = (feed.get("version") or "").startswith("rss")
    return {
        "contentType": content_type,
        "group": feed.feed.get("link" if is_rss else "id"),
        "items": [{"id": entry.get("id"), "link": entry.get("link")} for entry in feed.entries],
    }


found = {}
for path in sys.stdin.read().splitlines():
    try:
        found[path] = read(path)
    except Exception as error:
        print(path, repr(error), file=sys.stderr)
json.dump(found, sys.stdout)
