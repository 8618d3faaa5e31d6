/** Why a service does not start, as facts for a page: what `svc serve` says in words. Pure. */
import type { ConfigProblem } from '../../../src/config/config.ts';
import {
  describeMissing,
  type NamedSecret,
  type ResolvedSecrets,
} from '../../../src/config/secrets.ts';
import type { KeychainState } from '../../../src/domain/keychain-state.ts';
import type { Ending } from '../../../src/app/run.ts';
import type { MissingHere, Stuck } from '../desktop.ts';

export function stuckByConfig(problems: readonly ConfigProblem[]): Stuck {
  const errors = problems.filter(({ severity }) => severity === 'error');
  return {
    of: 'config',
    problems: errors.map(({ path, line, message, remedy }) => ({ path, line, message, remedy })),
  };
}

export type KeychainSummary = { readonly state: KeychainState; readonly told: string | null };

/** @param named the secrets that the configuration names */
export function stuckBySecrets(
  { missing, unfit }: Pick<ResolvedSecrets, 'missing' | 'unfit'>,
  named: readonly NamedSecret[],
  { state, told }: KeychainSummary,
): Stuck {
  const unset = missing.map((one): MissingHere => {
    const { name, usedAt, found } = one;
    // What is to be done about the keychain is told once for all, and has a button.
    const isOfPlace = found.kind === 'unreadable' && found.source !== 'keychain';
    const remedy = isOfPlace ? ` ${found.remedy}` : '';
    return { name, usedAt, why: `${describeMissing(one)}.${remedy}` };
  });
  const unusable = unfit.map(({ path, message, remedy }): MissingHere => {
    const name = named.find(({ usedAt }) => usedAt.includes(path))?.name ?? path;
    const why = `${message.slice(0, 1).toUpperCase()}${message.slice(1)}. ${remedy}`;
    return { name, usedAt: [path], why };
  });
  return { of: 'secrets', missing: [...unset, ...unusable], keychain: state, told };
}

/** null: a restart may help, or none is wanted. */
export function stuckByEnding(ending: Ending): Stuck | null {
  switch (ending.kind) {
    case 'ended':
      return null;
    case 'failed':
      return ending.code === 'storage_locked' ? { of: 'in_use', message: ending.message } : null;
    case 'refused': {
      const { code, message, unbound } = ending;
      return unbound === null
        ? stuckOtherwise(code, message)
        : { of: 'address', ...unbound, message };
    }
    default:
      return ending satisfies never;
  }
}

function stuckOtherwise(code: string, message: string): Stuck {
  return { of: 'other', code, message };
}
