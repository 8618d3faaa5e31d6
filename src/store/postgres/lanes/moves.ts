/**
 * How lanes change hands, in a transaction of their own behind a flight: nothing here waits for a
 * lock, since what another instance holds just now is left for the next time.
 *
 * A lane is let go only where its number is the one that this instance knows. Where it is not,
 * another instance has accepted a message, or put a reply back, since: that is read first. Both
 * change the same row, so neither can miss the other.
 */
import type { ChannelKey, ConversationId } from '../../../domain/ids.ts';
import type { Where } from '../../ledger/memories.ts';
import { fromText, toText } from '../server/text.ts';
import type { Rear } from '../write/flights.ts';
import type { Asked, Rows } from '../write/statement.ts';
import type { Behind } from '../write/writer.ts';
import type { OwnedLane, OwnedLanes } from './owned-lanes.ts';
import type { LaneName } from './row-pages.ts';
import { aloneMax, attemptsMax } from '../../order/quarantine.ts';

/** So many lanes change hands in one statement. */
export const lanesMax = 500;
/** After so many vain tries it is asked whose a lane is. */
const skipsMax = 20;

const named = 'x(channel text COLLATE "C", conversation text COLLATE "C")';
const pk = (table: string): string =>
  `lane.channel = ${table}.channel AND lane.conversation = ${table}.conversation`;

/**
 * $2: this instance. `given`: also where more has come, which the next owner reads. One that is late,
 * after its connection was lost, finds that the lane was taken again since.
 */
const release = `
WITH mine AS (
  SELECT lane.channel, lane.conversation, lane.tail, x.tail = lane.tail OR x.given AS goes, x.waits
  FROM json_to_recordset($1) AS x(channel text COLLATE "C", conversation text COLLATE "C",
    epoch bigint, tail bigint, waits smallint, given boolean)
  JOIN svc.lane AS lane ON ${pk('x')}
  WHERE lane.owner = $2 AND lane.epoch = x.epoch FOR UPDATE OF lane SKIP LOCKED
), free AS (
  UPDATE svc.lane AS lane SET owner = NULL, waits = mine.waits
  FROM mine WHERE ${pk('mine')} AND mine.goes
)
SELECT channel, conversation, tail, goes FROM mine`;

/** Given back in order: nothing that waits in them is a suspect, unless it is condemned. */
const untried = `
UPDATE svc.inbox AS was SET attempts = 0, alone = 0 FROM json_to_recordset($1) AS ${named}
WHERE was.channel = x.channel AND was.conversation = x.conversation
  AND (was.attempts > 0 OR was.alone > 0) AND was.alone < ${aloneMax}`;

const owners = `
SELECT x.channel, x.conversation, lane.owner, lane.epoch FROM json_to_recordset($1) AS ${named}
LEFT JOIN svc.lane AS lane ON ${pk('x')}`;

/** $2: channels; $3 and $4: whether all others but these, too. */
const mayTake =
  'lane.owner IS NULL AND (lane.channel = ANY($2) OR ($3 AND lane.channel <> ALL($4)))';
const take = (found: string): string => `
WITH ${found}
UPDATE svc.lane AS lane SET owner = $1, epoch = lane.epoch + 1, waits = greatest(lane.waits, 2)
FROM found WHERE ${pk('found')}
RETURNING lane.channel, lane.conversation, lane.epoch, lane.tail`;

/** From a place on, so that none waits for ever behind others. $5, $6: the place. */
const takeWaiting = take(`found AS (
  SELECT channel, conversation FROM svc.lane AS lane
  WHERE waits >= 2 AND waits < $7 AND ${mayTake} AND (channel, conversation) > ($5, $6)
  ORDER BY channel, conversation LIMIT ${lanesMax} FOR UPDATE SKIP LOCKED
)`);

