import assert from 'node:assert/strict';
import { test } from 'node:test';
import { validateText } from './validate.ts';

const cloud = {
  provider: 'hosted_runtime',
  model_id: 'big',
  locality: 'cloud',
  api_key_env: 'API_KEY',
};
const local = { provider: 'local_runtime', model_id: 'small', locality: 'local' };
const price = { input: 0.15, output: 0.6 };

function codesOf(brain: object, models: readonly object[]): readonly string[] {
  const whole = {
    channels: [
      { type: 'messenger_a', mode: 'polling', token_env: 'TOKEN', access: { allow: ['1'] } },
    ],
    brains: [
      { name: 'main', sensitivity: 'public', policy: { kind: 'priority' }, models, ...brain },
    ],
    routes: [{ channel: 'messenger_a', brain: 'main' }],
  };
  const { problems } = validateText(JSON.stringify(whole));
  return problems.map(({ severity, code, path }) => `${severity} ${code} ${path}`);
}

const ofDay = { budget: { tokens_per_day: 1_000 } };

test('a budget needs to know how long the answers of a model that costs may be', () => {
  const where = 'brains[0].models[0].max_output_tokens';
  assert.deepEqual(codesOf(ofDay, [cloud]), [`error budget_unbounded ${where}`]);
  assert.deepEqual(codesOf(ofDay, [{ ...local, price }]), [`error budget_unbounded ${where}`]);
  assert.deepEqual(codesOf(ofDay, [{ ...cloud, max_output_tokens: 9 }, local]), []);
  assert.deepEqual(codesOf({ budget: {} }, [cloud]), []);
});

test('a budget of money needs the price of each model that costs', () => {
  const budget = { cost_per_day: 2.5 };
  const bounded = { ...cloud, max_output_tokens: 9 };
  const expected = ['error budget_without_price brains[0].models[0].price'];
  assert.deepEqual(codesOf({ budget }, [bounded, local]), expected);
  assert.deepEqual(codesOf({ budget }, [{ ...bounded, price }, local]), []);
});

test('a budget that bounds nothing is told, and refuses nothing', () => {
  const expected = ['warning budget_idle brains[0].budget'];
  assert.deepEqual(codesOf(ofDay, [local]), expected);
  const both = codesOf({ ...ofDay, sensitivity: 'private' }, [local, cloud]);
  assert.deepEqual(both, expected, 'a private brain asks its cloud model nothing');
});

test('a price is two or three numbers, of which none is below 0', () => {
  const with_ = (value: object): readonly string[] => codesOf({}, [{ ...cloud, price: value }]);
  assert.deepEqual(with_({ input: 0, output: 0.000001 }), []);
  const at = 'brains[0].models[0].price';
  assert.deepEqual(with_({ input: 1 }), [`error required ${at}.output`]);
  assert.deepEqual(with_({ input: -0.1, output: 1 }), [`error out_of_range ${at}.input`]);
  assert.deepEqual(with_({ input: 1e12, output: 1 }), [`error out_of_range ${at}.input`]);
  assert.deepEqual(with_({ input: '1', output: 1 }), [`error wrong_type ${at}.input`]);
  assert.deepEqual(with_({ input: 1, output: 1, cached_input: 0 }), []);
  const below = with_({ input: 1, output: 1, cached_input: -1 });
  assert.deepEqual(below, [`error out_of_range ${at}.cached_input`]);
});

test('numbers of money are kept as they were written', () => {
  const model = { ...cloud, max_output_tokens: 9, price: { input: 0.15, output: 1e-7 } };
  const whole = {
    channels: [
      { type: 'messenger_a', mode: 'polling', token_env: 'TOKEN', access: { allow: ['1'] } },
    ],
    brains: [
      {
        name: 'main',
        sensitivity: 'public',
        policy: { kind: 'priority' },
        models: [model],
        budget: { cost_per_day: 0.3, tokens_per_turn: 5 },
      },
    ],
    routes: [{ channel: 'messenger_a', brain: 'main' }],
  };
  const validation = validateText(JSON.stringify(whole));
  assert.ok(validation.kind !== 'invalid');
  const [brain] = validation.config.brains;
  assert.deepEqual(brain!.models[0]!.price, { input: '0.15', output: '0.0000001' });
  const cached = { ...model, price: { input: 3, output: 1, cached_input: 0.3 } };
  const other = validateText(
    JSON.stringify({ ...whole, brains: [{ ...whole.brains[0], models: [cached] }] }),
  );
  assert.ok(other.kind !== 'invalid');
  const expected = { input: '3', output: '1', cachedInput: '0.3' };
  assert.deepEqual(other.config.brains[0]!.models[0]!.price, expected);
  assert.equal(brain!.models[0]!.outputTokensMax, 9);
  assert.deepEqual(brain!.budget, {
    tokensPerTurn: 5,
    tokensPerDay: null,
    costPerDay: '0.3',
    tokensPerSenderPerDay: null,
  });
});
