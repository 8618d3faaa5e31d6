import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fromNow } from '../../../test/support/hand-clock.ts';
import { systemClock } from '../../lib/clock.ts';
import { fakeTool } from '../../../test/fake/tools.ts';
import { patienceMs } from '../../../test/support/waiting.ts';
import type { GrantConfig, ToolName } from '../../config/config.ts';
import type { ChannelType } from '../../channels/registry.ts';
import type { CallEnding, LoggedCall } from '../../domain/tool-use.ts';
import { createToolbox } from './governance.ts';
import type { CallSurroundings, Tool } from './tool.ts';

const surroundings = (more: Partial<CallSurroundings> = {}): CallSurroundings => ({
  signal: new AbortController().signal,
  deadlineAt: fromNow(patienceMs),
  sensitivity: 'public',
  key: 'm:1:0',
  channel: 'webhook',
  dryRun: false,
  note: () => 'Kept.',
  ask: async () => 'asked',
  logCall: async () => ({ kind: 'run' }),
  logCallEnd() {},
  ...more,
});

const faults: unknown[] = [];
function toolbox(tools: readonly Tool[], grants: readonly GrantConfig[] = []) {
  const onFault = (error: unknown): void => void faults.push(error);
  return createToolbox({ tools, grants, ...systemClock, onFault });
}

const grant = (
  tool: ToolName,
  mode: GrantConfig['mode'],
  channels: readonly ChannelType[] | null = null,
): GrantConfig => ({ tool, mode, channels });

test('each grant means what it says, on each channel', async () => {
  const granted: readonly [readonly GrantConfig[], string, string][] = [
    [[], 'allow no_governance done', 'allow no_governance done'],
    [[grant('calc', 'allow')], 'allow governance[0] done', 'allow governance[0] done'],
    [[grant('echo', 'allow')], 'deny no_grant denied', 'deny no_grant denied'],
    [[grant('calc', 'deny')], 'deny governance[0] denied', 'deny governance[0] denied'],
    [[grant('calc', 'shadow')], 'shadow governance[0] rehearsed', 'shadow governance[0] rehearsed'],
    [[grant('calc', 'allow', [])], 'deny no_grant denied', 'deny no_grant denied'],
    [
      [grant('calc', 'allow', ['messenger_a']), grant('calc', 'shadow', ['webhook'])],
      'shadow governance[1] rehearsed',
      'allow governance[0] done',
    ],
    [
      [grant('calc', 'deny', ['webhook']), grant('echo', 'allow')],
      'deny governance[0] denied',
      'deny no_grant denied',
    ],
  ];
  for (const [grants, ...expected] of granted) {
    for (const [at, channel] of (['webhook', 'messenger_a'] as const).entries()) {
      const calc = fakeTool('calc', 'expression');
      const box = toolbox([calc, fakeTool('echo', 'text')], grants);
      const call = { name: 'calc', arguments: { expression: '1' } };
      const { text, use } = await box.run(call, surroundings({ channel }));
      const label = `${JSON.stringify(grants)} on ${channel}`;
      assert.equal(`${use.mode} ${use.rule} ${use.outcome}`, expected[at], label);
      assert.equal(calc.ran.length, use.outcome === 'done' ? 1 : 0, label);
      const announced = box.announcedOn(channel).some(({ name }) => name === 'calc');
      assert.equal(announced, use.mode !== 'deny', 'what is denied is not announced');
      assert.equal(box.abilitiesOn(channel)[0]!.mode, use.mode);
      if (use.outcome === 'rehearsed') assert.match(text, /This was a rehearsal: calc was not run/);
    }
  }
});

test('shadow looks at the arguments all the same', async () => {
  const box = toolbox([fakeTool('calc', 'expression')], [grant('calc', 'shadow')]);
  const { use } = await box.run({ name: 'calc', arguments: {} }, surroundings());
  assert.equal(use.outcome, 'invalid');
});

