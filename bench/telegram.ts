/**
 * Measures a start with a thousand messages waiting at Telegram: the time until the last answer is
 * sent, and the delay of the event loop meanwhile. The model answers in 0 ms; Telegram, the model
 * and this measurement share one process.
 */
import { startFakeOllama } from '../test/fake/ollama.ts';
import { startFakeTelegram } from '../test/fake/telegram.ts';
import { freePort, scratch } from '../test/support/program.ts';
import { spawnOn, writeTelegramConfig } from '../test/telegram/program.ts';

const messages = 1_000;
const chats = 250;

for (const backend of ['memory', 'storage'] as const) console.log(await measure(backend));

async function measure(backend: 'memory' | 'storage'): Promise<string> {
  await using scene = await scratch();
  await using telegram = await startFakeTelegram();
  await using model = await startFakeOllama({ answer: 'four' });
  const adminPort = await freePort();
  const more = backend === 'storage' ? { storage: { path: 'svc.db' } } : {};
  const where = { telegramUrl: telegram.url, modelUrl: model.url, adminPort, more };
  const file = await writeTelegramConfig(scene.path, where);
  await using program = spawnOn(file, telegram);
  await program.saw('is up');
  const page = `http://127.0.0.1:${adminPort}/metrics`;
  await (await fetch(page)).text();
  const begun = Date.now();
  const people = Array.from({ length: chats }, (_, i) => telegram.person(`Person ${i}`));
  const rooms = people.map((person) => telegram.privateChat(person));
  for (let i = 0; i < messages; i++) telegram.say(rooms[i % chats]!, `message ${i}`);
  const said = Date.now();
  await telegram.until(() => telegram.sent.length >= messages || undefined, 'answers', 120_000);
  const ms = Date.now() - said;
  const text = await (await fetch(page)).text();
  const early = /^svc_messages_confirmed_early_total\S* (\d+)/m.exec(text)?.[1];
  const lag = lagOf(text);
  return (
    `${backend}: ${messages} messages said in ${said - begun} ms, answered ${ms} ms later ` +
    `(${Math.round((messages * 1_000) / ms)}/s); event loop late by at most ${lag}; ` +
    `${telegram.callsOf('getUpdates').length} polls, ${early} confirmed early`
  );
}

/** The bucket that holds the worst sample. */
function lagOf(page: string): string {
  const buckets = page.matchAll(/^svc_event_loop_lag_seconds_bucket\{le="([^"]+)"\} (\d+)$/gm);
  const rows = Array.from(buckets, ([, le, count]) => ({ le: le!, count: Number(count) }));
  const all = rows.at(-1)?.count ?? 0;
  const worst = rows.find(({ count }) => count === all);
  return worst === undefined ? 'unknown' : `${worst.le} s (${all} samples)`;
}
