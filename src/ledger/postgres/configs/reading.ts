/** Looks at the shared configuration of a database, beside a svc that runs. Changes nothing. */
import type { Client } from 'pg';
import type { StoreProblem } from '../../problem.ts';
import type { KeptRow, SharedConfig } from '../../../cluster/shared-configs.ts';
import { wireValue, type Ask } from '../read/ask.ts';
import { onServer } from '../server/inspection.ts';
import { listKept, newest } from './texts.ts';

export type ConfigWanted = {
  /** One that was in use; left out: the one that is. */
  readonly revision?: string;
  /** Gives it up. */
  readonly signal?: AbortSignal;
};

/** @returns null: there is none, or svc has made no tables there yet */
export function readConfigAt(
  url: string,
  { revision, signal }: ConfigWanted = {},
): Promise<SharedConfig | StoreProblem | null> {
  return lookAt(url, (ask) => newest(ask, revision), signal);
}

/** Newest first, each revision once; null in the same way. */
export function readHistoryAt(
  url: string,
  signal: AbortSignal,
): Promise<readonly KeptRow[] | StoreProblem | null> {
  return lookAt(url, listKept, signal);
}

function lookAt<T>(
  url: string,
  look: (ask: Ask) => Promise<T>,
  signal?: AbortSignal,
): Promise<T | StoreProblem | null> {
  const act = async (client: Client): Promise<T | null> => {
    const ask: Ask = async (text, ...values) => {
      return (await client.query(text, values.map(wireValue))).rows as never;
    };
    const [row] = await ask<{ made: boolean }>(
      "SELECT to_regclass('svc.config') IS NOT NULL AS made",
    );
    return row!.made ? look(ask) : null;
  };
  return onServer(url, act, signal);
}