test('names are exact: nothing that looks like a listed tool is one', async () => {
  const calc = fakeTool('calc', 'expression');
  const box = toolbox([calc]);
  const names = ['Calc', 'calc ', ' calc', 'ca\u200Blc', 'сalc', 'functions.calc', '', 'toString'];
  for (const name of [...names, '__proto__', 'constructor', 'calc\0', 'calc\n']) {
    const { use } = await box.run({ name, arguments: { expression: '1' } }, surroundings());
    assert.deepEqual([use.outcome, use.rule, use.tool], ['denied', 'not_listed', 'unlisted'], name);
  }
  assert.deepEqual(calc.ran, []);
});

test('one missing parameter and one text: it is that one; no more is guessed', async () => {
  const forms: readonly [unknown, unknown][] = [
    [{ expression: '1' }, '1'],
    ['{"expression": "1"}', '1'],
    ['1+1', '1+1'],
    ['"1+1"', '1+1'],
    [{ expr: '2' }, '2'],
    [{ expr: '2', places: 3 }, '2'],
    [{ expr: '2', other: '3' }, null],
    [{ expr: 2 }, null],
    ['', null],
    ['[1]', null],
    ['5', null],
    ['{"expression": "1+1', null],
    [' [1,2', null],
    ["{'expression': '1'}", null],
    ['{"expression": "1"} {"expression": "2"}', null],
    [[], null],
    [null, null],
    [undefined, null],
    [5, null],
  ];
  for (const [given, expected] of forms) {
    const calc = fakeTool('calc', 'expression');
    const { use } = await toolbox([calc]).run({ name: 'calc', arguments: given }, surroundings());
    const label = JSON.stringify(given);
    assert.equal(use.outcome, expected === null ? 'invalid' : 'done', label);
    assert.equal(calc.ran[0]?.['expression'] ?? null, expected, label);
  }
});

test('in a dry run a tool that reaches out is not run, and others are', async () => {
  const [calc, fetches] = [
    fakeTool('calc', 'expression'),
    fakeTool('http_fetch', 'url', { reachesOut: true }),
  ];
  const box = toolbox([calc, fetches]);
  const dryRun = surroundings({ dryRun: true });
  const one = await box.run({ name: 'http_fetch', arguments: { url: 'http://a.test' } }, dryRun);
  const two = await box.run({ name: 'calc', arguments: { expression: '1' } }, dryRun);
  assert.deepEqual([one.use.outcome, two.use.outcome], ['rehearsed', 'done']);
  assert.deepEqual([fetches.ran.length, calc.ran.length], [0, 1]);
});

test('what changes something elsewhere is written down first, and never run twice', async () => {
  const ending: CallEnding = { text: 'It was sent.', outcome: 'failed', ms: 3 };
  const states: readonly [LoggedCall, string, number][] = [
    [{ kind: 'run' }, 'done', 1],
    [{ kind: 'unknown', key: 'm:0:7' }, 'unknown', 0],
    [{ kind: 'done', key: 'm:0:7', ending }, 'failed', 0],
    [{ kind: 'unwritten' }, 'refused', 0],
  ];
  for (const [journaled, outcome, runs] of states) {
    const order: string[] = [];
    const hashes = new Set<string>();
    const sends = fakeTool('webhook_call', 'url', {
      effect: 'outside',
      does: () => (order.push('run'), 'sent'),
    });
    const call = { name: 'webhook_call', arguments: { url: 'http://a.test' } };
    const around = surroundings({
      async logCall({ key, tool, hash, arguments: given }) {
        order.push(`${key} ${tool}`);
        assert.equal(given, JSON.stringify(call.arguments));
        hashes.add(hash);
        return journaled;
      },
      logCallEnd: (key, { text }) => void order.push(`${key} ${text}`),
    });
    const { text, use } = await toolbox([sends]).run(call, around);
    assert.equal(use.outcome, outcome);
    assert.equal(sends.ran.length, runs);
    const ends = runs === 1 ? ['run', 'm:1:0 sent'] : [];
    assert.deepEqual(order, ['m:1:0 webhook_call', ...ends]);
    if (journaled.kind === 'done') assert.equal(text, 'It was sent.');
    assert.equal(hashes.size, 1);
    const earlier = journaled.kind === 'unknown' || journaled.kind === 'done';
    assert.equal(use.key, earlier ? 'm:0:7' : 'm:1:0');
    if (journaled.kind === 'unwritten') assert.match(text, /not be written down.*was not run/);
    if (journaled.kind === 'unknown') assert.match(text, /Whether it took effect is not known/);
  }
});

