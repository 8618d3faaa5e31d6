/** How the server finds queues and their rows among many idle ones. */
import assert from 'node:assert/strict';
import type { Client } from 'pg';
import { hook } from '../../../../test/contract/ledger/kit.ts';
import {
  gatherOnlyWhenTold,
  planOf,
  tablesReadWhole,
  type PlanNode,
} from '../../../../test/fake/explain.ts';
import { fill } from '../../../../test/fake/filled-postgres.ts';
import { migratedDatabase, postgresTest } from '../../../../test/fake/postgres.ts';
import type { ConversationId, MessageId, ReplyId } from '../../../domain/ids.ts';
import { steadyNow } from '../../../lib/clock.ts';
import { MessageProgress } from '../../engine/queue.ts';
import { WorkingSet } from '../../engine/working-set.ts';
import { Counting } from '../ledger/counting.ts';
import type { Reads } from '../deps.ts';
import { connect } from '../server/connect.ts';
import type { Query, Rows } from '../write/statement.ts';
import { GrownQueues, QueueReads } from './queue-reads.ts';
import { LostQueues, OwnedQueues } from './owned-queues.ts';
import { Moves } from './moves.ts';
import { UnknownQueues } from './queues.ts';

/** ANALYZE samples 30,000 rows of a table at random; no table here has more. */
const messages = 12_000;
const idle = 25_000;
/**
 * A page has 2,000 of many more rows. Of up to 12,000 rows the server may read all, which is as
 * quick.
 */
const waitingMore = 16_000;
const instance = 7;
const named = Array.from({ length: 500 }, (_, n) => {
  return { channel: hook, conversation: `c${n}` as ConversationId };
});
const history = { taken() {}, left() {}, drop() {} };

/** Records the statements, and gives the same answer to each. */
function noting(asked: Query[], found: Rows = []): Reads {
  return {
    async ask(one) {
      asked.push(one);
      return found;
    },
    async [Symbol.asyncDispose]() {},
  };
}

function ownedQueues() {
  const rows = new WorkingSet({ now: Date.now, steady: steadyNow });
  const queues = new OwnedQueues({ instance, rows, history, steady: steadyNow });
  for (const where of named) queues.take(where, 1, 5);
  return { rows, queues };
}

/** Every kind of take and of release: in order, out of order, and in vain. */
function askedByMoves(): readonly Query[] {
  const { rows, queues } = ownedQueues();
  const moves = new Moves({
    instance,
    queues,
    rows,
    drop: () => false,
    soon() {},
    steady: steadyNow,
  });
  for (const queue of queues) {
    if (queue.conversation < 'c3') queues.startLeaving(queue);
    else queues.readEnded(queue, 5, 0);
    queue.failedReleases = 20;
  }
  void moves.takeWaiting({ channels: [hook], allBut: [hook], suspectsOf: 'all', now: 2e12 });
  void moves.findEarlierTakes();
  void moves.takeOwn(named);
  void moves.free(named, 1);
  const { asked } = moves.take();
  moves.end();
  return asked;
}

/** The reads of queues that were taken, and of one that a reply keeps. */
async function askedByReads(): Promise<readonly Query[]> {
  const asked: Query[] = [];
  const reads = noting(asked);
  const { rows, queues } = ownedQueues();
  const crashIsolation = { hold() {}, suspects: 0 };
  const untold = { now: Date.now, sooner() {} };
  const failed = (error: unknown): void => assert.fail(error as Error);
  await new QueueReads({ ...untold, rows, queues, history, reads, crashIsolation, failed }).run();
  const { conversation } = named[0]!;
  const of = { id: 'r' as ReplyId, inReplyTo: 'm' as MessageId, conversation, brain: 'b' };
  const address = { channel: hook, target: '' };
  const reply = { ...of, address, text: 'hi', createdAt: 1, sessionStarted: null };
  rows.addReply(reply, new MessageProgress(1, null), 1);
  await new GrownQueues({ rows, queues, reads }).check();
  return asked;
}

/** The searches of a janitor, page by page, and its counts. */
async function askedByJanitor(): Promise<readonly Query[]> {
  const asked: Query[] = [];
  const reads = noting(asked, [{ channel: null, last: '', rows: 0, letters: 0 }]);
  const write = async (text: string, values: readonly unknown[]): Promise<boolean> => {
    asked.push({ text, values });
    return true;
  };
  const free = async (): Promise<boolean> => true;
  await new LostQueues({ reads, takesParked: () => true, free, write }).check([1], true);
  const looksFor = { isKnown: () => true, async take() {} };
  const unknown = new UnknownQueues({ instance, reads, now: () => 2e12, ...looksFor });
  for (let table = 0; table < 2; table++) await unknown.check();
  await new Counting(reads, steadyNow).count({
    held: () => ({ messages: 0, bytes: 0 }),
    isPartial: () => true,
    hasOthers: () => true,
    lettersCounted() {},
  });
  return asked;
}

async function allAsked(): Promise<readonly Query[]> {
  const all = [...askedByMoves(), ...(await askedByReads()), ...(await askedByJanitor())];
  return [...new Map(all.map((one) => [one.text, one])).values()];
}

