/** Names, tokens and addresses of several channels, as the check words them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { several } from '../../test/config/cases-routes.ts';
import { agent, change } from '../../test/config/cases.ts';
import { parseListenAddress, type ListenAddress } from './address.ts';
import { faultOfNames, isByFlag, overriddenChanges, type OwnAddresses } from './own-addresses.ts';
import { describeWarning } from './place-words.ts';
import { validateText } from './validate.ts';

const wordsOf = (text: string, own?: OwnAddresses): readonly string[] =>
  validateText(text, own).problems.map(
    ({ code, path, message, remedy }) => `${code} ${path}: ${message}. ${remedy}`,
  );

function configOf(text: string, own?: OwnAddresses) {
  const validation = validateText(text, own);
  assert.ok(validation.kind === 'valid', JSON.stringify(validation.problems));
  return validation.config;
}

const at = (text: string): ListenAddress => parseListenAddress(text, true)!;
const flags = (webhook: Record<string, string>, unnamed: string | null = null): OwnAddresses => ({
  webhook: new Map<string | null, ListenAddress>([
    ...Object.entries(webhook).map(([name, text]) => [name, at(text)] as const),
    ...(unnamed === null ? [] : [[null, at(unnamed)] as const]),
  ]),
  admin: null,
  completions: null,
});
const bindsOf = (text: string, own: OwnAddresses): readonly string[] =>
  configOf(text, own).channels.flatMap((one) => ('bind' in one ? [one.bind.text] : []));

test('two bots, two webhooks of one address, and their names', () => {
  const { channels, routes } = configOf(several);
  assert.deepEqual(
    channels.map(({ name }) => name),
    ['messenger_a', 'support', 'webhook', 'intake'],
  );
  const [first, second, third] = routes;
  assert.deepEqual(first?.when, {
    senders: ['1'],
    chats: null,
    topics: null,
    commands: ['/code'],
  });
  assert.deepEqual([second?.when?.chats, second?.when?.topics], [['-1001'], ['7']]);
  assert.deepEqual([third?.channel, third?.when], ['messenger_a', null], '{} is no condition');
});

test('the second bot without a name is told what to do, and what it would cost the first', () => {
  const [told] = wordsOf(change(several, '"name": "support", ', ''));
  assert.equal(
    told,
    'duplicate_channel channels[1].type: messenger_a is configured already, by channels[0]. Give ' +
      'the second one a `name`. The first one would lose its memory by a name, since it would be ' +
      'a new channel.',
  );
});

test('a name that is nearly right is named', () => {
  const all = wordsOf(change(several, '"channel": "intake"', '"channel": "intaek"'));
  assert.match(all.join('\n'), /unknown_channel .*no channel "intaek".* Did you mean intake\?/);
  const grant = wordsOf(change(several, '"support", "completions"', '"suport", "completions"'));
  assert.match(grant.join('\n'), /governance\[0\].*"suport".* Did you mean support\?/);
});

test('a grant by a type says which bot it misses, and not where it holds on one of them', () => {
  const alone = change(several, '["telegram", "support", "completions"]', '["telegram"]');
  assert.deepEqual(wordsOf(alone), [], 'it holds on a channel of the brain');
  const moved = change(
    alone,
    '"channel": "messenger_a", "brain": "main"',
    '"channel": "messenger_a", "brain": "code"',
  );
  assert.deepEqual(wordsOf(moved), [
    'grant_idle brains[0].agent.governance[0].channels[0]: messenger_a has no route to this ' +
      'brain, and the grant does not hold on support. Write "support" if the grant is for that ' +
      'channel.',
  ]);
});

test('listeners that meet are named with their address', () => {
  const here = '"webhook": { "outbound_url": "http://a.test/" } }';
  const path = change(several, '"path": "/intake"', '"path": "/webhook"');
  assert.match(
    wordsOf(path).join(),
    /webhook and the webhook intake would have one address and path: 127\.0\.0\.1:8090\/webhook\./,
  );
  const overlaps = change(several, here, here.replace('{ "', '{ "bind": ":8090", "'));
  assert.match(
    wordsOf(overlaps).join(),
    /webhook intake would listen on one address: :8090 and 127\.0\.0\.1:8090\. Give one of them/,
  );
  const admin = change(several, '"storage": {}', '"observability": { "addr": "127.0.0.1:8090" }');
  assert.match(
    wordsOf(change(admin, ',\n  "session": {}', '')).join(),
    /the webhook and the admin server would listen on one address: 127\.0\.0\.1:8090\./,
  );
  const anyPort = several.replaceAll('"outbound_url"', '"bind": "127.0.0.1:0", "outbound_url"');
  assert.deepEqual(wordsOf(anyPort), []);
});

test('a flag with a name gives that webhook its address, and the other keeps its own', () => {
  const own = flags({ intake: '127.0.0.1:0' });
  assert.deepEqual(bindsOf(several, own), ['127.0.0.1:8090', '127.0.0.1:0']);
  const config = configOf(several, own);
  assert.equal(isByFlag('channels[3].webhook.bind', config), true);
  assert.equal(isByFlag('channels[2].webhook.bind', config), false);
  const both = flags({ intake: ':1', webhook: '127.0.0.1:2' });
  assert.deepEqual(bindsOf(several, both), ['127.0.0.1:2', ':1']);
});

test('a flag without a name is for the only webhook, whatever its name is', () => {
  const other = /\{ "type": "webhook", "token_env": "HOOK", .*? \},\n/;
  const routesOfIt = /\{ "channel": "webhook".*?\},\n/g;
  const one = several.replace(other, '').replaceAll(routesOfIt, '');
  assert.deepEqual(bindsOf(one, flags({}, '127.0.0.1:9')), ['127.0.0.1:9']);
  const told = wordsOf(several, flags({}, '127.0.0.1:9'));
  assert.deepEqual(told, [
    'flag_unclear channels: --webhook-bind 127.0.0.1:9 does not say which webhook it means, and ' +
      'there are several. Write --webhook-bind NAME=127.0.0.1:9, with one of: webhook, intake.',
  ]);
});

test('a flag for a webhook that is gone is a warning, and a fault of a start', () => {
  const own = flags({ intaek: '127.0.0.1:9' });
  assert.match(wordsOf(several, own).join(), /^flag_unused .*no webhook has the name intaek/);
  assert.equal(
    faultOfNames(configOf(several, own), own),
    '--webhook-bind names intaek, and no webhook has this name. Write one of: webhook, intake.',
  );
  assert.equal(faultOfNames(configOf(several), flags({ intake: ':1' }, ':2')), null);
  assert.match(faultOfNames(configOf(several), flags({ support: ':1' })) ?? '', /names support/);
});

test('a changed address that a flag replaces is named with its channel', () => {
  const own = flags({ intake: '127.0.0.1:9' });
  const moved = change(several, '"path": "/intake"', '"bind": ":7", "path": "/intake"');
  assert.deepEqual(overriddenChanges(configOf(several, own), configOf(moved, own)), [
    'webhook.bind of intake is :7 now, which has no effect on this process: --webhook-bind says ' +
      '127.0.0.1:9.',
  ]);
});

test('a warning of the status says the name of its channel, and the number of its route', () => {
  const inUse = {
    revision: 'r',
    channels: configOf(several).channels,
    brains: [],
    instances: null,
  };
  const told = (path: string, message: string) =>
    describeWarning({ path, message, instances: null }, inUse);
  assert.deepEqual(told('channels[1].access', 'routes[0] takes every message'), {
    where: 'channel support, access',
    message: 'route 1 takes every message',
  });
  assert.equal(told('routes[2].when.chats[0]', '').where, 'route 3, when.chats[0]');
});

test('grants for channels with the names any and every do not overlap', () => {
  const grant = (name: string) =>
    `{ "tool": "http_fetch", "mode": "ask", "channels": ["${name}"] }`;
  const first = '[{ "tool": "http_fetch", "mode": "shadow", "channels": ["telegram"] }';
  const text = change(agent, first, `${first}, ${grant('any')}, ${grant('every')}`);
  assert.deepEqual(
    validateText(text).problems.filter(({ code }) => code === 'grants_overlap'),
    [],
  );
});

test('a blank description is none', () => {
  const { routes } = configOf(change(several, '"Ask about code"', '" \\n"'));
  assert.ok(routes.length > 1 && routes.every(({ description }) => description === null));
});