/** Lanes of parked replies whose time has come. $5: now, milliseconds since 1970. */
const takeDue = take(`due AS (
  SELECT DISTINCT channel, conversation FROM (
    SELECT channel, conversation FROM svc.outbox WHERE parked AND due_at <= $5
    ORDER BY due_at LIMIT 2000
  ) AS one
), found AS (
  SELECT lane.channel, lane.conversation FROM due JOIN svc.lane AS lane ON ${pk('due')}
  WHERE lane.waits < 2 AND ${mayTake} LIMIT ${lanesMax} FOR UPDATE OF lane SKIP LOCKED
)`);

/** Those that this instance has taken since something waits in them. */
const takenBefore =
  'SELECT channel, conversation, epoch, tail FROM svc.lane WHERE waits >= 2 AND owner = $1';

/** $2: this instance. */
const own = `
SELECT lane.channel, lane.conversation, lane.epoch, lane.tail FROM json_to_recordset($1) AS ${named}
JOIN svc.lane AS lane ON ${pk('x')} WHERE lane.owner = $2`;

/** The owner is no more; or nobody has it, and nobody looks for it. */
const isLost = `(lane.owner IS NULL AND lane.waits < 2) OR (lane.owner IS NOT NULL
    AND NOT EXISTS (SELECT FROM svc.instance WHERE id = lane.owner AND NOT dead))`;

/**
 * Makes lanes free whose owner is no more. What was first in them counts as tried, unless the owner
 * ended by a fault of the storage, or in order: then nothing in them does any more. A reply that was
 * due may have been sent. $2: now.
 */
const free = `
WITH lost AS (
  SELECT lane.channel, lane.conversation, lane.owner FROM json_to_recordset($1) AS ${named}
  JOIN svc.lane AS lane ON ${pk('x')} WHERE ${isLost} FOR UPDATE OF lane SKIP LOCKED
), ends AS (
  SELECT lost.channel, lost.conversation, was.ended::json ->> 'alone' AS alone,
    CASE WHEN lost.owner IS NULL THEN 'none' WHEN was.ended IS NULL THEN 'crash'
      WHEN was.ended::json ->> 'clean' = 'true' THEN 'clean' ELSE 'storage' END AS kind
  FROM lost LEFT JOIN svc.instance AS was ON was.id = lost.owner
), heads AS (
  SELECT head.id,
    CASE WHEN ends.kind = 'crash' THEN head.attempts + 1
      WHEN ends.kind = 'clean' AND head.alone < ${aloneMax} THEN 0
      ELSE head.attempts END AS attempts,
    CASE WHEN head.id = ends.alone THEN head.alone - 1
      WHEN ends.kind = 'clean' AND head.alone < ${aloneMax} THEN 0
      ELSE head.alone END AS alone
  FROM ends CROSS JOIN LATERAL (
    SELECT id, attempts, alone FROM svc.inbox
    WHERE channel = ends.channel AND conversation = ends.conversation
    ORDER BY n LIMIT CASE WHEN ends.kind = 'clean' THEN NULL ELSE 1 END
  ) AS head
), tried AS (
  UPDATE svc.inbox AS was SET attempts = heads.attempts, alone = heads.alone
  FROM heads WHERE was.id = heads.id
    AND (was.attempts <> heads.attempts OR was.alone <> heads.alone)
), sent AS (
  UPDATE svc.outbox AS was SET attempts = was.attempts + 1, replayed = was.replayed + 1,
    possible_duplicate = true
  FROM ends CROSS JOIN LATERAL (
    (SELECT id FROM svc.outbox WHERE channel = ends.channel AND conversation = ends.conversation
      AND NOT parked ORDER BY seq LIMIT 1)
    UNION ALL
    SELECT id FROM svc.outbox WHERE channel = ends.channel AND conversation = ends.conversation
      AND parked
  ) AS one
  WHERE was.id = one.id AND ends.kind IN ('crash', 'storage')
    AND coalesce(was.due_at, 0) <= $2
)
UPDATE svc.lane AS lane SET owner = NULL, waits = CASE WHEN EXISTS (
    SELECT FROM svc.inbox AS head WHERE head.channel = lost.channel
      AND head.conversation = lost.conversation
      AND (head.attempts >= ${attemptsMax - 1} OR head.alone >= ${aloneMax})
  ) THEN 3 ELSE 2 END
FROM lost WHERE ${pk('lost')}
RETURNING lane.channel, lane.conversation`;

