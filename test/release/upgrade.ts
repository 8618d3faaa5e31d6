/** A form of svc on the database and the configuration that an earlier release has left. */
import assert from 'node:assert/strict';
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startFakeOllama } from '../fake/ollama.ts';
import { startReceiver } from '../fake/receiver.ts';
import { startFakeTelegram } from '../fake/telegram.ts';
import { freePort, scratch } from '../program.ts';
import { root } from '../run-svc.ts';
import { secrets, serveInstalled, type Installed } from './smoke.ts';

export const keptFolder = join(root, 'test', 'golden', 'releases', '0.1.0');

type Expected = {
  readonly messages: number;
  readonly history: readonly { readonly channel: string; readonly conversation: string }[];
  readonly waiting: readonly unknown[];
  readonly due: readonly unknown[];
  readonly parked: readonly unknown[];
};

/** @param kept the folder of a release: `svc.json`, `svc.db`, and `expected.json` */
export async function assertUpgrades(installed: Installed, kept = keptFolder): Promise<void> {
  assert.ok(existsSync(kept), `there is no ${kept}`);
  await using folder = await scratch();
  await using model = await startFakeOllama();
  await using receiver = await startReceiver();
  await using telegram = await startFakeTelegram();
  const admin = `127.0.0.1:${await freePort()}`;
  const at = (url: string): string => new URL(url).host;
  const places = {
    '127.0.0.1:8090': `127.0.0.1:${await freePort()}`,
    '127.0.0.1:2112': admin,
    '127.0.0.1:11434': at(model.url),
    '127.0.0.1:9000': at(receiver.url),
    '127.0.0.1:8081': at(telegram.url),
  };
  const file = join(folder.path, 'svc.json');
  const text = readFileSync(join(kept, 'svc.json'), 'utf8');
  const entries = Object.entries(places);
  writeFileSync(
    file,
    entries.reduce((all, [written, here]) => all.replaceAll(written, here), text),
  );
  cpSync(join(kept, 'svc.db'), join(folder.path, 'svc.db'));
  const expected = JSON.parse(readFileSync(join(kept, 'expected.json'), 'utf8')) as Expected;

  const own = { ...installed, env: { TELEGRAM_TOKEN: telegram.token, ...installed.env } };
  await using program = await serveInstalled(own, folder.path, file);
  const { waiting, due, parked } = expected;
  await receiver.waitFor(waiting.length + due.length + parked.length);
  const headers = { authorization: `Bearer ${secrets.ADMIN_TOKEN}` };
  const answer = await fetch(`http://${admin}/api/v1/messages?limit=100`, { headers });
  const { rows } = (await answer.json()) as { readonly rows: readonly unknown[] };
  assert.equal(rows.length, expected.messages);
  assert.equal(await program.stop(), 0, program.log());
}
