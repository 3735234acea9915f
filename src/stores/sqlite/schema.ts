/** The tables of a Holdfast file, and the two numbers in its header that say whose file it is and how it is laid out. */

/** `PRAGMA application_id` of our files: "HOLD" in ASCII. */
export const APPLICATION_ID = 0x484f4c44

/** `PRAGMA user_version`: the layout that this build writes. A file with a higher one is refused, a lower one is migrated. */
export const FORMAT = 1

/** Files that were made before there was one get it when they are opened for writing. */
export const SECOND_INDEX = 'CREATE INDEX runs_by_id ON runs (run_id)'

/**
 * Entries and messages point at a run by a small number, not by its id, which may be long.
 * `journal` is an ordinary table with an index: WITHOUT ROWID wrote 1.5 times as much and took 3.4 times the space for bodies
 * of 1.2 KB, because an index page keeps at most a quarter of itself of one row.
 * The indexes of `runs` leave out `updated_at`, which moves with every append and would cost each of them one more page.
 * That by which a run is not found is asked a second time of `runs_by_id`: where one bit of the first is wrong, a run that is there would be started
 * anew, and its effects made twice. It costs one page when a run is made, and nothing when it is written to.
 */
export const TABLES = `
  CREATE TABLE runs (
    key         INTEGER PRIMARY KEY,
    run_id      BLOB    NOT NULL UNIQUE,
    agent       BLOB    NOT NULL,
    thread_id   BLOB,
    status      TEXT    NOT NULL,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    resume_at   INTEGER,
    token       INTEGER NOT NULL,
    owner       TEXT,
    lease_until INTEGER NOT NULL,
    last_seq    INTEGER NOT NULL,
    inbox_seq   INTEGER NOT NULL
  ) STRICT;
  ${SECOND_INDEX};
  CREATE INDEX runs_by_status ON runs (status);
  CREATE INDEX runs_by_resume_at ON runs (resume_at) WHERE resume_at IS NOT NULL;
  CREATE INDEX runs_by_thread ON runs (thread_id) WHERE thread_id IS NOT NULL;

  CREATE TABLE journal (
    run  INTEGER NOT NULL REFERENCES runs (key) ON DELETE CASCADE,
    seq  INTEGER NOT NULL,
    body TEXT    NOT NULL,
    sum  TEXT    NOT NULL,
    UNIQUE (run, seq)
  ) STRICT;

  CREATE TABLE inbox (
    run      INTEGER NOT NULL REFERENCES runs (key) ON DELETE CASCADE,
    seq      INTEGER NOT NULL,
    question BLOB,
    body     TEXT    NOT NULL,
    UNIQUE (run, seq),
    UNIQUE (run, question)
  ) STRICT;
`
