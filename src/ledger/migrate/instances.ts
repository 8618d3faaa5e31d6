/**
 * Whether a server's database may be moved, by the instances that worked on it: none of them may be
 * alive, and of a source each has left its work in order. The lock is held until the transaction
 * ends: a start waits for that, or gives up.
 */
import type { Client } from 'pg';
import { codeOf } from '../postgres/server/errors.ts';
import type { StoreProblem } from '../problem.ts';

/** Who has beaten within this time is alive. */
const heartbeatSeconds = 10;
const lockSeconds = 5;
const lockedState = '55P03';

/** Whoever works beside others, and every start, changes this table. */
const lock = 'LOCK TABLE svc.instance IN SHARE ROW EXCLUSIVE MODE';
const living =
  'SELECT count(*) AS n FROM svc.instance WHERE NOT dead ' +
  `AND beat_at > clock_timestamp() - interval '${heartbeatSeconds} seconds'`;

/**
 * One that is silent may have died, or goes on when it is let. One that died has left nothing once
 * it is buried, or where one of the release before, which had the database alone, came after it.
 */
const unclean = `
SELECT count(*) AS n FROM svc.instance
WHERE (NOT dead OR (NOT buried AND coalesce(ended, '') NOT LIKE '%"clean":true%'))
  AND id >= coalesce((SELECT max(id) FROM svc.instance WHERE NOT beside), 0)`;

/** None of them has had what comes, and one that is silent is to write nothing any more. */
const overAll = 'UPDATE svc.instance SET dead = true, beside = true, buried = true';

/** @returns null: nobody can begin on it now, and all is in order there */
export async function lockSource(client: Client, named: string): Promise<StoreProblem | null> {
  const locked = await lockOut(client, named);
  if (locked !== null) return locked;
  return (await countOf(client, unclean)) === 0 ? null : uncleanProblem(`The ${named}`);
}

/** @returns null: nobody can begin on it now, and nobody goes on there */
export async function lockTarget(client: Client, named: string): Promise<StoreProblem | null> {
  const locked = await lockOut(client, named);
  if (locked === null) await client.query(overAll);
  return locked;
}

export function uncleanProblem(named: string): StoreProblem {
  const what = 'was not closed by the svc that ran on it last. Start svc on it and stop it again';
  const message = `${named} ${what}: that puts in order what was under way.`;
  return { kind: 'problem', code: 'migration_unclean', message, isPassing: false };
}

async function lockOut(client: Client, named: string): Promise<StoreProblem | null> {
  try {
    await client.query(`SET LOCAL lock_timeout = '${lockSeconds}s'`);
    await client.query(lock);
  } catch (error) {
    if (codeOf(error) !== lockedState) throw error;
    return inUse(named, 'another program that has locked it. Wait until that has ended');
  }
  const count = await countOf(client, living);
  if (count === 0) return null;
  return inUse(named, count === 1 ? 'another svc. Stop that one' : `${count} svc. Stop them all`);
}

function inUse(named: string, by: string): StoreProblem {
  const message = `The ${named} is in use by ${by}.`;
  return { kind: 'problem', code: 'storage_locked', message, isPassing: true };
}

async function countOf(client: Client, text: string): Promise<number> {
  return Number((await client.query<{ n: unknown }>(text)).rows[0]!.n);
}
