/** The block of the completions API, as the check words it, and what flags and changes do to it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { offering } from '../../test/config/cases-completions.ts';
import { change } from '../../test/config/cases.ts';
import { parseListenAddress } from './address.ts';
import { changesOf, consequencesOf, sentencesOf } from './changes/changes.ts';
import { restartFields } from './changes/lifetime.ts';
import { isByFlag, noOwnAddresses, overriddenChanges, type OwnAddresses } from './own-addresses.ts';
import { namedSecrets, resolveSecrets } from './secrets.ts';
import type { EnvName } from './secret-value.ts';
import { validateText } from './validate.ts';

const flag = (text: string): OwnAddresses => {
  return { ...noOwnAddresses, completions: parseListenAddress(text, true)! };
};
const wordsOf = (text: string, own?: OwnAddresses): readonly string[] =>
  validateText(text, own).problems.map(
    ({ code, path, message, remedy }) => `${code} ${path}: ${message}. ${remedy}`,
  );

function configOf(text: string, own?: OwnAddresses) {
  const validation = validateText(text, own);
  assert.ok(validation.kind === 'valid', JSON.stringify(validation.problems));
  return validation.config;
}

const list = '["home", "tools"]';
const without = change(
  offering,
  '"completions": { "token_env": "API_TOKEN", "brains": ["home", "tools"] },\n',
  '',
);

test('brains for clients need no channel and no route', () => {
  const { channels, routes, completions } = configOf(offering);
  assert.deepEqual([channels, routes], [[], []]);
  assert.deepEqual(completions?.brains, ['home', 'tools']);
  const empty = change(offering, '"storage": {}', '"channels": [], "routes": null');
  assert.deepEqual(wordsOf(empty), []);
  assert.deepEqual(
    validateText(without).problems.map(({ code, path }) => `${code} ${path}`),
    ['required channels', 'required routes'],
    'without the block somebody must bring messages',
  );
});

test('an absent list of brains means all of them, in the order of the file', () => {
  const all = change(offering, `, "brains": ${list}`, '');
  assert.deepEqual(configOf(all).completions?.brains, ['home', 'tools']);
  assert.deepEqual(wordsOf(all), []);
  const turned = change(offering, list, '["tools", "home"]');
  assert.deepEqual(configOf(turned).completions?.brains, ['home', 'tools']);
});

test('a brain that is nearly right is named', () => {
  const words = wordsOf(change(offering, list, '["home", "tool"]')).join('\n');
  assert.match(
    words,
    /completions\.brains\[1\]: no brain has the name "tool"\. Did you mean tools/,
  );
});

test('a brain that clients cannot use yet may be listed for them', () => {
  assert.match(
    wordsOf(change(offering, list, '["tools"]')).join(),
    /brain_without_route brains\[0\]: .* Add a route for it, list it in completions\.brains, or/,
  );
});

test('a route of the API is none', () => {
  const routed = '"storage": {}, "routes": [{ "channel": "completions", "brain": "home" }]';
  assert.match(
    wordsOf(change(offering, '"storage": {}', routed)).join(),
    /unknown_channel routes\[0\]\.channel: .* Remove this route: clients name a brain themselves/,
  );
});

test('the warning of a private brain beside a public one names both', () => {
  const mixed = change(
    offering,
    '"name": "home", "sensitivity": "private"',
    '"name": "home", "sensitivity": "public"',
  );
  assert.deepEqual(wordsOf(mixed), [
    'private_beside_public completions.brains: a client that changes from tools, which is ' +
      'private, to home, which is public, sends its history along. List in brains only private ' +
      'ones or only public ones.',
  ]);
});

test('a grant that asks is quiet where the agent is not for clients', () => {
  const asks = change(
    offering,
    '"allow", "channels": ["completions"]',
    '"ask", "channels": ["completions"]',
  );
  assert.match(wordsOf(asks).join(), /^ask_unheard .*nobody can be asked on the completions API/);
  assert.doesNotMatch(wordsOf(change(asks, list, '["home"]')).join(), /ask_unheard/);
});

test('an agent that reads files and sends things out is told of clients, too', () => {
  const leaky = offering
    .replace('"tools": ["time", "read_file"]', '"tools": ["read_file", "webhook_call"]')
    .replace('"read_file": { "root": "files" },', (block) => {
      return `${block} "webhook_call": { "allow_hosts": ["a.test"] },`;
    })
    .replace(/"governance": \[[^\]]*\][^\]]*\]/, '"max_iterations": 4');
  assert.match(
    wordsOf(leaky).join(),
    /agent_can_leak brains\[1\]\.agent\.tools: a message on completions could make the agent send/,
  );
});

test('the secret is a required one, and a short value is a warning', () => {
  const config = configOf(offering);
  const name = 'API_TOKEN' as EnvName;
  assert.deepEqual(namedSecrets(config), [{ name, usedAt: ['completions.token_env'] }]);
  const found = { kind: 'value', value: 'short', source: 'environment', unused: [] } as const;
  const { warnings, secrets } = resolveSecrets(config, new Map([[name, found]]));
  assert.deepEqual(
    warnings.map(({ code, path }) => [code, path]),
    [['short_token', 'completions.token_env']],
  );
  assert.equal(secrets.get(name), 'short');
  const nothing = { kind: 'missing', looked: [] } as const;
  const { missing } = resolveSecrets(config, new Map([[name, nothing]]));
  assert.deepEqual(
    missing.map(({ usedAt }) => usedAt),
    [['completions.token_env']],
  );
});

test('a flag gives the API its address, and is named where that is wrong', () => {
  const own = flag('127.0.0.1:9092');
  const config = configOf(offering, own);
  assert.equal(config.completions?.bind.text, '127.0.0.1:9092');
  assert.equal(isByFlag('completions.bind', config), true);
  assert.equal(isByFlag('completions.bind', configOf(offering)), false);
  assert.match(
    wordsOf(offering, flag('127.0.0.1:2112')).join(),
    /completions API would listen on one address \(--completions-bind\): 127\.0\.0\.1:2112/,
  );
  assert.match(wordsOf(offering, flag(':9092')).join(), /completions API \(--completions-bind\),/);
});

test('a flag without the block is a warning', () => {
  const channels =
    '"channels": [{ "type": "webhook", "token_env": "HOOK",\n' +
    '  "webhook": { "outbound_url": "http://a.test" } }],\n' +
    '"routes": [{ "channel": "webhook", "brain": "home" }],\n"brains": [\n';
  const words = wordsOf(change(without, '"brains": [\n', channels), flag('127.0.0.1:9092'));
  assert.deepEqual(
    words.filter((one) => one.startsWith('flag_unused')),
    [
      'flag_unused completions: no brain is offered to clients, and --completions-bind has no ' +
        'effect. Leave the flag out, or add the completions block.',
    ],
  );
});

test('a changed address that the flag replaces has no effect, and says so', () => {
  const own = flag('127.0.0.1:9092');
  const moved = change(offering, list, `${list}, "bind": ":7"`);
  assert.deepEqual(overriddenChanges(configOf(offering, own), configOf(moved, own)), [
    'completions.bind is :7 now, which has no effect on this process: --completions-bind says ' +
      '127.0.0.1:9092.',
  ]);
});

test('a change of the block is told in words, and what it does to its clients', () => {
  const changed = (text: string) => {
    const [before, after] = [JSON.parse(offering), JSON.parse(text)];
    return {
      sentences: sentencesOf(changesOf(before, after)),
      consequences: consequencesOf(before, after),
      restart: restartFields(before, after),
    };
  };
  assert.deepEqual(changed(change(offering, list, `["home"], "bind": "127.0.0.1:7"`)), {
    sentences: [
      'Completions.bind 127.0.0.1:8092 (the default) → 127.0.0.1:7.',
      'Completions.brains: tools is removed.',
    ],
    consequences: ['the completions API listens on 127.0.0.1:7 in the place of 127.0.0.1:8092'],
    restart: [],
  });
  const all = changed(change(offering, `, "brains": ${list}`, ', "max_in_flight": 9'));
  assert.deepEqual(all.sentences, [
    'Completions.brains home, tools → all brains.',
    'Completions.max_in_flight 256 (the default) → 9.',
  ]);
  assert.deepEqual(all.consequences, []);
  const samePort = changed(change(offering, list, `${list}, "bind": "127.0.0.2:8092"`));
  assert.deepEqual(samePort.restart, ['completions.bind'], 'the old listener has the port');
  assert.deepEqual(samePort.consequences, []);
  const gone = changed(without);
  assert.deepEqual(gone.sentences, ['The block completions is removed.']);
  assert.deepEqual(gone.consequences, ['the completions API stops listening']);
  const added = changesOf(JSON.parse(without), JSON.parse(offering));
  assert.deepEqual(sentencesOf(added), [
    'The block completions is added: token_env API_TOKEN, brains home, tools.',
  ]);
  assert.deepEqual(consequencesOf(JSON.parse(without), JSON.parse(offering)), [
    'the completions API listens on 127.0.0.1:8092',
  ]);
});
