/** Looks at the shared configuration of a database, beside a svc that runs. Changes nothing. */
import type { Client } from 'pg';
import type { StoreProblem } from '../../problem.ts';
import type { SharedConfig } from '../../shared-configs.ts';
import { wireValue, type Ask } from '../read/ask.ts';
import { onServer } from '../server/inspection.ts';
import { newest } from './texts.ts';

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
  const look = async (client: Client): Promise<SharedConfig | null> => {
    const ask: Ask = async (text, ...values) => {
      return (await client.query(text, values.map(wireValue))).rows as never;
    };
    const [row] = await ask<{ made: boolean }>(
      "SELECT to_regclass('svc.config') IS NOT NULL AS made",
    );
    return row!.made ? newest(ask, revision) : null;
  };
  return onServer(url, look, signal);
}
