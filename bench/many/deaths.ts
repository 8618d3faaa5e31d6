/** Measures how soon other instances continue the work of a killed one. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from 'pg';
import { askAll, InstanceProcess } from './instances.ts';

const lookMs = 5;

/**
 * Kills the janitor, which has claimed a message in each of these conversations.
 * @param declared called when it is declared dead
 * @returns milliseconds until then, and from then until two others have answered all messages
 */
export async function takeOver(
  url: string,
  client: Client,
  {
    names,
    declared,
  }: { readonly names: readonly string[]; readonly declared: () => Promise<void> },
): Promise<readonly [dead: number, answered: number]> {
  const janitor = await InstanceProcess.begin(url);
  const others = [await InstanceProcess.begin(url), await InstanceProcess.begin(url)];
  await askAll(others, { kind: 'work' });
  await janitor.ask({ kind: 'hold', names });
  const killedAt = performance.now();
  await janitor.kill();
  await until(async () => {
    const text = 'SELECT dead FROM svc.instance WHERE id = $1';
    return (await client.query<{ dead: boolean }>(text, [janitor.id])).rows[0]!.dead;
  });
  const declaredAt = performance.now();
  await declared();
  await until(async () => {
    const counts = await askAll(others, { kind: 'count' });
    return counts.reduce((sum, { delivered }) => sum + delivered, 0) >= names.length;
  });
  const answeredAt = performance.now();
  await Promise.all(others.map((other) => other.close()));
  return [declaredAt - killedAt, answeredAt - declaredAt];
}

async function until(is: () => Promise<boolean>): Promise<void> {
  while (!(await is())) await pause(lookMs);
}
