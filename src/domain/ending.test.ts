import assert from 'node:assert/strict';
import { test } from 'node:test';
import { acceptedAt, story } from '../../test/support/stories.ts';
import { endingOf } from './ending.ts';
import { failure, type FailureKind } from './failure.ts';
import type { ModelName } from './ids.ts';
import type { ReplyStory, Story } from './story.ts';
import type { TraceStep, TurnOutcome } from './trace.ts';

const now = acceptedAt + 60_000;
const formatTime = (at: number): string => `+${(at - acceptedAt) / 1_000} s`;
const says = (one: Story): string => {
  const { means, words } = endingOf(one, now, formatTime);
  return `${means}: ${words}`;
};

const named = (id: string): ModelName => `local_runtime/${id}` as ModelName;
const asked = (id: string, rank: number, result: 'answer' | FailureKind): TraceStep => ({
  kind: 'model',
  model: named(id),
  rank,
  startMs: 0,
  ms: 1,
  result,
  tries: [],
  linesDropped: 0,
  usage: null,
});
const voted = (...votes: readonly string[][]): TraceStep => ({
  kind: 'policy',
  policy: 'consensus',
  verdict: 'none',
  winner: null,
  votes: votes.map((group) => group.map(named)),
  why: 'told elsewhere',
});
const tool: TraceStep = {
  kind: 'tool',
  tool: 'calc',
  mode: 'allow',
  outcome: 'done',
  rule: 'no_governance',
  startMs: 0,
  ms: 1,
};

const ended = (outcome: TurnOutcome, ...steps: readonly TraceStep[]): Story => ({
  ...story,
  trace: { ...story.trace!, outcome, steps },
});
const [delivered] = story.replies as readonly [ReplyStory];
const tried = { ...failure('server_error'), status: 500 };
const waiting: ReplyStory = { ...delivered, state: 'waiting', settledAt: null, dueAt: null };
const answered = (...replies: readonly ReplyStory[]): Story => ({
  ...ended('reply', asked('a', 0, 'answer')),
  replies,
});

test('who answered is named, of a policy and of an agent', () => {
  assert.equal(says(story), 'good: answered by a (Ollama); delivered');
  const agent = ended('reply', asked('a', 0, 'answer'), tool, asked('a', 0, 'answer'));
  assert.equal(says(agent), 'good: answered by a (Ollama); delivered');
  const elsewhere = { ...asked('x', 0, 'answer'), model: 'hosted_runtime/org/big' as ModelName };
  assert.equal(
    says(ended('reply', elsewhere)),
    'good: answered by org/big (OpenAI API); delivered',
  );
  assert.equal(says(ended('reply')), 'good: answered; delivered', 'its trace was cut');
  const command = { kind: 'session', session: 1, cut: null, command: '/new' } as const;
  assert.equal(says(ended('command', command)), 'good: answered by svc itself: /new; delivered');
  const untold = { ...story, trace: null };
  assert.equal(says(untold), 'good: answered, by whom was not kept; delivered');
});

