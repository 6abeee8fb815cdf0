-- The schema of version 1. A status is its place in the order of the specification: 0, 1 or 2; NULL when none was given.
-- Ids are never used twice (AUTOINCREMENT). The index covers a filtered list, so that its cost does not grow with the catalogue.
CREATE TABLE animals (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    category_id INTEGER NOT NULL,
    status INTEGER CHECK (status IN (0, 1, 2))
) STRICT;
CREATE INDEX animals_by_status ON animals (status, id, name, category_id);
CREATE TABLE keys (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    plan TEXT NOT NULL,
    per_minute INTEGER NOT NULL CHECK (per_minute > 0),
    per_day INTEGER NOT NULL CHECK (per_day > 0),
    hash BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
    created_at INTEGER NOT NULL,
    revoked_at INTEGER
) STRICT;
CREATE TABLE usage (
    key_id INTEGER PRIMARY KEY REFERENCES keys (id),
    minute INTEGER NOT NULL,
    in_minute INTEGER NOT NULL,
    in_day INTEGER NOT NULL,
    refusals INTEGER NOT NULL,
    banned_until INTEGER NOT NULL
) STRICT;
