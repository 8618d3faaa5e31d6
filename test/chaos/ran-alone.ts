/**
 * svc promises to give a message up that ran alone at two ends of the process. Strikes that wait
 * for a model hit the same message again where no other may run. So the second strike waits until
 * such a message has its answer. test/messages/poison.slow.test.ts strikes without that wait.
 */
import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { attemptsMax } from '../../src/ledger/engine/queue.ts';
import type { Program } from '../support/program.ts';
import { patienceMs, until } from '../support/waiting.ts';

/**
 * Starts the program, and waits for the answer to a message that ran alone at its last end.
 * @param database of the program, which is not running
 */
export function spawnPast(database: string, spawn: () => Program): Promise<Program> {
  return spawnAfter(() => ranAlone(database), spawn);
}

/** Does the same for any backend. @param hasOne whether a message must run alone */
export async function spawnAfter(
  hasOne: () => boolean | Promise<boolean>,
  spawn: () => Program,
): Promise<Program> {
  const had = await hasOne();
  const program = spawn();
  if (!had) return program;
  try {
    await until('an answer to what ran alone', async () => !(await hasOne()));
  } catch (error) {
    await program[Symbol.asyncDispose]();
    throw new Error(`it has written\n${program.log().slice(-4_000)}`, { cause: error });
  }
  return program;
}

/** Whether a message must run alone. */
export function ranAlone(database: string): boolean {
  return waits(database, 'alone > 0');
}

/**
 * Whether a message was under way at two ends or more. Each start holds it back for three seconds:
 * a process with a shorter life would never answer it.
 */
export function holdsSuspect(database: string): boolean {
  return waits(database, `attempts >= ${attemptsMax}`);
}

function waits(database: string, which: string): boolean {
  if (!existsSync(database)) return false;
  using db = new DatabaseSync(database, { readOnly: true, timeout: patienceMs });
  const column = "SELECT 1 FROM pragma_table_info('inbox') WHERE name = 'alone'";
  if (db.prepare(column).get() === undefined) return false;
  return db.prepare(`SELECT 1 FROM inbox WHERE state = 0 AND ${which}`).get() !== undefined;
}
