import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Story } from '../../domain/story.ts';
import type { TraceStep } from '../../domain/trace.ts';
import type { ModelName } from '../../domain/ids.ts';
import { acceptedAt, story, storyText } from '../../../test/support/stories.ts';
import { timelineOf } from '../../domain/timeline.ts';
import { storyPage } from './trace.ts';
import { localTime } from './table.ts';

const later = acceptedAt + 60_000;
const says = (one: Story, now = later): string[] =>
  timelineOf(one, now, localTime).map(({ atMs, forMs, what, deep }) => {
    return `${atMs} ${forMs ?? '-'} ${deep ? '> ' : ''}${what}`;
  });

test('a settled message is told on one clock, with votes, dissent and gaps', () => {
  assert.deepEqual(says(story), [
    '0 - accepted',
    '0 10 waited in the inbox',
    '10 - session 3, which began with it: nothing had been said for long',
    '10 - privacy filter dropped big (OpenAI API); 3 may be asked',
    '10 5 not accounted for',
    '15 100 a (Ollama): answer (rank 1), 40 tokens in, 7 out',
    '15 80 b (Ollama): answer (rank 2), 40 tokens in, 7 out',
    '15 90 c (Ollama): rate_limited after 2 tries (rank 3)',
    '15 20 > try 1: overloaded',
    '85 20 > try 2: rate_limited',
    '115 3 not accounted for',
    '118 - consensus: a (Ollama), 2 of 3 agree',
    '118 - > 2 votes, the majority: a (Ollama), b (Ollama)',
    '118 - > 1 vote, dissenting: c (Ollama)',
    '118 - reply 01kaabcdefghjkmnpqrst1 in the outbox',
    '118 3 waited in the outbox',
    '121 9 delivery 1: server_error, 500',
    '130 1000 waited for its next try',
    '1130 40 delivery 2: delivered',
  ]);
});

test('the rows of a settled message add up to its whole time', () => {
  const rows = timelineOf(story, later, localTime).filter(
    ({ forMs, deep }) => forMs !== null && !deep,
  );
  const covered = new Set<number>();
  for (const { atMs, forMs } of rows) {
    for (let ms = atMs; ms < atMs + forMs!; ms++) covered.add(ms);
  }
  assert.equal(covered.size, 1_170);
});

test('files are told with their time, and why one was not read', () => {
  const span = { startMs: 0, ms: 5 } as const;
  const files: readonly TraceStep[] = [
    { kind: 'file', part: 'picture', result: 'read', ...span },
    { kind: 'file', part: 'speech', result: 'unauthorized', ...span },
    { kind: 'file', part: 'text', result: 'too_large', ...span },
  ];
  const rows = says({ ...story, trace: { ...story.trace!, steps: files } });
  assert.deepEqual(rows.slice(2, 5), [
    '10 5 looked at a picture',
    '10 5 a voice message was not written down: the key or token was refused',
    '10 5 a text file was not read: it is larger than what is read',
  ]);
});

test('without a trace the time between is told as not accounted for', () => {
  const bare = { ...story, trace: null };
  assert.deepEqual(says(bare).slice(0, 2), ['0 - accepted', '0 118 not accounted for']);
  assert.match(storyPage(bare, null, later), /1\.2 s in all, 118 ms not accounted for\n.*not kept/);
});

test('a message that waits, and a reply whose next try is due later, last until now', () => {
  const waiting: Story = { ...story, state: 'waiting', settledAt: null, trace: null, replies: [] };
  assert.deepEqual(says(waiting, acceptedAt + 70), [
    '0 - accepted',
    '0 70 waits in the inbox, or is being worked on',
  ]);
  const [reply] = story.replies;
  const tries = reply!.tries.slice(0, 1);
  const delayed = { ...reply!, state: 'waiting', settledAt: null, tries, dueAt: later } as const;
  const page = says({ ...story, replies: [delayed] }, acceptedAt + 500);
  const due = localTime(later);
  assert.match(due, /^2026-11-2[12] \d\d:\d\d:00$/);
  assert.equal(page.at(-1), `130 370 waits in the outbox: next try ${due}`);
  assert.equal(
    page.some((line) => line.startsWith('118 - > 1 earlier try')),
    true,
  );
});

