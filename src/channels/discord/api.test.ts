import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../lib/clock.ts';
import { createDeadlines } from '../../lib/deadlines.ts';
import { createHttpClient } from '../../lib/http-client.ts';
import { startFakeDiscord } from '../../../test/fake/discord.ts';
import { handClock } from '../../../test/support/hand-clock.ts';
import { patienceMs, within } from '../../../test/support/waiting.ts';
import { createApi } from './api.ts';

test('beside a spare call, which waits for no limit, others wait as ever', async () => {
  await using discord = await startFakeDiscord({ routeLimit: { requests: 2, windowMs: 1_000 } });
  const deadlines = createDeadlines();
  const http = createHttpClient(deadlines, { connectMs: patienceMs });
  const parts = { token: discord.token, baseUrl: discord.url, http, deadlines, ...systemClock };
  const api = await createApi(parts);
  const route = `/channels/${discord.direct(discord.user('Ada')).id}/messages` as const;
  // The library applies the limit once it knows the bucket of the route.
  for (const content of ['one', 'two']) await api.post(route, { content });
  const spare = api.post(route, { content: 'spare' }, undefined, { spare: 'in_turn' });
  const needed = api.post(route, { content: 'three' });
  assert.equal((await needed).kind, 'ok');
  await spare;
  api.close();
  await http.close();
});

test('what nobody needs has its turn at what is left over, or is left out', async () => {
  await using discord = await startFakeDiscord();
  const clock = handClock();
  const http = createHttpClient(clock.deadlines, { connectMs: patienceMs });
  const api = await createApi({ token: discord.token, baseUrl: discord.url, http, ...clock });
  const places = Array.from({ length: 70 }, () => discord.direct(discord.user('Ada')).id);
  const asking = Promise.all(
    places.map((place) =>
      api.post(`/channels/${place}/typing`, undefined, undefined, { spare: 'in_turn' }),
    ),
  );
  for (let passedMs = 0; passedMs < 1_500; passedMs += 10) {
    clock.pass(10);
    await new Promise<void>((acted) => clock.deadlines.after(0, acted));
  }
  const said = await within('what became of them', asking);
  const unasked = said.filter((one) => one.kind === 'refused' && one.unasked);
  assert.ok(unasked.length > 0 && unasked.length < 35, String(unasked.length));
  api.close();
  await http.close();
});
