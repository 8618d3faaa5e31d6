/** Query plans of the reader in a ledger of many messages: by indexes, with few rows read. */
import { hourMs } from '../../../lib/durations.ts';
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { Client } from 'pg';
import {
  beganAt,
  everyMs,
  fill,
  fillApprovals,
  fillFigures,
  idAt,
} from '../../../../test/fake/filled-postgres.ts';
import { migratedDatabase } from '../../../../test/fake/postgres.ts';
import type { ChannelKey, ConversationId } from '../../../domain/ids.ts';
import type { PageRequest } from '../../../domain/page.ts';
import { anyMessage, type MessageFilter } from '../../../domain/records.ts';
import { nextOf } from '../../pages.ts';
import type { ReadArguments, ReadName } from '../../read/questions.ts';
import { connect } from '../server/connect.ts';
import { wireValue, looksMax, type Ask } from './lists.ts';
import { listConversationCounts, questions } from './reader.ts';
import { beginning } from './people-connection.ts';

/** A number of messages from the environment; with it the test also prints times of reads. */
const filled = process.env['SVC_FILLED'];
const messages = Number(filled ?? 12_000);
const hook = 'webhook' as ChannelKey;
const page: PageRequest = { after: null, limit: 100 };
const middle = messages / 2;
const behind: PageRequest = {
  after: nextOf([beganAt + middle * everyMs, idAt(middle)]),
  limit: 100,
};
const somewhere = { channel: hook, conversation: 'c100' as ConversationId };

type Node = {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly Node[];
};

/** The plan nodes of every statement of one read, as executed, and their times. */
async function plansOf<Q extends ReadName>(client: Client, question: Q, asked: ReadArguments<Q>) {
  const nodes: Node[] = [];
  let ms = 0;
  const ask: Ask = async (text, ...values) => {
    const given = values.map(wireValue);
    const { rows: plans } = await client.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, given);
    const [{ Plan: plan, ...times }] = plans[0]['QUERY PLAN'];
    nodes.push(...within(plan));
    ms += Number(times['Execution Time']) + Number(times['Planning Time']);
    const { rows } = await client.query(text, given);
    return rows as never;
  };
  await client.query(beginning(60_000));
  await questions[question](ask, ...asked);
  await client.query('ROLLBACK');
  return { nodes, ms };
}

function within(node: Node): readonly Node[] {
  return [node, ...(node.Plans ?? []).flatMap(within)];
}

