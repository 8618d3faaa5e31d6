/** The grant `ask`, at the dispatcher: nothing runs unless somebody approved that very call. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeTool } from '../../../test/fake/tools.ts';
import { fromNow } from '../../../test/support/hand-clock.ts';
import { patienceMs } from '../../../test/support/waiting.ts';
import type { GrantConfig } from '../../config/config.ts';
import type { AskAnswer, WantedCall } from '../../domain/approval.ts';
import { systemClock } from '../../lib/clock.ts';
import { createToolbox } from './governance.ts';
import type { CallSurroundings, Tool } from './tool.ts';

const asked: WantedCall[] = [];
const surroundings = (
  more: Partial<CallSurroundings> = {},
  answer: AskAnswer = 'asked',
): CallSurroundings => ({
  signal: new AbortController().signal,
  deadlineAt: fromNow(patienceMs),
  sensitivity: 'public',
  key: 'm:1:0',
  channel: 'webhook',
  dryRun: false,
  note: () => 'Kept.',
  ask: async (wanted) => {
    asked.push(wanted);
    return answer;
  },
  logCall: async () => ({ kind: 'run' }),
  logCallEnd() {},
  ...more,
});

const boxOf = (tool: Tool, mode: GrantConfig['mode'] = 'ask') =>
  createToolbox({
    tools: [tool],
    grants: [{ tool: tool.name, mode, channels: null }],
    ...systemClock,
    onFault: (error) => assert.fail(String(error)),
  });
const call = (url: unknown = 'https://a', more: object = {}) => ({
  name: 'webhook_call',
  arguments: { url, ...more },
});
const payer = () => fakeTool('webhook_call', 'url', { effect: 'outside', reachesOut: true });

test('a call that asks is announced, and waits with its canonical arguments', async () => {
  const tool = payer();
  const box = boxOf(tool);
  assert.deepEqual(
    box.announcedOn('webhook').map(({ name }) => name),
    ['webhook_call'],
  );
  asked.length = 0;
  const { use } = await box.run(call('https://a', { b: 1, a: { d: 1, c: 2 } }), surroundings());
  assert.deepEqual([use.outcome, use.mode, use.rule], ['asked', 'ask', 'governance[0]']);
  assert.equal(asked[0]?.arguments, '{"a":{"c":2,"d":1},"b":1,"url":"https://a"}');
  assert.deepEqual(tool.ran, []);
  const other = JSON.parse(asked[0].arguments) as object;
  await box.run({ name: 'webhook_call', arguments: other }, surroundings());
  assert.equal(asked[1]?.hash, asked[0].hash, 'what is written down is the same call');
});

test('a yes is for that call alone, by whoever said it', async () => {
  const tool = payer();
  const box = boxOf(tool);
  asked.length = 0;
  await box.run(call(), surroundings());
  const approved = { hash: asked[0]!.hash, by: 'approver' } as const;
  const changed = await box.run(call('https://b'), surroundings({ approved }));
  assert.equal(changed.use.outcome, 'asked');
  assert.deepEqual(tool.ran, []);
  const rules: string[] = [];
  const logCall: CallSurroundings['logCall'] = async ({ rule }) => {
    rules.push(rule);
    return { kind: 'run' };
  };
  const { use } = await box.run(call(), surroundings({ approved, logCall }));
  assert.deepEqual([use.outcome, use.rule], ['done', 'approved_by_approver']);
  assert.deepEqual(rules, ['approved_by_approver']);
  assert.equal(tool.ran.length, 1);
});

test('nobody is asked of what could not run, or in a dry run', async () => {
  const tool = payer();
  const box = boxOf(tool);
  asked.length = 0;
  const wrong = await box.run({ name: 'webhook_call', arguments: { url: 5 } }, surroundings());
  assert.equal(wrong.use.outcome, 'invalid');
  const rehearsed = await box.run(call(), surroundings({ dryRun: true }));
  assert.equal(rehearsed.use.outcome, 'rehearsed');
  assert.match(rehearsed.text, /would wait for a person's yes/);
  const approved = { hash: 'h', by: 'operator' } as const;
  const echo = fakeTool('echo', 'text');
  const near = await boxOf(echo).run(
    { name: 'echo', arguments: { text: 'x' } },
    surroundings({ dryRun: true, approved }),
  );
  assert.equal(near.use.outcome, 'rehearsed');
  assert.deepEqual([asked, tool.ran, echo.ran], [[], [], []]);
});

test('what is not put to anybody does not run, and the model hears why', async () => {
  const tool = payer();
  for (const answer of ['waits', 'too_many', 'unread'] as const) {
    const { use, text } = await boxOf(tool).run(call(), surroundings({}, answer));
    assert.deepEqual([use.outcome, use.rule], ['refused', `ask_${answer}`]);
    assert.match(text, /not run/);
  }
  assert.deepEqual(tool.ran, []);
});

test('one yes is one run, also of a tool that says it changes nothing', async () => {
  const fetching = fakeTool('http_fetch', 'url', { reachesOut: true });
  const box = boxOf(fetching);
  const fetches = { name: 'http_fetch', arguments: { url: 'https://a' } };
  asked.length = 0;
  await box.run(fetches, surroundings());
  const approved = { hash: asked[0]!.hash, by: 'operator' } as const;
  const logCall: CallSurroundings['logCall'] = async () => ({
    kind: 'unknown',
    key: 'm:0:0',
  });
  const { use } = await box.run(fetches, surroundings({ approved, logCall }));
  assert.equal(use.outcome, 'unknown');
  assert.deepEqual(fetching.ran, []);
});

test('a call that could not be read again as it is written down is put to nobody', async () => {
  const tool = payer();
  const box = boxOf(tool);
  const deep = `{"url":"https://a","body":${'['.repeat(30_000)}${']'.repeat(30_000)}}`;
  const long = `{"url":"https://a","body":[${Array(12_000).fill('1e20').join(',')}]}`;
  asked.length = 0;
  for (const given of [deep, long]) {
    const { text, use } = await box.run({ name: 'webhook_call', arguments: given }, surroundings());
    assert.deepEqual([use.outcome, text], ['invalid', `The call was not run. ${tooMuch}`]);
  }
  assert.deepEqual(asked, []);
});

const tooMuch = 'Its arguments are too long or too deep.';
