/** Looks at the shared configuration of a database, while svc runs on it or not. Changes nothing. */
import type { StoreProblem } from '../../problem.ts';
import type { SharedConfig } from '../../shared-configs.ts';
import { wireValue, type Ask } from '../read/ask.ts';
import { onServer } from '../server/inspection.ts';
import { newest } from './texts.ts';

/**
 * @param revision one that was in use; left out: the one in use
 * @returns null: there is none, or svc has made no tables there yet
 */
export function readConfigAt(
  url: string,
  revision?: string,
): Promise<SharedConfig | StoreProblem | null> {
  return onServer(url, async (client) => {
    const ask: Ask = async (text, ...values) => {
      return (await client.query(text, values.map(wireValue))).rows as never;
    };
    const [row] = await ask<{ made: boolean }>(
      "SELECT to_regclass('svc.config') IS NOT NULL AS made",
    );
    return row!.made ? newest(ask, revision) : null;
  });
}