/**
 * There are few instances and takeovers. The waiting rows are limited, and one statement counts
 * them as a whole.
 */
const mayReadWhole = ({ text }: Query): readonly string[] =>
  text.includes('count(DISTINCT message_id)') ? ['inbox', 'outbox'] : ['instance', 'hold'];

/** Two sets that are compared with each other row by row. */
function isSquare(node: PlanNode): boolean {
  const { Plans = [] } = node;
  const isNested = node['Node Type'] === 'Nested Loop' && Plans.length > 1;
  return isNested && Plans.every((plan) => plan['Node Type'] === 'CTE Scan');
}

async function judge(client: Client, when: string): Promise<void> {
  const faults: string[] = [];
  const asked = await allAsked();
  assert.equal(asked.length, 19, 'all of them are tried');
  for (const one of asked) {
    const whole = await tablesReadWhole(client, one);
    const tables = whole.filter((table) => !mayReadWhole(one).includes(table));
    if (tables.length > 0) faults.push(`${tables.join(', ')}: ${one.text}`);
    if ((await planOf(client, one)).some(isSquare)) faults.push(`row by row: ${one.text}`);
  }
  assert.deepEqual(faults, [], when);
}

/**
 * Many messages wait, the owners of some are gone, and many more conversations are idle.
 * @param act runs when the tables have a part of their rows
 */
async function fillQueues(client: Client, act: () => Promise<unknown>): Promise<void> {
  await fill(client, { messages, waiting: (messages * 3) / 4, turnsEach: 20 });
  await act();
  const more = `FROM generate_series(1, ${waitingMore}) AS i ORDER BY md5(i::text)`;
  await client.query(
    'INSERT INTO svc.inbox (id, channel, conversation, n, accepted_at, sender, private, body) ' +
      "SELECT lpad(i::text, 22, 'z'), 'webhook', 'c' || i % 600, 100000 + i, i, 's', false, '{}' " +
      more,
  );
  await client.query(
    'INSERT INTO svc.outbox (id, channel, conversation, seq, created_at, message_id, body) ' +
      "SELECT lpad(i::text, 22, 'z'), 'webhook', 'c' || i % 600, 100000 + i, i, " +
      "lpad(i::text, 22, 'z'), '{}' " +
      more,
  );
  await client.query(
    "INSERT INTO svc.lane (channel, conversation) SELECT 'webhook', 'idle ' || i " +
      `FROM generate_series(1, ${idle}) AS i`,
  );
  await client.query(
    'UPDATE svc.lane SET waits = 2, owner = CASE length(conversation) WHEN 4 THEN $1::bigint END ' +
      "WHERE conversation LIKE 'c%'",
    [instance],
  );
  await client.query('UPDATE svc.outbox SET parked = true, due_at = created_at WHERE seq % 3 = 0');
}

/**
 * The server gathers statistics of one table at a time, whenever it likes. VACUUM first tells it
 * how many rows a table has; ANALYZE then samples their content. Any of the vacuumed tables may be
 * analyzed already. A rollback drops the result of ANALYZE.
 */
async function judgeAll(client: Client, order: readonly string[]): Promise<void> {
  for (let known = 0; known <= order.length; known++) {
    const vacuumed = order.slice(0, known);
    if (known > 0) await client.query(`VACUUM ${vacuumed.at(-1)}`);
    for (const analyzed of choicesOf(vacuumed)) {
      await client.query('BEGIN');
      for (const table of analyzed) await client.query(`ANALYZE ${table}`);
      await judge(client, `vacuumed: ${vacuumed.join()}; analyzed: ${analyzed.join()}`);
      await client.query('ROLLBACK');
    }
  }
  await client.query('VACUUM ANALYZE');
  await judge(client, 'all is known');
}

/** No table, each table, each pair, and so on. */
function choicesOf(tables: readonly string[]): readonly (readonly string[])[] {
  return tables.reduce<readonly (readonly string[])[]>(
    (choices, table) => [...choices, ...choices.map((choice) => [...choice, table])],
    [[]],
  );
}

/** What the server knows at first, and the order in which it learns more. */
const cases = [
  { knows: 'nothing', order: ['svc.inbox', 'svc.outbox', 'svc.lane'] },
  { knows: 'that all is empty', order: ['svc.outbox', 'svc.lane', 'svc.inbox'] },
  { knows: 'a part of the rows', order: ['svc.lane', 'svc.inbox', 'svc.outbox'] },
];

for (const { knows, order } of cases) {
  const title = `no lane is looked for in a whole table by a server that knows ${knows} at first`;
  postgresTest(title, async () => {
    const client = await connect(await migratedDatabase());
    const gather = async (): Promise<unknown> => client.query('VACUUM ANALYZE');
    try {
      await gatherOnlyWhenTold(client);
      if (knows === 'that all is empty') await gather();
      await fillQueues(client, async () => knows === 'a part of the rows' && (await gather()));
      await judgeAll(client, order);
    } finally {
      await client.end();
    }
  });
}
