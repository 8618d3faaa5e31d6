import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rankModels } from './rank.ts';
import { validateText } from './validate.ts';

const channel = { type: 'webhook', token_env: 'T', webhook: { outbound_url: 'http://a.test' } };
const model = { provider: 'local_runtime', model_id: 'm', locality: 'local' };
const brain = {
  name: 'main',
  sensitivity: 'public',
  policy: { kind: 'priority' },
  models: [model],
};
const route = { channel: 'webhook', brain: 'main' };

const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));
const problemsOf = (more: object) => {
  const document = { channels: [channel], brains: [brain], routes: [route], ...more };
  return validateText(JSON.stringify(document));
};

test('two hundred problems are told by place, and then how many more there are', () => {
  const wrongEntries = (count: number) => problemsOf({ routes: times(count, () => 7) }).problems;
  assert.equal(wrongEntries(200).length, 200);
  assert.ok(wrongEntries(200).every(({ code }) => code === 'wrong_type'));
  const reported = wrongEntries(250);
  assert.equal(reported.length, 201);
  assert.equal(reported[199]!.path, 'routes[199]');
  const { code, message, severity, line, column } = reported[200]!;
  assert.deepEqual(
    [code, message, severity],
    ['too_many_problems', '50 more are not told here', 'warning'],
  );
  assert.deepEqual([line, column], [reported[199]!.line, reported[199]!.column]);
});

test('an error is told before any warning, and warnings alone stand in nobody’s way', () => {
  const brains = [brain, ...times(300, (index) => ({ ...brain, name: `b${index}` }))];
  const unrouted = problemsOf({ brains });
  assert.equal(unrouted.kind, 'valid');
  assert.equal(unrouted.problems.length, 201);
  assert.match(unrouted.problems[200]!.message, /^100 more/);
  const { kind, problems } = problemsOf({ brains, session: {} });
  assert.equal(kind, 'invalid');
  assert.equal(problems.find(({ severity }) => severity === 'error')?.path, 'session');
  assert.match(problems[200]!.message, /^101 more/);
});

test('each model is looked at a few times, however long the order is', () => {
  let looks = 0;
  const models = times(1_000, (index) => ({
    provider: 'local_runtime',
    get modelId() {
      looks++;
      return `m${index}`;
    },
  }));
  const order = times(1_000, (index) => `m${999 - index}`);
  assert.deepEqual(
    rankModels([...order, 'ollama', 'ollama'], models),
    times(1_000, (at) => 999 - at),
  );
  assert.ok(looks <= 10_000, `${looks} looks`);
});

test('what a text of a mebibyte can hold is checked, whatever is wrong with it', () => {
  const many = times(9_000, (index) => `name-of-number-${index}`);
  const texts = {
    'an order of as many models': problemsOf({
      brains: [
        {
          ...brain,
          policy: { kind: 'priority', order: many },
          models: times(9_000, (index) => ({ ...model, model_id: `m${index}` })),
        },
      ],
    }),
    'routes that lead nowhere': problemsOf({
      brains: many.slice(0, 6_000).map((name) => ({ ...brain, name })),
      routes: many.map((name) => ({ channel: 'webhook', brain: `${name}-not` })),
    }),
    'grants on no channel': problemsOf({
      brains: [
        {
          ...brain,
          agent: {
            tools: [...times(50_000, () => 'x'), ...times(50_000, () => 'calc')],
            governance: times(9_000, () => ({ tool: 'calc', mode: 'allow', channels: [] })),
          },
        },
      ],
    }),
    'values below a long key': problemsOf({
      ['k'.repeat(100_000)]: times(100_000, () => 7),
      routes: times(300, () => 7),
    }),
    'channels of one type': problemsOf({ channels: times(9_000, () => channel) }),
  };
  for (const [what, { problems }] of Object.entries(texts)) {
    assert.equal(problems.length, 201, what);
    const length = JSON.stringify(problems).length;
    assert.ok(length < 400_000, `${what}: ${length} characters`);
  }
});

test('a name that is not known is quoted, unless it may be a secret', () => {
  const messagesOf = (more: object): readonly string[] =>
    problemsOf(more).problems.map(({ path, message }) => `${path}: ${message}`);
  const unknown = messagesOf({ routes: [{ channel: 'pigeon', brain: 'main' }] });
  assert.ok(unknown.includes('routes[0].channel: no channel "pigeon" is configured'));
  assert.ok(
    messagesOf({ routes: [route, { channel: 'telegram', brain: 'main' }] }).includes(
      'routes[1].channel: no channel "messenger_a" is configured',
    ),
  );
  assert.ok(
    messagesOf({ routes: [{ ...route, brain: 'mane' }] }).includes(
      'routes[0].brain: no brain has the name "mane"',
    ),
  );
  const key = 'sk-proj-4f9Qx81LmZ';
  for (const more of [
    { routes: [{ ...route, brain: key }] },
    { routes: [{ ...route, channel: key }] },
    { brains: [{ ...brain, sensitivity: key }] },
  ]) {
    assert.ok(problemsOf(more).kind === 'invalid');
    assert.doesNotMatch(JSON.stringify(problemsOf(more).problems), /4f9Q/);
  }
});

test('a required field under a misspelt name is one problem', () => {
  const { brains: _, ...rest } = { channels: [channel], routes: [route], brains: [] };
  const { problems } = validateText(JSON.stringify({ ...rest, brians: [brain] }));
  assert.deepEqual(
    problems.map(({ code, path, remedy }) => [code, path, remedy.split('?')[0]]),
    [['unknown_key', 'brians', 'Did you mean brains']],
  );
});

test('a single quote is called by its name', () => {
  for (const text of ["{'channels': []}", '{"channels": \'x\'}']) {
    const [problem] = validateText(text).problems;
    assert.equal(problem?.message, 'a single quote stands here, which JSON does not know');
  }
});
