import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ChannelKey } from '../domain/ids.ts';
import { channelsAsked, findChannel } from './channel-named.ts';

const configured = [
  { name: 'messenger_a', type: 'messenger_a' },
  { name: 'support', type: 'messenger_a' },
  { name: 'intake', type: 'webhook' },
] as const;

const asked = (named: string, channels: typeof configured | null = configured): string | null => {
  const found = channelsAsked(named, channels);
  return found.kind === 'found' ? found.channel : null;
};

test('a filter is a name, a type, a name with its bot, or a key', () => {
  const expected = {
    messenger_a: 'messenger_a',
    telegram: 'messenger_a',
    'telegram:77': 'messenger_a:77',
    discord: 'messenger_b',
    support: 'support',
    'support:77': 'support@messenger_a:77',
    'support@messenger_a:77': 'support@messenger_a:77',
    'support@telegram:77': 'support@messenger_a:77',
    'support@telegram': 'support',
    'former@messenger_b:5': 'former@messenger_b:5',
    intake: 'intake',
    'intake@webhook': 'intake@webhook',
    completions: 'completions',
  };
  for (const [named, channel] of Object.entries(expected)) assert.equal(asked(named), channel);
});

test('an unknown name is refused with the types and the configured names', () => {
  for (const named of [
    'slack',
    'Support',
    'support@slack:7',
    'intake:7',
    'webhook:7',
    'completions:7',
    '',
    '@',
    ':',
  ])
    assert.equal(asked(named), null, named);
  const found = channelsAsked('slack', configured);
  assert.ok(found.kind === 'unknown');
  const names = 'messenger_a, messenger_b, webhook, completions, support, intake';
  assert.ok(found.message.startsWith(`channel is one of ${names}, or a bot`), found.message);
});

test('without a configuration every name is allowed', () => {
  assert.deepEqual([asked('slack', null), asked('slack:7', null)], ['slack', 'slack:7']);
  const found = channelsAsked('Slack', null);
  assert.ok(found.kind === 'unknown');
  assert.match(found.message, / webhook, completions, the name that a channel has, or a bot/);
});

test('a person finds a named channel by its name, and one of several bots by its id', async () => {
  const keys = ['support@messenger_a:5', 'support@messenger_a:77'] as ChannelKey[];
  const channelKeys = async (name: string) => (name === 'support' ? keys : []);
  const find = async (named: string, known = channelKeys) =>
    findChannel(named, { channelKeys: known });
  assert.deepEqual(await find('support:77'), { kind: 'found', key: keys[1] });
  assert.deepEqual(await find('support@messenger_a:5'), { kind: 'found', key: keys[0] });
  assert.equal((await find('support')).kind, 'several');
  const one = async (): Promise<ChannelKey[]> => [keys[0]!];
  assert.deepEqual(await find('support', one), { kind: 'found', key: keys[0] });
});
