/** Over restarts the menu has the commands of routes, no stale ones, and all those of others. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openBots } from '../../../test/fake/bots.ts';
import type { Messenger } from '../channel.ts';

const help = { word: 'help', description: 'See what can be written here', takesText: false };
const ownDescriptions = new Set([help.description]);

type Shown = Readonly<Record<string, string>>;

/** Offers svc's own command and those of routes. */
function offer(channel: Messenger, ofRoutes: Shown): void {
  const commands = Object.entries(ofRoutes).map(([word, description]) => {
    return { word, description, takesText: true };
  });
  channel.publishCommands?.({ commands: [...commands, help], own: ownDescriptions });
}

type Bots = Awaited<ReturnType<typeof openBots>>;

/** A bot, the menu that people see, and the means of somebody else to add a command. */
const platforms = {
  async telegram(bots: Bots) {
    const { platform, ...bot } = await bots.telegram();
    const shown = (): Shown =>
      Object.fromEntries(platform.commands.list.map((one) => [one.command, one.description]));
    const add = (command: string, description: string): void => {
      platform.commands.list = [...platform.commands.list, { command, description }];
    };
    const fail = (): void => platform.fail('setMyCommands', { kind: 'html', status: 502 });
    const hasFailed = () => platform.callsOf('setMyCommands').length > 1 || undefined;
    const isAsked = () => platform.callsOf('getMyCommands').length > 0 || undefined;
    return { ...bot, shown, add, fail, hasFailed, isAsked, until: platform.until.bind(platform) };
  },
  async discord(bots: Bots) {
    const { platform, ...bot } = await bots.discord();
    const { slash } = platform;
    const shown = (): Shown =>
      Object.fromEntries(slash.registered.map((one) => [one.name, one.description]));
    const add = (name: string, description: string): void => {
      const id = String(1_000 + slash.registered.length);
      slash.registered = [...slash.registered, { id, type: 1, name, description }];
    };
    const fail = (): void =>
      platform.fail('DELETE /applications/:id/commands/:id', { kind: 'status', status: 502 });
    const hasFailed = () => platform.calls.some(({ isSpoiled }) => isSpoiled) || undefined;
    const listing = 'GET /applications/:id/commands';
    const isAsked = () => platform.calls.some(({ route }) => route === listing) || undefined;
    return { ...bot, shown, add, fail, hasFailed, isAsked, until: platform.until.bind(platform) };
  },
};

for (const [name, openOn] of Object.entries(platforms)) {
  const open = async () => {
    await using made = new AsyncDisposableStack();
    const bot = await openOn(made.use(await openBots()));
    const own = made.move();
    /** Resolves when people see these commands, and no other. */
    const isShown = async (wanted: Shown): Promise<void> => {
      const text = (of: Shown): string =>
        JSON.stringify(Object.entries(of).toSorted(([a], [b]) => (a < b ? -1 : 1)));
      await bot
        .until(() => text(bot.shown()) === text(wanted) || undefined, 'the menu')
        .catch(() => assert.deepEqual(bot.shown(), wanted));
    };
    return { ...bot, isShown, [Symbol.asyncDispose]: () => own.disposeAsync() };
  };
  const shownHelp = { help: help.description };

  test(`${name}: after a restart a command changes, and a removed one goes`, async () => {
    await using it = await open();
    it.add('weather', 'Of somebody else');
    const others = { weather: 'Of somebody else' };
    const first = await it.run();
    offer(first.channel, { code: 'Ask coder', cook: 'Ask the cook' });
    await it.isShown({ ...others, code: 'Ask coder', cook: 'Ask the cook', ...shownHelp });
    await first.stop();
    const second = await it.run();
    offer(second.channel, { code: 'Write code' });
    await it.isShown({ ...others, code: 'Write code', ...shownHelp });
    await second.stop();
    const third = await it.run();
    offer(third.channel, {});
    await it.isShown({ ...others, ...shownHelp });
  });

  test(`${name}: somebody else’s command stays, even with the word of a route`, async () => {
    await using it = await open();
    it.add('code', 'Of somebody else');
    const first = await it.run();
    offer(first.channel, { code: 'Ask coder', cook: 'Ask the cook' });
    await it.isShown({ code: 'Of somebody else', cook: 'Ask the cook', ...shownHelp });
    await first.stop();
    const second = await it.run();
    offer(second.channel, {});
    await it.isShown({ code: 'Of somebody else', ...shownHelp });
  });

  test(`${name}: what the platform did not take away goes after the next restart`, async () => {
    await using it = await open();
    const first = await it.run();
    offer(first.channel, { cook: 'Ask the cook' });
    await it.isShown({ cook: 'Ask the cook', ...shownHelp });
    it.fail();
    offer(first.channel, {});
    await it.until(it.hasFailed, 'the failure');
    await first.stop();
    const second = await it.run();
    offer(second.channel, {});
    await it.isShown(shownHelp);
  });

  test(`${name}: a command is stored before the platform has it`, async () => {
    await using it = await open();
    const { channel } = await it.run();
    const { promise, resolve } = Promise.withResolvers<void>();
    it.ledger.gate = promise;
    offer(channel, { cook: 'Ask the cook' });
    await it.until(it.isAsked, 'a look at the menu');
    assert.deepEqual(it.shown(), {});
    resolve();
    await it.isShown({ cook: 'Ask the cook', ...shownHelp });
    assert.deepEqual(JSON.parse(it.ledger.cursors.get('commands')!), ['cook Ask the cook']);
  });
}

test('telegram: a menu of too many bytes is shown with shorter descriptions', async () => {
  await using bots = await openBots();
  const { platform, run } = await bots.telegram();
  const words = Array.from({ length: 90 }, (_, at) => `code${at}`);
  const shown = () => platform.commands.list.map(({ command }) => command);
  const about = 'Answers questions about code, and about other things that people want to know.';
  const first = await run();
  offer(first.channel, Object.fromEntries(words.map((word) => [word, about])));
  await platform.until(() => shown().length > 90 || undefined, 'the menu');
  assert.deepEqual(shown(), [...words, 'help']);
  assert.equal(platform.commands.list[0]!.description, about.slice(0, 39));
  await first.stop();
  const second = await run();
  offer(second.channel, {});
  await platform.until(() => shown().length === 1 || undefined, 'the shorter menu');
  assert.deepEqual(platform.commands.list, [{ command: 'help', description: help.description }]);
});
