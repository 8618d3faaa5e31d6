/** `svc routes`: which route a message takes, read from the configuration alone. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runCommand } from '../support/in-process.ts';
import { scratch, webhookConfig, writeConfig } from '../support/program.ts';

const where = { port: 1, adminPort: 2, modelUrl: 'http://127.0.0.1:3', receiverUrl: 'http://r' };
const { brains, observability } = webhookConfig({ ...where, receiverUrl: 'http://127.0.0.1:4/' });
const [echo] = brains;

const telegram = { type: 'telegram', mode: 'polling', token_env: 'TELEGRAM_TOKEN' };
const coder = { ...echo, name: 'coder', sensitivity: 'public' };
const conditional = [
  { channel: 'telegram', brain: 'coder', when: { senders: [42] } },
  {
    channel: 'telegram',
    brain: 'coder',
    when: { chats: [-100123], topics: [7], commands: ['/code'] },
    description: 'Ask about code',
  },
  { channel: 'telegram', brain: 'echo' },
];
const config = {
  channels: [telegram],
  brains: [echo!, coder],
  routes: conditional,
  session: { triggers: ['/new'] },
  storage: { path: 'svc.db' },
  observability,
};

async function routesOf(document: object, ...words: readonly string[]) {
  await using folder = await scratch();
  const file = await writeConfig(folder.path, document as Record<string, unknown>);
  return await runCommand(['routes', '--config', file, ...words], { cwd: folder.path });
}

test('without a message the routes are listed in order, in plain words', async () => {
  const { code, out, err } = await routesOf(config);
  assert.equal(code, 0, err);
  assert.equal(
    out,
    [
      'Telegram',
      '  route 1: the sender is 42 → coder (public)',
      '  route 2: the chat is -100123, and the topic is 7, and the text begins with /code ' +
        '→ coder (public) “Ask about code”',
      '  route 3: every other message → echo (private)',
      '',
    ].join('\n'),
  );
  const listed = JSON.parse((await routesOf(config, '--json')).out);
  assert.deepEqual(
    listed.channels.map(({ channel, type }: Record<string, unknown>) => [channel, type]),
    [['messenger_a', 'messenger_a']],
  );
  assert.deepEqual(listed.channels[0].routes[1], {
    number: 2,
    brain: 'coder',
    sensitivity: 'public',
    when: { senders: null, chats: ['-100123'], topics: ['7'], commands: ['/code'] },
    description: 'Ask about code',
  });
});

test('a message is told its route, and why it takes none before', async () => {
  const place = ['--chat', '-100123', '--topic', '7'];
  const whole = [...place, '--sender', '5', '--text', '/new /code@bot sort a list'];
  const { code, out, err } = await routesOf(config, ...whole);
  assert.equal(code, 0, err);
  assert.equal(
    out,
    [
      'Telegram',
      '  route 1: not taken: the sender is not 42',
      '  route 2: taken: the chat is -100123, and the topic is 7, and the text begins with /code',
      '  route 3: not reached: route 2 takes the message before',
      '✓ route 2: coder (public) answers',
      '',
    ].join('\n'),
  );
  const { taken, routes } = JSON.parse((await routesOf(config, ...whole, '--json')).out);
  assert.deepEqual([taken.number, taken.brain, taken.matched.length], [2, 'coder', 3]);
  assert.deepEqual(
    routes.map(({ verdict }: { verdict: string }) => verdict),
    ['not_taken', 'taken', 'not_reached'],
  );
  const bare = await routesOf(config, ...place, '--sender', '5', '--text', '/code');
  assert.match(bare.out, /the command alone: svc describes it, and asks no model\.\n$/);
});

test('a fact that is left out is named where a route needs it', async () => {
  const { code, out } = await routesOf(config, '--text', 'hello');
  assert.equal(code, 0);
  assert.equal(
    out,
    [
      'Telegram',
      '  route 1: not decided: no sender is given; the route is taken if the sender is 42',
      '  route 2: not taken: the text does not begin with /code',
      '  route 3: taken: it takes every other message',
      '! route 3: echo (private) answers, unless a route that is not decided comes first',
      '',
    ].join('\n'),
  );
});

test('of several channels a message names one, and a list may', async () => {
  const { channels, routes } = webhookConfig({ ...where, receiverUrl: 'http://127.0.0.1:4/' });
  const both = {
    ...config,
    channels: [telegram, ...channels],
    routes: [...conditional, ...routes],
  };
  const vague = await routesOf(both, '--text', 'hello');
  assert.equal(vague.code, 2);
  assert.match(
    vague.err,
    /Choose the channel of the message with --channel: messenger_a, webhook\./,
  );
  const named = await routesOf(both, '--channel', 'telegram', '--sender', '42');
  assert.match(named.out, /✓ route 1: coder \(public\) answers/);
  const unknown = await routesOf(both, '--channel', 'support');
  assert.equal(unknown.code, 2);
  assert.match(
    unknown.err,
    /no route names the channel "support"; routes name messenger_a, webhook\./,
  );
  const list = await routesOf(both, '--channel', 'webhook');
  assert.equal(list.out, 'webhook\n  route 4: every message → echo (private)\n');
});

test('a file for API clients alone has no routes, and names their brains', async () => {
  const completions = { token_env: 'COMPLETIONS_TOKEN', brains: ['echo'] };
  const alone = { brains: [echo!], completions, observability };
  const { code, out } = await routesOf(alone);
  assert.equal(code, 0);
  assert.equal(out, 'No channel has a route. Clients of the completions API can use: echo.\n');
  assert.deepEqual(JSON.parse((await routesOf(alone, '--json')).out), { channels: [] });
  const named = await routesOf(alone, '--channel', 'webhook');
  assert.match(named.err, /no route names the channel "webhook"; routes name none\./);
});

test('a file with a problem ends with 78, and an unknown flag with 2', async () => {
  const broken = await routesOf({ ...config, brains: [] });
  assert.equal(broken.code, 78);
  assert.match(broken.err, /is not valid/);
  assert.equal((await routesOf(config, '--txt', 'x')).code, 2);
});
