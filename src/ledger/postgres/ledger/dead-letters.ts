/** Dead letters: their number, and the replay or discard of one by a person. */
import { LetterCount, wholeIdLength } from '../../engine/queue.ts';
import type { WorkingSet } from '../../engine/working-set.ts';
import type { DeadLetterMove } from '../../ledger.ts';
import type { Queues } from '../queues/queues.ts';
import type { QueueGrowth } from '../queues/owned-queue.ts';
import type { PostgresBatches, Reads } from '../deps.ts';
import type { Query, LockedQueue, Rows } from '../write/statement.ts';
import type { Single } from '../write/writes.ts';
import type { History } from './history.ts';
import { lastIdMark } from './marks.ts';
import { foundMessage, foundReply, messageColumns, replyColumns } from './stored-rows.ts';

/** Reads pages by the id, so the server uses only the index of dead rows. */
const deadIds = (table: string): string =>
  `SELECT id FROM svc.${table} WHERE failure IS NOT NULL AND id > $1 ORDER BY id LIMIT $2`;
const pageRows = 5_000;
const deadMessage =
  'SELECT channel, conversation FROM svc.message WHERE id = $1 AND failure IS NOT NULL';
/** The id of a part is the id of the reply, `-` and a number; `.` sorts right after `-`. */
const partsOf =
  'SELECT id, channel, conversation FROM svc.sent ' +
  'WHERE id >= $1 AND id < $2 AND failure IS NOT NULL ORDER BY id';

/** Increments the number of a queue, which its owner sees. An instance takes a free queue. */
const queueGrows = `INSERT INTO svc.lane AS lane (channel, conversation, tail, waits)
  SELECT DISTINCT channel, conversation, 1, 2 FROM gone
  ON CONFLICT (channel, conversation) DO UPDATE SET tail = lane.tail + 1,
    waits = CASE WHEN lane.owner IS NULL THEN greatest(lane.waits, 2) ELSE lane.waits END
  RETURNING tail, owner`;

/**
 * Matches the preview at the end of a `messageBody`. It is a parameter, since a literal loses its
 * backslashes on a server with `standard_conforming_strings` off.
 */
const preview = String.raw`,"preview":"([^"\\]|\\.)*"\}$`;

/**
 * Moves a dead message back to the inbox. The same commit deletes the turn that its death left in
 * the history, and its preview, which the apology has replaced.
 */
const rerun = `
WITH gone AS (
  DELETE FROM svc.message WHERE id = $1 AND failure IS NOT NULL RETURNING *
), said AS (
  DELETE FROM svc.turn AS turn USING gone WHERE turn.channel = gone.channel
    AND turn.conversation = gone.conversation AND turn.message_id = gone.id
), lane AS (
  ${queueGrows}
)
INSERT INTO svc.inbox (id, channel, conversation, n, accepted_at, sender, private, replayed, body)
SELECT gone.id, gone.channel, gone.conversation, lane.tail, $2, gone.sender, gone.private, true,
  regexp_replace(gone.body, $3, '}')
FROM gone CROSS JOIN lane
RETURNING ${messageColumns}, n AS tail, (SELECT owner FROM lane) AS owner`;
const rerunBefore = `
SELECT ${messageColumns}, n AS tail, (
  SELECT owner FROM svc.lane AS lane
  WHERE lane.channel = inbox.channel AND lane.conversation = inbox.conversation
) AS owner FROM svc.inbox AS inbox WHERE id = $1`;

const resend = `
WITH gone AS (
  DELETE FROM svc.sent WHERE id = ANY($1) AND failure IS NOT NULL RETURNING *
), lane AS (
  ${queueGrows}
)
INSERT INTO svc.outbox (id, channel, conversation, created_at, message_id, attempts, replayed,
  possible_duplicate, late, replayed_at, tries, body)
SELECT id, channel, conversation, created_at, message_id, attempts, attempts, possible_duplicate,
  true, $2::bigint, tries, body
FROM gone ORDER BY id
RETURNING ${replyColumns}, (SELECT tail FROM lane) AS tail, (SELECT owner FROM lane) AS owner`;
const resentBefore = `
SELECT ${replyColumns}, lane.tail, lane.owner FROM svc.outbox AS outbox CROSS JOIN LATERAL (
  SELECT tail, owner FROM svc.lane AS lane
  WHERE lane.channel = outbox.channel AND lane.conversation = outbox.conversation OFFSET 0
) AS lane WHERE id = ANY($1) ORDER BY seq`;

const discardMessage = `
WITH gone AS (
  DELETE FROM svc.message WHERE id = $1 AND failure IS NOT NULL RETURNING id
), uses AS (
  DELETE FROM svc.tool_use USING gone WHERE message_id = gone.id
), calls AS (
  DELETE FROM svc.tool_call USING gone WHERE message_id = gone.id
), attachments AS (
  DELETE FROM svc.attachment USING gone WHERE message_id = gone.id
)
SELECT id FROM gone`;
const discardReplies = 'DELETE FROM svc.sent WHERE id = ANY($1) AND failure IS NOT NULL';

type Deps = {
  readonly reads: Reads;
  readonly batches: PostgresBatches;
  readonly rows: WorkingSet;
  readonly history: History;
  readonly queues: Queues;
  /** Milliseconds since 1970. */
  readonly now: () => number;
};

