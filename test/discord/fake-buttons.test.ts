/** Buttons on the fake of Discord, used by discord.js 14: a client by others. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import {
  ActionRowBuilder,
  ButtonBuilder,
  ButtonStyle,
  Client,
  DiscordAPIError,
  Events,
  GatewayIntentBits,
  Partials,
  type ButtonInteraction,
  type TextChannel,
} from 'discord.js';
import { startFakeDiscord } from '../fake/discord.ts';

/** A bot without a privileged intent: presses need none. */
async function stage() {
  const clock = { aheadMs: 0 };
  const startedAt = Date.now();
  const now = () => startedAt + clock.aheadMs;
  const fake = await startFakeDiscord({ identifyGapMs: 0, now });
  const general = fake.textChannel(fake.guild('Team'), 'general');
  const ann = fake.user('Ann');
  const rest = { api: fake.url, retries: 0 };
  const intents = [GatewayIntentBits.Guilds];
  const client = new Client({ intents, partials: [Partials.Channel], rest });
  const ready = once(client, Events.ClientReady);
  await client.login(fake.token);
  await ready;
  const channel = (await client.channels.fetch(general.id)) as TextChannel;
  const pressed = async (label: string): Promise<ButtonInteraction> => {
    const heard = once(client, Events.InteractionCreate);
    fake.press(ann, fake.sent.at(-1)!.message, label);
    return ((await heard) as [ButtonInteraction])[0];
  };
  const dispose = async (): Promise<void> => {
    await client.destroy();
    await fake[Symbol.asyncDispose]();
  };
  return { fake, clock, ann, channel, pressed, [Symbol.asyncDispose]: dispose };
}

const rowOf = (...ids: readonly string[]) =>
  new ActionRowBuilder<ButtonBuilder>().addComponents(
    ids.map((id) => new ButtonBuilder().setCustomId(id).setLabel(id).setStyle(ButtonStyle.Primary)),
  );

const codeOf = async (call: Promise<unknown>): Promise<unknown> => {
  const error: unknown = await call.catch((reason: unknown) => reason);
  assert.ok(error instanceof DiscordAPIError, String(error));
  return error.code;
};

test('a press is heard without an intent, and its answer takes the buttons away', async () => {
  await using world = await stage();
  const { fake, ann, channel, pressed } = world;
  await channel.send({ content: 'May I?', components: [rowOf('yes', 'no')] });
  const press = await pressed('yes');
  assert.ok(press.isButton());
  const { customId, user, channelId } = press;
  assert.deepEqual([customId, user.id, channelId], ['yes', ann.id, channel.id]);
  assert.equal(press.message.id, fake.sent[0]?.message.id);
  await press.deferUpdate();
  assert.equal(fake.interactions[0]?.answer?.type, 6);
  const shown = fake.shown(fake.sent[0]!.message)!;
  assert.equal((shown['components'] as unknown[]).length, 1, 'they stay');
  const second = await pressed('no');
  await second.update({ components: [] });
  assert.deepEqual(fake.shown(fake.sent[0]!.message)?.['components'], []);
});

test('a press is answered once, and within three seconds', async () => {
  await using world = await stage();
  const { clock, channel, pressed } = world;
  await channel.send({ content: 'May I?', components: [rowOf('yes')] });
  const press = await pressed('yes');
  await press.deferUpdate();
  press.deferred = false;
  assert.equal(await codeOf(press.deferUpdate()), 40_060);
  const late = await pressed('yes');
  clock.aheadMs = 3_500;
  assert.equal(await codeOf(late.deferUpdate()), 10_062);
});

test('buttons that the platform would refuse are refused', async () => {
  await using world = await stage();
  const { channel } = world;
  const raw = (custom_id: string, label = 'yes') => {
    const components = [{ type: 2, style: 2, label, custom_id }];
    return channel.send({ content: 'May I?', components: [{ type: 1, components }] as never });
  };
  assert.equal(await codeOf(raw('y'.repeat(101))), 50_035);
  assert.equal(await codeOf(raw('y', 'a'.repeat(81))), 50_035);
  const twice = { content: 'May I?', components: [rowOf('yes'), rowOf('yes')] };
  assert.equal(await codeOf(channel.send(twice)), 50_035);
  await raw('y'.repeat(100));
});
