import type { Model } from '../model/model.ts';

/** Who may be asked, and who was dropped. */
export type Shielded<M> = { readonly kept: readonly M[]; readonly dropped: readonly M[] };

/** Drops the cloud models of a private brain. It goes by what is declared, not by what is seen. */
export function shield<M extends { readonly model: Pick<Model, 'locality'> }>(
  sensitivity: 'public' | 'private',
  members: readonly M[],
): Shielded<M> {
  if (sensitivity === 'public') return { kept: members, dropped: [] };
  return {
    kept: members.filter(({ model }) => model.locality === 'local'),
    dropped: members.filter(({ model }) => model.locality !== 'local'),
  };
}
