import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { systemClock } from '../../lib/clock.ts';
import { createDeadlines } from '../../lib/deadlines.ts';
import { createHttpClient } from '../../lib/http-client.ts';
import { startFakeDiscord } from '../../../test/fake/discord.ts';
import { handClock } from '../../../test/support/hand-clock.ts';
import { patienceMs } from '../../../test/support/waiting.ts';
import { BestEffort } from '../messenger/best-effort.ts';
import { createApi } from './api.ts';

async function clientOf({ url, token }: { readonly url: string; readonly token: string }) {
  const deadlines = createDeadlines();
  const http = createHttpClient(deadlines, { connectMs: patienceMs });
  const api = await createApi({ token, config: { baseUrl: url }, http, deadlines, ...systemClock });
  return {
    api,
    async [Symbol.asyncDispose](): Promise<void> {
      api.close();
      await http.close();
    },
  };
}

test('beside a spare call, which waits for no limit, others wait as ever', async () => {
  await using discord = await startFakeDiscord({ routeLimit: { requests: 2, windowMs: 1_000 } });
  await using client = await clientOf(discord);
  const { api } = client;
  const route = `/channels/${discord.direct(discord.user('Ada')).id}/messages` as const;
  // The library applies the limit once it knows the bucket of the route.
  for (const content of ['one', 'two']) await api.call('POST', route, { body: { content } });
  await api.spare(new AbortController().signal);
  const spare = api.call('POST', route, { body: { content: 'spare' }, isAdmitted: true });
  const needed = api.call('POST', route, { body: { content: 'three' } });
  assert.equal((await needed).kind, 'ok');
  await spare;
});

test('what nobody needs has its turn at what is left over, or is left out', async () => {
  const clock = handClock();
  await using discord = await startFakeDiscord({ now: clock.now });
  const http = createHttpClient(clock.deadlines, { connectMs: patienceMs });
  const config = { baseUrl: discord.url };
  const api = await createApi({ token: discord.token, config, http, ...clock });
  const { signal } = new AbortController();
  const room = { spare: (_place: string, by: AbortSignal) => api.spare(by) };
  const bestEffort = new BestEffort({ room, ...clock });
  const places = Array.from({ length: 110 }, () => discord.direct(discord.user('Ada')).id);
  const asking = Promise.all(
    places.map((place) =>
      bestEffort.offer(
        'typing',
        place,
        () => api.call('POST', `/channels/${place}/typing`, { isAdmitted: true }),
        signal,
      ),
    ),
  );
  const over = new AbortController();
  void asking.then(() => over.abort());
  while (!over.signal.aborted) {
    clock.pass(10);
    await new Promise<void>((acted) => clock.deadlines.after(0, acted));
  }
  const said = await asking;
  const unasked = said.filter((one) => one === null);
  assert.ok(unasked.length > 0 && unasked.length < 35, String(unasked.length));
  api.close();
  await http.close();
});

test('a call leaves no listener on its signal, which may last as long as the channel', async () => {
  await using discord = await startFakeDiscord();
  await using client = await clientOf(discord);
  const { api } = client;
  const { signal } = new AbortController();
  assert.equal((await api.call('GET', '/users/@me', { signal })).kind, 'ok');
  assert.equal((await api.call('GET', '/channels/1', { signal })).kind, 'refused');
  assert.deepEqual(getEventListeners(signal, 'abort'), []);
});

// discord-api-docs#5385, #7040
test('a ban at the addresses of interactions holds up no other call', async () => {
  await using discord = await startFakeDiscord();
  await using client = await clientOf(discord);
  const { api } = client;
  discord.fail('POST /interactions/:id/:token/callback', { kind: 'status', status: 429 });
  const answer = await api.call('POST', '/interactions/1/token/callback', { body: { type: 6 } });
  assert.ok(answer.kind === 'refused' && answer.status === 429);
  assert.equal((await api.call('GET', '/users/@me')).kind, 'ok');
});
