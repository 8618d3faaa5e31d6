-- From here on several instances share one database. An instance owns a conversation's lane while it
-- has work; see lanes/owned-lanes.ts.

-- beside: it works beside others, and its lanes bear its number; false: of the release before, which
-- has the database alone, and no lane of its own yet. buried: it is dead, and its lanes are free
-- again. board_read: the last row of the board that it has acted on. config: the number in svc.config
-- that it has in use; null: it is not asked about another one, since it has none in use yet, or ends.
ALTER TABLE svc.instance
  ADD COLUMN beside boolean NOT NULL DEFAULT false,
  ADD COLUMN buried boolean NOT NULL DEFAULT false,
  ADD COLUMN board_read bigint NOT NULL DEFAULT 0,
  ADD COLUMN config bigint;

-- owner: the instance that works it; null: it is free. No index has the owner, or every take and
-- release would write all indexes anew. epoch: counts the takes, so that an owner knows whether what
-- it remembers is still so.
-- waits: what lies in a lane that is free. 0: nothing; 1: parked replies; 2: rows that whoever has
-- room is to take; 3: the same, with a suspect in front.
ALTER TABLE svc.lane
  ADD COLUMN owner bigint,
  ADD COLUMN epoch bigint NOT NULL DEFAULT 0,
  ADD COLUMN waits smallint NOT NULL DEFAULT 0;
-- A conversation that was forgotten and begins anew counts on from the time, so that nobody takes it
-- for the one before.
ALTER TABLE svc.lane
  ALTER epoch SET DEFAULT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint;
CREATE INDEX lane_waits ON svc.lane (channel, conversation) WHERE waits >= 2;
UPDATE svc.lane AS lane SET waits = 2 WHERE EXISTS (
  SELECT FROM svc.inbox WHERE channel = lane.channel AND conversation = lane.conversation
) OR EXISTS (
  SELECT FROM svc.outbox WHERE channel = lane.channel AND conversation = lane.conversation
);

-- Parked replies belong to nobody: who finds them due takes their lane.
CREATE INDEX outbox_due ON svc.outbox (due_at) WHERE parked;

-- What one instance alone may do, by name. epoch: counts its holders.
CREATE TABLE svc.post (
  name text COLLATE "C" PRIMARY KEY,
  owner bigint,
  epoch bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

-- What an instance tells the others. Its numbers follow the commits.
CREATE TABLE svc.board (
  n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  kind text NOT NULL,
  body text NOT NULL
);

-- What an instance tells of itself, as JSON: counters and gauges. A crash of the server empties it.
CREATE UNLOGGED TABLE svc.instance_status (
  id bigint PRIMARY KEY,
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  body text NOT NULL
) WITH (fillfactor = 10);

-- Live frames in lots, while somebody looks at them. n: the lot's number, which its instance counts:
-- a crash of the server empties the table, and takes back no number.
CREATE UNLOGGED TABLE svc.frame (
  instance bigint NOT NULL,
  n bigint NOT NULL,
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  left_out integer NOT NULL,
  body text NOT NULL,
  PRIMARY KEY (instance, n)
);

-- The configurations that were in use. The newest is in use now. by: who applied it.
CREATE TABLE svc.config (
  n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  revision text NOT NULL,
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  by text NOT NULL,
  text text NOT NULL
);

-- A configuration that is to come into use once every living instance has agreed. base: the number in
-- svc.config that it follows. outcome: null while it is open, else what became of it, as JSON.
CREATE TABLE svc.proposal (
  n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  base bigint NOT NULL,
  instance bigint NOT NULL,
  revision text NOT NULL,
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  by text NOT NULL,
  text text NOT NULL,
  outcome text
);
CREATE UNIQUE INDEX proposal_open ON svc.proposal ((true)) WHERE outcome IS NULL;

-- refusal: why it cannot be used there, as JSON; null: it can.
CREATE TABLE svc.vote (
  proposal bigint NOT NULL,
  instance bigint NOT NULL,
  refusal text,
  PRIMARY KEY (proposal, instance)
);