/** The rows of a dead letter: a message, or the parts of a reply in their order. */
type Found = { readonly queue: LockedQueue } & (
  | { readonly kind: 'message'; readonly id: string }
  | { readonly kind: 'reply'; readonly ids: readonly string[] }
);

export class DeadLetters {
  readonly #deps: Deps;
  readonly #letters = new LetterCount();
  #counted: number | null = null;

  private constructor(deps: Deps) {
    this.#deps = deps;
  }

  static async open(deps: Deps): Promise<DeadLetters> {
    const letters = new DeadLetters(deps);
    for (const table of ['message', 'sent']) await letters.#count(deadIds(table));
    return letters;
  }

  get count(): number {
    return this.#counted ?? this.#letters.count;
  }

  /** @param letters the count over all instances; null: this instance knows them all */
  counted(letters: number | null): void {
    this.#counted = letters;
  }

  /** @param id the id of a message, a reply, or a part of a reply */
  add(id: string): void {
    this.#letters.add(id);
  }

  remove(id: string): void {
    this.#letters.remove(id);
  }

  async replay(id: string): Promise<DeadLetterMove> {
    const found = await this.#find(id);
    if (found === null) return 'not_found';
    const restored: Rows[] = [];
    const onRows = (rows: Rows): void => void restored.push(rows);
    const single =
      found.kind === 'message' ? this.#rerun(found.id, onRows) : this.#resend(found.ids, onRows);
    this.#deps.batches.add({ ...single, queues: [found.queue] });
    const enter = found.kind === 'message' ? this.#enterMessage : this.#enterReplies;
    const written = await this.#deps.batches.written(() => enter(restored[0] ?? []));
    if (!written) return 'storage_failed';
    // The sweep may have deleted it meanwhile.
    if ((restored[0]?.length ?? 0) === 0) return 'not_found';
    this.#removeAll(found);
    await this.#deps.queues.takeWaiting();
    return 'done';
  }

  async discard(id: string): Promise<DeadLetterMove> {
    const found = await this.#find(id);
    if (found === null) return 'not_found';
    const asked: Query =
      found.kind === 'message'
        ? { text: discardMessage, values: [found.id] }
        : { text: discardReplies, values: [found.ids] };
    this.#deps.batches.add({ kind: 'single', ...asked });
    this.#deps.batches.add(lastIdMark(id));
    if (!(await this.#deps.batches.written(() => {}))) return 'storage_failed';
    this.#removeAll(found);
    return 'done';
  }

  async #count(text: string): Promise<void> {
    let found: Rows;
    for (let last = ''; ; last = String(found.at(-1)!['id'])) {
      found = await this.#deps.reads.ask({ text, values: [last, pageRows] });
      for (const { id } of found) this.add(String(id));
      if (found.length < pageRows) return;
    }
  }

  #removeAll(found: Found): void {
    for (const id of found.kind === 'message' ? [found.id] : found.ids) this.remove(id);
  }

  async #find(id: string): Promise<Found | null> {
    if (id.length !== wholeIdLength) return null;
    const { reads } = this.#deps;
    const [message] = await reads.ask({ text: deadMessage, values: [id] });
    if (message !== undefined) return { kind: 'message', id, queue: queueOf(message) };
    const parts = await reads.ask({ text: partsOf, values: [id, `${id}.`] });
    const [first] = parts;
    if (first === undefined) return null;
    const ids = parts.map((part) => String(part['id']));
    return { kind: 'reply', ids, queue: queueOf(first) };
  }

  #rerun(id: string, onRows: (rows: Rows) => void): Single {
    const again = { text: rerunBefore, values: [id] };
    return {
      kind: 'single',
      text: rerun,
      values: [id, this.#deps.now(), preview],
      again,
      told: onRows,
    };
  }

  #resend(parts: readonly string[], onRows: (rows: Rows) => void): Single {
    return {
      kind: 'single',
      text: resend,
      values: [parts, this.#deps.now()],
      again: { text: resentBefore, values: [parts] },
      told: onRows,
    };
  }

  readonly #enterMessage = (restored: Rows): void => {
    const { rows, history, queues } = this.#deps;
    for (const row of restored) {
      const { stored } = foundMessage(row, rows.nextSeq());
      rows.outdate(stored.channel, stored.conversation);
      history.drop(stored);
      if (queues.owned.grew(stored, growthOf(row)) === 'next') rows.restoreMessage(stored);
    }
  };

  readonly #enterReplies = (restored: Rows): void => {
    const { rows, queues } = this.#deps;
    let progress = null;
    for (const [at, row] of restored.entries()) {
      const { stored, state } = foundReply(row, rows.nextSeq());
      if (at === 0 && queues.owned.grew(stored, growthOf(row)) === 'theirs') return;
      if (rows.hasReply(stored)) continue;
      ({ progress } = rows.restoreReply(stored, progress, state));
    }
  };
}

function queueOf({ channel, conversation }: Rows[number]): LockedQueue {
  return { channel: String(channel), conversation: String(conversation) };
}

/** The state of the queue after a row came back to it. */
function growthOf({ tail, owner }: Rows[number]): QueueGrowth {
  return { tail: Number(tail), owner: owner === null ? null : Number(owner) };
}