/** What is looked for: which channels this instance works. */
export type Taking = {
  readonly channels: readonly ChannelKey[];
  /** It works all other channels as well, but for these; null: it does not. */
  readonly allBut: readonly ChannelKey[] | null;
  readonly takesSuspects: boolean;
  /** Milliseconds since 1970. */
  readonly now: number;
};

export type MovesParts = {
  readonly instance: number;
  readonly lanes: OwnedLanes;
  /** Parked replies of a lane leave the working set with it. @returns whether there were any */
  readonly drop: (lane: OwnedLane) => boolean;
  /** Something is to go. */
  readonly soon: () => void;
};

type Move = { readonly asked: Asked; readonly read: (rows: Rows | null) => void };

export class Moves implements Rear {
  readonly #parts: MovesParts;
  readonly #takes: Move[] = [];
  #sent: readonly Move[] = [];
  #place: readonly [string, string] = ['', ''];
  #isOver = false;

  constructor(parts: MovesParts) {
    this.#parts = parts;
  }

  get isWaiting(): boolean {
    return this.#parts.lanes.resting.size > 0 || this.#takes.length > 0;
  }

  /** Lanes that are being taken or made free. */
  get pending(): number {
    return this.#takes.length + this.#sent.length;
  }

  take(): Behind {
    const takes = this.#takes.splice(0);
    this.#sent = [...this.#releases(), ...takes];
    return { asked: this.#sent.map(({ asked }) => asked), takes: takes.length > 0 };
  }

  landed(answers: readonly Rows[] | null): void {
    const sent = this.#sent;
    this.#sent = [];
    for (const [at, { read }] of sent.entries()) read(answers?.[at] ?? null);
  }

  end(): void {
    this.#isOver = true;
    const left = [...this.#sent, ...this.#takes.splice(0)];
    this.#sent = [];
    for (const { read } of left) read(null);
  }

  /**
   * Takes lanes in which rows wait, and then those with replies that are due.
   * @returns whether there may be more of the first; null: it is not known what was taken
   */
  takeWaiting({ channels, allBut, takesSuspects, now }: Taking): Promise<boolean | null> {
    const { instance } = this.#parts;
    const [channel, conversation] = this.#place;
    const which = [instance, channels, allBut !== null, allBut ?? []];
    const values = [...which, channel, conversation, takesSuspects ? 4 : 3];
    const due = this.#ask({ text: takeDue, values: [...which, now] });
    const waiting = this.#ask({ text: takeWaiting, values });
    return Promise.all([due, waiting]).then(([replies, messages]) => {
      if (replies === null || messages === null) return null;
      for (const row of [...messages, ...replies]) this.#taken(row);
      const isFull = messages.length >= lanesMax;
      this.#place = isFull ? newestOf(messages) : ['', ''];
      return isFull || channel !== '';
    });
  }

  /** What was taken when the answer was lost. @returns false: it is still not known */
  async takeBefore(): Promise<boolean> {
    const { instance } = this.#parts;
    const found = await this.#ask({ text: takenBefore, values: [instance] });
    for (const row of found ?? []) this.#taken(row);
    return found !== null;
  }

  /** What of these is this instance's by the tables, and is not known here: its release was lost. */
  async takeOwn(named: readonly LaneName[]): Promise<void> {
    const values = [JSON.stringify(named.map(nameOf)), this.#parts.instance];
    for (const row of (await this.#ask({ text: own, values })) ?? []) this.#taken(row);
  }

  /** Makes lanes free whose owner is no more. @returns false: it is not known whether they are */
  async free(lanes: readonly LaneName[], now: number): Promise<boolean> {
    const values = [JSON.stringify(lanes.map(nameOf)), now];
    return (await this.#ask({ text: free, values })) !== null;
  }

  #taken({ channel, conversation, epoch, tail }: Rows[number]): void {
    const where = whereOf({ channel: String(channel), conversation: String(conversation) });
    this.#parts.lanes.take(where, Number(epoch), Number(tail));
  }

  /** Resolves to null where it is not known whether it has landed. */
  #ask(asked: Asked): Promise<Rows | null> {
    if (this.#isOver) return Promise.resolve(null);
    return new Promise((resolve) => {
      this.#takes.push({ asked, read: resolve });
      this.#parts.soon();
    });
  }

  #releases(): readonly Move[] {
    const { lanes } = this.#parts;
    const going = [...lanes.resting].slice(0, lanesMax).filter((lane) => {
      const goes = lanes.mayGo(lane);
      if (!goes) lanes.restsNoMore(lane);
      return goes;
    });
    if (going.length === 0) return [];
    const given = going.filter((lane) => lanes.leftIn(lane) === 2);
    const stuck = going.filter(({ skips }) => skips >= skipsMax);
    return [
      ...(given.length === 0 ? [] : [{ asked: this.#named(untried, given), read: () => {} }]),
      this.#release(going),
      ...(stuck.length === 0 ? [] : [this.#whose(stuck)]),
    ];
  }

  #release(going: readonly OwnedLane[]): Move {
    const { instance, lanes, drop } = this.#parts;
    const rows = going.map((lane) => {
      const { channel, conversation, epoch, tail } = lane;
      const waits = lanes.leftIn(lane);
      if (!lanes.isClosing) lane.hasParked = drop(lane) || lane.hasParked;
      const given = waits === 2;
      return { channel, conversation: toText(conversation), epoch, tail, waits, given };
    });
    const asked = { text: release, values: [JSON.stringify(rows), instance] };
    return { asked, read: (found) => this.#released(going, found) };
  }

  #released(going: readonly OwnedLane[], found: Rows | null): void {
    const { lanes } = this.#parts;
    const byName = new Map(
      (found ?? []).map((row) => [`${String(row['channel'])} ${String(row['conversation'])}`, row]),
    );
    for (const lane of going) {
      const row = byName.get(`${lane.channel} ${toText(lane.conversation)}`);
      if (row === undefined) lane.skips++;
      else if (row['goes'] === true) lanes.gone(lane);
      else lanes.stays(lane, Number(row['tail']));
    }
  }

  /** Of lanes that cannot be let go again and again: another's, taken again, or forgotten. */
  #whose(stuck: readonly OwnedLane[]): Move {
    const { lanes, instance } = this.#parts;
    const read = (found: Rows | null): void => {
      for (const { channel, conversation, owner, epoch } of found ?? []) {
        const name = `${String(channel)} ${String(conversation)}`;
        const lane = stuck.find((one) => `${one.channel} ${toText(one.conversation)}` === name);
        if (lane === undefined || (owner === instance && epoch === lane.epoch)) continue;
        lanes.gone(lane);
      }
    };
    return { asked: this.#named(owners, stuck), read };
  }

  #named(text: string, lanes: readonly OwnedLane[]): Asked {
    const names = lanes.map(({ channel, conversation }) => {
      return { channel, conversation: toText(conversation) };
    });
    return { text, values: [JSON.stringify(names)] };
  }
}

/** The conversation that the tables name so. */
export function whereOf({ channel, conversation }: LaneName): Where {
  return {
    channel: channel as ChannelKey,
    conversation: fromText(conversation) as ConversationId,
  };
}

function nameOf({ channel, conversation }: LaneName): LaneName {
  return { channel, conversation };
}

function newestOf(rows: Rows): readonly [string, string] {
  const names = rows.map((row) => [String(row['channel']), String(row['conversation'])] as const);
  return names.reduce((newest, one) => (isBehind(one, newest) ? one : newest));
}

/** By their bytes, as the server compares them. */
function isBehind(one: readonly [string, string], other: readonly [string, string]): boolean {
  const [a, b] = [one, other].map((name) => Buffer.from(name.join('\0')));
  return Buffer.compare(a!, b!) > 0;
}
