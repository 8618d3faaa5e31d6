import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changesBetween } from './changes.ts';

const model = { provider: 'local_runtime', model_id: 'small', locality: 'local' };
const other = { ...model, model_id: 'big' };
const base = {
  channels: [{ type: 'webhook', token_env: 'HOOK', webhook: { outbound_url: 'http://a/' } }],
  brains: [
    {
      name: 'triage',
      sensitivity: 'public',
      policy: { kind: 'consensus' },
      models: [model, other],
    },
  ],
  routes: [{ channel: 'webhook', brain: 'triage' }],
};
const [brain] = base.brains as [object];

test('a change is a sentence that names the field as the file does', () => {
  const cases: readonly (readonly [object, readonly string[]])[] = [
    [{ ...base, _note: 'for us', $schema: 'x', session: null }, []],
    [
      { ...base, brains: [{ ...brain, policy: { kind: 'priority' }, dispatch: 'sequential' }] },
      [
        'Brain triage: policy.kind: "consensus" → "priority".',
        'Brain triage: dispatch is set to "sequential".',
      ],
    ],
    [
      { ...base, session: { idle_min: 5 }, routes: [{ channel: 'webhook', brain: 'b' }] },
      [
        'Route webhook → b is added.',
        'Route webhook → triage is removed.',
        'session is set to {"idle_min":5}.',
      ],
    ],
    [
      { ...base, channels: [...base.channels, { type: 'telegram', token_env: 'BOT' }] },
      ['Channel messenger_a is added.'],
    ],
    [{ ...base, channels: [] }, ['Channel webhook is removed.']],
    [
      { ...base, brains: [{ ...brain, models: [other, { ...model, timeout_seconds: 3 }] }] },
      [
        'Brain triage: model local_runtime/small: timeout_seconds is set to 3.',
        'Brain triage: the order of the models is local_runtime/big, local_runtime/small.',
      ],
    ],
    [
      { ...base, brains: [{ ...brain, models: [other] }] },
      ['Brain triage: model local_runtime/small is removed.'],
    ],
  ];
  for (const [after, said] of cases) assert.deepEqual(changesBetween(base, after), said);
});

test('what only stands in another order is no change', () => {
  const turned = Object.fromEntries(Object.entries(base).reverse());
  assert.deepEqual(changesBetween(base, turned), []);
  const two = { ...base, brains: [{ name: 'a' }, { name: 'b' }] };
  const turnedRound = { ...base, brains: [{ name: 'b' }, { name: 'a' }] };
  assert.deepEqual(changesBetween(two, turnedRound), []);
});

test('a long value is cut, and so is a long list', () => {
  const prompt = { ...base, brains: [{ ...brain, agent: { system_prompt: 'x'.repeat(500) } }] };
  const [said = ''] = changesBetween(base, prompt);
  assert.ok(said.length < 120, said);
  const many = Array.from({ length: 150 }, (_, n) => ({ name: `b${n}` }));
  const sentences = changesBetween(base, { ...base, brains: [...base.brains, ...many] });
  assert.equal(sentences.length, 101);
  assert.equal(sentences.at(-1), '50 more changes.');
});
