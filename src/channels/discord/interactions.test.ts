/** Presses on buttons: which ones count, what follows, and the answer to the platform. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { anything, assert as holds, constantFrom, dictionary, property } from 'fast-check';
import { said, startDiscordBench } from '../../../test/fake/discord-bench.ts';
import { botId } from '../../../test/fake/scripted-discord.ts';
import recorded from '../../../test/fixtures/discord/presses.json' with { type: 'json' };
import { parsePress } from './interactions.ts';

const { direct, thread } = recorded;
const answers = '/callback';

const otherRows = [
  ['Approve', 'Refuse'].map((label) => {
    return { label, says: `/${label.toLowerCase()} 7YB3N8WR1A` };
  }),
];

test('a press says what its button says, in the channel of the message above', () => {
  assert.deepEqual(parsePress(direct, botId), {
    id: '1346821094301794310',
    conversation: '319674150115610528',
    sender: { id: '80351110224678912', name: 'Nelly' },
    text: '/approve 4XK2M9TQ0Z',
    media: null,
    setting: 'direct',
    target: '319674150115610528',
    press: { id: direct.id, token: direct.token, setting: 'direct', otherRows },
  });
  const inThread = parsePress(thread, botId);
  const { conversation, sender, setting, target } = inThread!;
  assert.deepEqual(
    { conversation, sender, setting, target },
    {
      conversation: '1346821094301794290',
      sender: { id: '80351110224678913', name: 'max' },
      setting: 'addressed',
      target: '1346821094301794290/1346821094301794306',
    },
  );
});

test('what is no press on a button of svc is ignored', () => {
  const { message, data, user } = direct;
  const others: object[] = [
    { ...direct, type: 2 },
    { ...direct, context: 2 },
    { ...direct, token: '../../channels/1' },
    { ...direct, channel_id: '..' },
    { ...direct, user: { ...user, bot: true } },
    { ...direct, user: undefined },
    { ...direct, message: undefined },
    { ...direct, message: { ...message, author: { ...message.author, id: '77' } } },
    { ...direct, data: { ...data, component_type: 3 } },
    ...['/new', '/approve', '/approve 4XK2M9TQ0Z now', 'pay', ''].map((custom_id) => {
      return { ...direct, data: { ...data, custom_id } };
    }),
  ];
  for (const one of others) assert.equal(parsePress(one, botId), null, JSON.stringify(one));
});

test('nothing that comes makes reading throw', () => {
  holds(property(anything(), (wire) => void parsePress(wire, botId)));
  const keys = constantFrom(...Object.keys(direct), 'member', 'guild_id');
  holds(
    property(dictionary(keys, anything()), (fields) => {
      parsePress({ ...direct, ...fields }, botId);
    }),
  );
});

test('a press is taken once and answered once it is; in a direct chat its buttons go', async () => {
  await using bench = await startDiscordBench();
  const { discord, ledger } = bench;
  await bench.run();
  await discord.until(() => ledger.cursors.has('session'));
  ledger.refusals.push({ kind: 'refused', reason: 'full', retryAfterMs: 1 });
  ledger.hasRoom = true;
  discord.dispatch('INTERACTION_CREATE', direct);
  // When the session resumes, the platform repeats the refused press.
  await discord.until(() => discord.postsTo(answers).length === 1);
  discord.dispatch('INTERACTION_CREATE', thread);
  discord.dispatch('INTERACTION_CREATE', thread);
  discord.dispatch('MESSAGE_CREATE', said('hello'));
  await discord.until(() => ledger.texts.length === 3);
  await discord.until(() => discord.postsTo(answers).length === 3);
  assert.deepEqual(ledger.texts, ['/approve 4XK2M9TQ0Z', '/refuse 4XK2M9TQ0Z', 'hello']);
  const [first, second] = discord.postsTo(answers);
  assert.equal(first?.path, `/v10/interactions/${direct.id}/${direct.token}/callback`);
  const components = otherRows[0]!.map(({ label, says }) => {
    return { type: 2, style: 2, label, custom_id: says };
  });
  const data = { components: [{ type: 1, components }] };
  assert.deepEqual(first?.body, { type: 7, data }, 'another question is still open');
  assert.deepEqual(second?.body, { type: 6 });
});

test('whom the gate turns away is not answered', async () => {
  await using bench = await startDiscordBench();
  const { discord, ledger } = bench;
  await bench.run();
  await discord.until(() => ledger.cursors.has('session'));
  ledger.strangers = ['80351110224678913'];
  discord.dispatch('INTERACTION_CREATE', thread);
  discord.dispatch('INTERACTION_CREATE', {
    ...direct,
    data: { ...direct.data, custom_id: '/new' },
  });
  discord.dispatch('MESSAGE_CREATE', said('hello'));
  await discord.until(() => ledger.texts.length === 1);
  assert.deepEqual(ledger.texts, ['hello']);
  assert.equal(discord.postsTo(answers).length, 0);
});
