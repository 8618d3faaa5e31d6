/** How a run begins with a configuration that it shares with other instances. */
import { revisionOf } from '../config/inspect.ts';
import type { SharedDeps } from './config/database-store.ts';
import type { SharedConfigs } from '../cluster/shared-configs.ts';
import { ConfigsFailed } from '../cluster/shared-configs.ts';
import type { Ending } from './run-state.ts';
import type { Setup } from './run.ts';

/** `n`: the number of the one that this run was given. */
export type SharedStart = {
  readonly kind: 'shared';
  readonly configs: SharedConfigs;
  readonly n: number;
};

/**
 * Makes the text of this run the first one, where none is in use.
 * @param configs null: each process has its own file
 * @returns an ending where another one is in use by now
 */
export async function beginShared(
  configs: SharedConfigs | null,
  { text }: Pick<Setup, 'text'>,
): Promise<SharedStart | Ending | null> {
  if (configs === null) return null;
  const revision = revisionOf(text);
  try {
    const current = await configs.begin({ revision, text, by: 'start' });
    if (current.revision === revision) return { kind: 'shared', configs, n: current.n };
    const message =
      'Another configuration has come into use in the database: start svc again to take that one.';
    return { kind: 'failed', code: configMoved, message };
  } catch (error) {
    if (!(error instanceof ConfigsFailed)) throw error;
    return { kind: 'failed', code: 'storage_unreachable', message: error.message };
  }
}

/** A start that takes what is in use by now has a chance. */
export const configMoved = 'config_moved';

/** @param end ends the run */
export function sharedParts(
  start: SharedStart | null,
  { file, env, addresses, version }: Pick<Setup, 'file' | 'env' | 'addresses' | 'version'>,
  rest: Pick<SharedDeps, 'peers' | 'steady'>,
  end: (ending: Ending) => void,
): SharedDeps | null {
  if (start === null) return null;
  const onBehind = (why: string): void => {
    const message = `The configuration in use in the database cannot be taken here: ${why}`;
    end({ kind: 'failed', code: 'config_behind', message });
  };
  return { ...start, ...rest, file, env, addresses, version, onBehind };
}