test('the tries of a call stand below it, whatever began between them', () => {
  const [first, shield, a, b, c, policy] = story.trace!.steps;
  const soon = { ...a!, startMs: 30 } as typeof a;
  const trace = { ...story.trace!, steps: [first!, shield!, b!, c!, soon!, policy!] };
  const rows = says({ ...story, trace }).filter((line) => /try \d|rank/.test(line));
  assert.deepEqual(
    rows.map((line) => line.split(' ').slice(2).join(' ')),
    [
      'b (Ollama): answer (rank 2), 40 tokens in, 7 out',
      'c (Ollama): rate_limited after 2 tries (rank 3)',
      '> try 1: overloaded',
      '> try 2: rate_limited',
      'a (Ollama): answer (rank 1), 40 tokens in, 7 out',
    ],
  );
});

test('what can be done stands below each model that failed or was cut', () => {
  const call = { kind: 'model', rank: 0, startMs: 0, ms: 1, tries: [], linesDropped: 0 } as const;
  const calls = [
    { ...call, model: 'hosted_runtime/a' as ModelName, result: 'rejected', usage: null },
    { ...call, model: 'hosted_runtime/b' as ModelName, result: 'answer', usage: null },
    { ...call, model: 'local_runtime/c' as ModelName, result: 'answer', usage: null, isCut: true },
    { ...call, model: 'local_runtime/d' as ModelName, result: 'deadline', usage: null },
  ] as const;
  const page = storyPage({ ...story, trace: { ...story.trace!, steps: calls } }, null, later);
  assert.match(page, /\nWhat to do about a \(OpenAI API\): Read the provider's words[^\n]+\.\n/);
  assert.match(page, /\nWhat to do about c \(Ollama\): Raise [^\n]+max_output_tokens[^\n]+\.\n/);
  assert.equal(page.match(/What to do/g)?.length, 2);
});

test('a dead message and a dead reply say why', () => {
  const why = { kind: 'fault', whose: 'us', status: null, detail: 'it broke' } as const;
  const dead: Story = { ...story, state: 'dead', failure: why, diedUnder: 2 };
  assert.ok(says(dead).some((line) => line === '120 - given up: fault: it broke'));
  const page = storyPage(dead, null, later);
  assert.match(
    page,
    /^message 01kaabcdefghjkmnpqrst0: given up: it broke; the apology is delivered\n/,
  );
  assert.match(page, /svc ended 2 × while it was next/);
  const [reply] = story.replies;
  const gone = { ...why, kind: 'gone', status: 410 } as const;
  const lost = { ...story, replies: [{ ...reply!, state: 'dead', failure: gone } as const] };
  const last = '1170 - dead letter 01kaabcdefghjkmnpqrst1: gone, status 410: it broke';
  assert.equal(says(lost).at(-1), last);
});

test('the columns stand under each other, and texts cannot drive the terminal', () => {
  const page = storyPage(story, storyText, later);
  assert.match(page, /\nat ms {2}for ms {2}what\n {4}0 {10}accepted\n {4}0 {6}10 {2}waited/);
  assert.match(page, /^message 01kaabcdefghjkmnpqrst0: answered by a \(Ollama\); delivered\n/);
  assert.match(page, /\n80 tokens in, 14 out\n/);
  assert.match(page, /\nb \(Ollama\) answered, which was not sent:\n {2}another\[2J\n {2}answer\n/);
  assert.match(
    page,
    /\ntool calc, in shadow: rehearsed: it did not run\n {2}\{\}\nits model was told:\n {2}42\[2J/,
  );
  assert.match(page, /\nada \(Ada\):\n {2}hello\]0;gotcha there\n {2}second line\n/);
  assert.doesNotMatch(page, /[[\p{Cc}]--\n]/v);
});