/** The rows that a scan returned, and those that it read and dropped. */
function looksOf(node: Node): number {
  if (node['Relation Name'] === undefined) return 0;
  return (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'];
}

type Case = { [Q in ReadName]: readonly [Q, ReadArguments<Q>, looks: number] }[ReadName];

const listed = (filter: Partial<MessageFilter>, looks: number, at = page): Case => [
  'messages',
  [{ ...anyMessage, ...filter }, at],
  looks,
];
const oldest = { ...page, order: 'oldest' } as const;
const delivered = (filter: object, looks: number, at = page): Case => [
  'deliveries',
  [{ channel: null, state: null, ...filter }, at],
  looks,
];

/** A month of eight instances: 5,760 rows, each read twice at most. */
const ofHours = {
  lengthMs: hourMs,
  stepMs: 6 * hourMs,
  from: beganAt,
  until: beganAt + 720 * hourMs,
  own: { run: 3, first: beganAt, last: beganAt + hourMs },
} as const;

/** Each read, and the most rows that the server may read for it. */
const cases: readonly Case[] = [
  ['story', [idAt(middle)], 10],
  ['storyText', [idAt(middle)], 10],
  listed({}, 1_000),
  listed({}, 1_000, behind),
  listed({ state: 'waiting' }, 1_000),
  listed({ state: 'answered' }, 1_000, behind),
  listed({ state: 'dead' }, 1_000),
  listed({ outcome: 'busy' }, 1_000),
  listed({ state: 'unanswered' }, 2_000),
  listed({ state: 'unanswered' }, 2_000, oldest),
  listed({}, 1_000, oldest),
  listed({ outcome: 'busy' }, 1_000, oldest),
  listed({ since: beganAt + middle * everyMs }, 1_000, oldest),
  listed({ brain: 'main' }, 1_000),
  listed({ since: beganAt, until: beganAt + 1_000 }, 1_000),
  listed({ since: beganAt + middle * everyMs, until: beganAt + (middle + 9) * everyMs }, 1_000),
  listed({ channel: 'messenger_b' }, 2 * looksMax + 1_000),
  listed({ brain: 'nobody' }, 2 * looksMax + 1_000),
  delivered({}, 1_000),
  delivered({}, 1_000, behind),
  delivered({ state: 'waiting' }, 1_000),
  delivered({ state: 'delivered' }, 1_000, behind),
  delivered({ state: 'dead' }, 1_000),
  delivered({ channel: 'messenger_b' }, 2 * looksMax + 1_000),
  ['deadLetters', [page], 2_000],
  ['deadLetters', [{ after: nextOf([beganAt + middle * everyMs, '']), limit: 100 }], 2_000],
  ['deadLetter', [idAt(9)], 10],
  ['deadLetter', [idAt(509, 'reply')], 10],
  ['deadLetterReasons', [], 2_000],
  ['conversations', [page], 5_000],
  ['conversations', [{ after: nextOf([hook, 'c5']), limit: 100 }], 5_000],
  ['conversation', [somewhere], 100],
  ['channelKeys', ['messenger_b'], 500],
  ['turns', [{ kind: 'conversation', ...somewhere }, page], 300],
  ['turns', [{ kind: 'sender', channel: hook, sender: 'sender 8' }, page], 300],
  ['notes', [{ kind: 'conversation', ...somewhere }], 100],
  ['notes', [{ kind: 'brain', brain: 'main' }], 100],
  ['toolUses', [page], 300],
  ['toolUse', [`${idAt(middle)}:1:0`], 10],
  ['audit', [page], 300],
  ['figures', [ofHours], 12_000],
  ['approvals', [null, page], 300],
  ['approvals', ['waiting', page], 300],
  ['approvals', ['refused', page], 300],
  ['approval', ['9'.padStart(22, '0')], 10],
];

suite('on many rows', { concurrency: 1 }, () => {
  let client: Client;
  before(async () => {
    client = await connect(await migratedDatabase());
    await fill(client, { messages, waiting: messages / 10, turnsEach: 20 });
    await fillFigures(client);
    await fillApprovals(client, 12_000);
  });
  after(() => client.end());

  for (const analyzed of [false, true]) {
    test(`reads use indexes, statistics or not: ${analyzed}`, async (t) => {
      if (analyzed) await client.query('VACUUM ANALYZE');
      for (const [question, asked, looksAllowed] of cases) {
        const { nodes, ms } = await plansOf(client, question, asked as never);
        const what = `${question} ${JSON.stringify(asked)}`;
        const looks = nodes.reduce((sum, node) => sum + looksOf(node), 0);
        if (filled !== undefined) t.diagnostic(`${ms.toFixed(1)} ms, ${looks} looks: ${what}`);
        const whole = nodes.filter((node) => node['Node Type'] === 'Seq Scan');
        const names = whole.map((node) => node['Relation Name']);
        assert.deepEqual(names, [], `${what} reads whole tables`);
        assert.ok(looks <= looksAllowed, `${what} looks at ${looks} rows`);
      }
    });
  }

  test('conversations are counted; of very many the statistics tell', async () => {
    const ask: Ask = async (text, ...values) =>
      (await client.query(text, values.map(wireValue))).rows as never;
    const counted = await listConversationCounts(ask);
    const [bot, hooked] = counted;
    assert.deepEqual(
      counted.map(({ channel }) => channel),
      ['messenger_b:1', hook],
    );
    assert.equal(bot!.turns + hooked!.turns, (messages * 9) / 10);
    assert.equal(bot!.turns, (messages * 9) / 1_000);
    assert.equal(hooked!.lastAt, beganAt + ((messages * 9) / 10 - 1) * everyMs);
    const estimated = await listConversationCounts(ask, 1_000);
    for (const [at, row] of estimated.entries()) {
      const { channel, turns, conversations, lastAt } = counted[at]!;
      assert.deepEqual([row.channel, row.lastAt], [channel, lastAt]);
      assert.ok(Math.abs(row.turns / turns - 1) < 0.5, `about ${turns} turns: ${row.turns}`);
      const near = Math.abs(row.conversations / conversations - 1) < 0.5;
      assert.ok(near, `about ${conversations} conversations: ${row.conversations}`);
    }
    assert.equal(estimated.length, 2);
  });
});