test('an apology is no answer, however well it was delivered', () => {
  const cases: readonly (readonly [Story, string])[] = [
    [
      ended(
        'no_consensus',
        ...['a', 'b', 'c'].map((id, rank) => asked(id, rank, 'answer')),
        voted(['a'], ['b'], ['c']),
      ),
      'no consensus: 3 answers, none agreed',
    ],
    [
      ended('no_consensus', asked('d', 3, 'timeout'), voted(['a', 'b'], ['c', 'e'])),
      'no consensus: 4 answers, only 2 agreed (1 timeout)',
    ],
    [
      ended('no_consensus', asked('a', 0, 'answer'), asked('b', 1, 'timeout'), voted(['a'])),
      'no consensus: only one model answered (1 timeout)',
    ],
    [ended('no_consensus'), 'no consensus'],
    [
      ended('busy', asked('a', 0, 'connect_failed'), asked('b', 1, 'connect_failed')),
      'no answer: every model failed (2 connect_failed)',
    ],
    [
      ended(
        'no_answer',
        asked('a', 0, 'rejected'),
        asked('a', 1, 'timeout'),
        asked('c', 2, 'timeout'),
      ),
      'no answer: every model failed (2 timeout, 1 rejected)',
    ],
    [ended('no_answer', asked('a', 0, 'rejected')), 'no answer: a (Ollama) failed (rejected)'],
    [
      ended('busy', asked('a', 0, 'answer'), tool, asked('a', 0, 'timeout')),
      'no answer: a (Ollama) failed (timeout)',
    ],
    [
      ended('no_answer', { kind: 'shield', dropped: [named('big')], kept: 0 }),
      'no answer: the privacy filter let no model be asked',
    ],
    [ended('busy'), 'no answer: why was not kept'],
    [
      ended('unfinished', asked('a', 0, 'answer'), tool, tool),
      'no answer: a (Ollama) did not come to an end, after 2 tool calls',
    ],
    [ended('unfinished'), 'no answer: the agent did not come to an end'],
    [ended('fault'), 'no answer: something went wrong in svc itself'],
  ];
  for (const [one, words] of cases) {
    assert.equal(says(one), `bad: ${words}; the apology is delivered`);
  }
});

test('a reply that has not arrived says why, and when it is tried again', () => {
  assert.equal(says(answered(waiting)), 'wait: answered by a (Ollama); on its way');
  const deferred = { ...waiting, failure: tried, dueAt: now + 5_000 };
  assert.equal(
    says(answered(delivered, deferred)),
    'wait: answered by a (Ollama); not delivered: the receiver answers 500, next try +65 s',
  );
  const unreachable = 'answered by a (Ollama); not delivered: the address could not be reached';
  const due = { ...waiting, failure: failure('connect_failed'), dueAt: now };
  assert.equal(says(answered(due)), `wait: ${unreachable}, tried again now`);
  const dead: ReplyStory = { ...delivered, state: 'dead', attempts: 7, failure: tried };
  assert.equal(
    says(answered(dead)),
    'bad: answered by a (Ollama); not delivered: the receiver answers 500, given up after 7 tries',
  );
  const summary = {
    ...failure('rejected', { detail: 'it takes no messages from the bot' }),
    status: 403,
  };
  assert.equal(
    says(answered({ ...dead, attempts: 1, failure: summary })),
    'bad: answered by a (Ollama); not delivered: it takes no messages from the bot, given up',
  );
  assert.equal(
    says(answered()),
    'wait: answered by a (Ollama); whether it was delivered is not kept',
  );
  const apology = { ...ended('fault'), replies: [waiting] };
  assert.match(says(apology), /^bad: .*; the apology is on its way$/);
});

test('what waits, and what was given up', () => {
  const open: Story = { ...story, state: 'waiting', settledAt: null, trace: null, replies: [] };
  assert.equal(says(open), 'wait: waits since +0 s');
  const shaken = { ...open, diedUnder: 2 };
  assert.equal(says(shaken), 'wait: waits since +0 s; svc ended 2 times while it was next');
  const dead: Story = { ...open, state: 'dead', failure: failure('poison') };
  const why = 'bad: given up: svc ended twice while this message alone was being worked on';
  assert.equal(says(dead), why);
  assert.equal(says({ ...dead, replies: [delivered] }), `${why}; the apology is delivered`);
});

test('a request with a picture that cannot be read says so, not that models see none', () => {
  const file = { kind: 'file', part: 'picture', result: 'broken', startMs: 0, ms: 1 } as const;
  const sight = { kind: 'sight', blind: [], seeing: 0 } as const;
  assert.match(says(ended('unseen', file)), /^bad: no answer: a picture could not be read;/);
  assert.match(says(ended('unseen', file, sight)), /none of its models sees pictures/);
});

test('a request that nobody waits for has no answer, and nothing is said of a delivery', () => {
  const gone = { ...ended('abandoned'), replies: [] };
  assert.equal(says(gone), 'off: no answer: nobody waited for it any more');
});
