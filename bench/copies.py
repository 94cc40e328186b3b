"""Many parked cases out of one: its records copied under other ids, whatever they are.

It goes by the ids alone: every row, key and entry that names the case or its run is copied, so
it needs to know no layout.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from redis import Redis

from bench.runs import CASE_ID

AT_ONCE = 500
COPY = """
local case_id, run_id = ARGV[3], ARGV[4]
local commands, place = {}, 7
while place <= #ARGV do
  local words, naming = {}, {}
  for each = 1, tonumber(ARGV[place]) do
    words[each] = ARGV[place + each]
    if string.find(words[each], case_id, 1, true) or string.find(words[each], run_id, 1, true) then
      naming[each] = words[each]
    end
  end
  commands[#commands + 1] = { words, naming }
  place = place + #words + 1
end
for number = tonumber(ARGV[1]), tonumber(ARGV[2]) do
  local ids = {
    [case_id] = string.format(ARGV[5], number), [run_id] = string.format(ARGV[6], number)
  }
  for _, command in ipairs(commands) do
    local words, naming = unpack(command)
    for each, word in pairs(naming) do
      word = string.gsub(word, case_id, ids[case_id])
      words[each] = string.gsub(word, run_id, ids[run_id])
    end
    redis.call(unpack(words))
  end
end
"""
RUN_ID = "run_{:012d}"


@dataclass(frozen=True, kw_only=True)
class Copies:
    """So many equal cases in the store at `url`; the one with number 0 is the original."""

    url: str
    count: int
    first_run_id: str

    def ids(self, number: int) -> tuple[str, str]:
        """The ids of a case and its run."""
        run_id = RUN_ID.format(number) if number else self.first_run_id
        return CASE_ID.format(number), run_id


def copied_in_sqlite(path: Path, count: int) -> Copies:
    """The one case in the file becomes `count`."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        run_id: str = db.execute("SELECT run_id FROM runs").fetchone()[0]
        db.create_function("case_id", 1, CASE_ID.format, deterministic=True)
        db.create_function("run_id", 1, RUN_ID.format, deterministic=True)
        tables = db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        db.execute("PRAGMA synchronous = OFF")
        db.execute("BEGIN")
        db.execute("CREATE TEMP TABLE numbers (number INTEGER PRIMARY KEY, case_id, run_id)")
        db.execute(
            "WITH RECURSIVE counted (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted LIMIT ?)"
            "INSERT INTO numbers SELECT n, case_id(n), run_id(n) FROM counted",
            (count - 1,),
        )
        for (table,) in tables:
            _copy_rows(db, table, run_id)
        db.execute("COMMIT")
    return Copies(url=f"sqlite:///{path}", count=count, first_run_id=run_id)


def _copy_rows(db: sqlite3.Connection, table: str, run_id: str) -> None:
    columns = {name: kind for _, name, kind, *_ in db.execute(f"PRAGMA table_info({table})")}
    key = next((name for name in ("case_id", "run_id") if name in columns), None)
    if key is None:
        return
    columns.pop("id", None)
    old = {"case_id": CASE_ID.format(0), "run_id": run_id}

    def renamed(column: str) -> str:
        text = f"CAST({table}.{column} AS TEXT)"
        for name, value in old.items():
            text = f"replace({text}, '{value}', numbers.{name})"
        return f"CAST({text} AS {columns[column]})"

    copied = (
        renamed(name) if kind in ("TEXT", "BLOB") else f"{table}.{name}"
        for name, kind in columns.items()
    )
    db.execute(
        f"INSERT INTO {table} ({', '.join(columns)}) SELECT {', '.join(copied)} "
        f"FROM numbers, {table} WHERE {table}.{key} = '{old[key]}' ORDER BY numbers.number"
    )


def copied_in_redis(url: str, count: int) -> Copies:
    """The one case in the database becomes `count`."""
    client: Any = Redis.from_url(  # pyright: ignore[reportUnknownMemberType]
        url, socket_timeout=None
    )
    with client:
        run_id: str = client.zrange("casethread:runs", 0, 0)[0].decode().partition(":")[2]
        case_id = CASE_ID.format(0)
        words: list[Any] = []
        for command in _commands(client, (case_id.encode(), run_id.encode())):
            words += (len(command), *command)
        forms = ("T1:C1:%07d", "run_%012d")
        copy = client.register_script(COPY)
        for first in range(1, count, AT_ONCE):
            last = min(first + AT_ONCE, count) - 1
            copy(args=(first, last, case_id, run_id, *forms, *words))
    return Copies(url=url, count=count, first_run_id=run_id)


def _commands(client: Any, ids: Sequence[bytes]) -> Iterator[Sequence[Any]]:
    """What makes the case's keys, and its entries in the others, anew."""

    def named(*words: bytes) -> bool:
        return any(each in word for word in words for each in ids)

    for key in client.scan_iter(count=1000):
        whole = named(key)
        match client.type(key):
            case b"hash":
                entries = [
                    word
                    for pair in client.hgetall(key).items()
                    if whole or named(*pair)
                    for word in pair
                ]
                command: Sequence[Any] = ("HSET", key, *entries)
            case b"zset":
                entries = [
                    word
                    for member, score in client.zrange(key, 0, -1, withscores=True)
                    if whole or named(member)
                    for word in (repr(score), member)
                ]
                command = ("ZADD", key, *entries)
            case b"list" if whole:
                command = ("RPUSH", key, *client.lrange(key, 0, -1))
            case b"string" if whole:
                command = ("SET", key, client.get(key))
            case _:
                continue
        if len(command) > 2:
            yield command