test('a turn that ends while the tool-call log is slow sends nothing any more', async () => {
  const stop = new AbortController();
  const gate = Promise.withResolvers<LoggedCall>();
  const sends = fakeTool('webhook_call', 'url', { effect: 'outside' });
  const around = surroundings({ signal: stop.signal, logCall: () => gate.promise });
  const call = { name: 'webhook_call', arguments: { url: 'http://a.test' } };
  const running = toolbox([sends]).run(call, around);
  stop.abort();
  assert.equal((await running).use.rule, 'deadline');
  gate.resolve({ kind: 'run' });
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(sends.ran, []);
  const late = await toolbox([sends]).run(call, around);
  assert.equal(late.use.outcome, 'failed');
});

test('a tool that throws is a fault of ours; the model hears that it failed', async () => {
  const broken = new Error('canary');
  const throwing = fakeTool('calc', 'expression', { does: () => Promise.reject(broken) });
  const checking = fakeTool('echo', 'text', {
    check() {
      throw broken;
    },
  });
  const lost = fakeTool('webhook_call', 'url', { effect: 'outside' });
  const box = toolbox([throwing, checking, lost]);
  const around = surroundings({ logCall: () => Promise.reject(broken) });
  for (const name of ['calc', 'echo', 'webhook_call']) {
    faults.length = 0;
    const given = { expression: '1', text: '1', url: '1' };
    const { text, use } = await box.run({ name, arguments: given }, around);
    assert.equal(use.outcome, 'failed');
    assert.doesNotMatch(text, /canary/);
    assert.deepEqual(faults, [broken]);
  }
  assert.deepEqual(lost.ran, [], 'what cannot be written down is not run');
});

test('the audit keeps the beginning of long arguments', async () => {
  const box = toolbox([fakeTool('calc', 'expression')]);
  const around = surroundings();
  const long = { expression: 'x'.repeat(10_000) };
  const { use } = await box.run({ name: 'calc', arguments: long }, around);
  assert.equal(use.arguments.length, 2_001);
  const circle: { self?: unknown } = {};
  circle.self = circle;
  const odd = await box.run({ name: 'calc', arguments: circle }, around);
  assert.deepEqual([odd.use.outcome, odd.use.arguments], ['invalid', '']);
});

test('for an API request a grant that asks denies, and no note is kept', async () => {
  const tools = [
    fakeTool('calc', 'expression'),
    fakeTool('echo', 'text'),
    fakeTool('memory_note', 'note'),
  ];
  const box = toolbox(tools, [
    grant('calc', 'ask'),
    grant('echo', 'allow'),
    grant('memory_note', 'allow'),
  ]);
  const modes = (channel: string) => box.abilitiesOn(channel).map(({ mode }) => mode);
  assert.deepEqual(modes('webhook'), ['ask', 'allow', 'allow']);
  assert.deepEqual(modes('completions'), ['deny', 'allow', 'deny']);
  assert.deepEqual(
    box.announcedOn('completions').map(({ name }) => name),
    ['echo'],
  );
  const calc = { name: 'calc', arguments: { expression: '1' } };
  const { use } = await box.run(calc, surroundings({ channel: 'completions' }));
  assert.deepEqual([use.mode, use.rule, use.outcome], ['deny', 'governance[0]', 'denied']);
  const plain = toolbox(tools).announcedOn('completions');
  assert.deepEqual(
    plain.map(({ name }) => name),
    ['calc', 'echo'],
    'without grants, too',
  );
});
