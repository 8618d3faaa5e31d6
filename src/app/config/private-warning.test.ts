/** Who is warned beforehand that cloud models will not see private texts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { validateText } from '../../config/validate.ts';
import { warnOfPrivateTurns } from './private-warning.ts';

const model = { provider: 'openai', model_id: 'm', locality: 'cloud', api_key_env: 'KEY' };
const brain = { policy: { kind: 'priority' }, models: [model] };
const when = { senders: ['1'] };

function configOf(routes: readonly object[]) {
  const channels = [
    { type: 'telegram', mode: 'polling', token_env: 'A' },
    { type: 'telegram', name: 'support', mode: 'polling', token_env: 'B' },
  ];
  const brains = [
    { name: 'open', sensitivity: 'public', ...brain },
    { name: 'wide', sensitivity: 'public', ...brain },
    { name: 'own', sensitivity: 'private', ...brain },
  ];
  const validation = validateText(JSON.stringify({ channels, brains, routes }));
  assert.ok(validation.kind === 'valid', JSON.stringify(validation.problems));
  return validation.config;
}

/** One private conversation on each channel that is asked about. */
const reader = { privateConversations: () => Promise.resolve(1) };

const warned = async (routes: readonly object[]): Promise<readonly string[]> => {
  const problems = await warnOfPrivateTurns(configOf(routes), reader);
  return problems.map(({ path, message }) => `${path}: ${message}`);
};

test('a channel is named by its name, and a route by its place in the file', async () => {
  const told = await warned([
    { channel: 'telegram', brain: 'own' },
    { channel: 'telegram', brain: 'own' },
    { channel: 'support', brain: 'open' },
  ]);
  assert.deepEqual(told, [
    'routes[2]: 1 conversation on support holds private texts, and open asks cloud models, which ' +
      'will not see those',
  ]);
});

test('all public routes of a channel are warned of, and none beside a private one', async () => {
  const last = { channel: 'support', brain: 'open' };
  const both = await warned([{ channel: 'support', brain: 'wide', when }, last]);
  assert.deepEqual(
    both.map((one) => one.slice(0, 9)),
    ['routes[0]', 'routes[1]'],
  );
  assert.deepEqual(await warned([{ channel: 'support', brain: 'own', when }, last]), []);
});
