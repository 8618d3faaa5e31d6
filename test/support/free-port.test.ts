/** Ports for the programs of the tests, of which many run at once. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import { startFakeDiscord } from '../fake/discord.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startFakeTelegram } from '../fake/telegram.ts';
import { freePort } from './program.ts';

const inBlock = 200;

if (isMainThread) {
  test('a port that somebody has is passed over', async (t) => {
    // At the end of its block it would start again at the beginning.
    let port = await freePort();
    while (port % inBlock > inBlock - 3) port = await freePort();
    const other = createServer().listen(port + 1, '127.0.0.1');
    t.after(() => other.close());
    await once(other, 'listening');
    assert.equal(await freePort(), port + 2);
  });

  test('who else takes ports at the same time takes them from a block of its own', async () => {
    const others = [1, 2].map(() => new Worker(new URL(import.meta.url)));
    const given = others.map(async (other) => Number((await once(other, 'message'))[0]));
    const all = await Promise.all([freePort(), ...given]);
    await Promise.all(others.map((other) => other.terminate()));
    assert.equal(new Set(all.map((port) => Math.floor(port / inBlock))).size, 3, all.join());
  });

  test('a fake that may come back has a port that no other process is given', async () => {
    const own = Math.floor((await freePort()) / inBlock);
    await using model = await startFakeOllama();
    await using telegram = await startFakeTelegram();
    await using discord = await startFakeDiscord();
    for (const { url } of [model, telegram, discord]) {
      assert.equal(Math.floor(Number(new URL(url).port) / inBlock), own, url);
    }
  });
} else {
  // It owns its block for as long as it lives.
  parentPort!.on('message', () => {});
  parentPort!.postMessage(await freePort());
}
