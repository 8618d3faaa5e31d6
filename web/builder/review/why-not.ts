/** Whether the service would certainly refuse "Apply", with the reason that shows beside it. */
import { useSignedOut } from '../../kit/signed-out.tsx';
import { useGone, useReadOnly } from '../../kit/watch.ts';
import { some } from '../../kit/words.ts';
import { useDraft } from '../document/store.ts';
import { useApplying } from './applying.ts';
import { useRefusalKnown } from './preflighted.ts';

/**
 * @param restart the number of changes that need a restart
 * @returns a sentence; null: the person may try
 */
export function useWhyNot(restart: number): string | null {
  const isSame = useDraft(({ base, text }) => text === base?.text);
  const isNowhere = useDraft(({ base }) => base?.place === 'nowhere');
  const errors = useDraft(({ problems }) => {
    return problems.filter(({ severity }) => severity === 'error').length;
  });
  const isConflict = useApplying(({ theirs }) => theirs !== null);
  const isGone = useGone((state) => state.isGone);
  const isReadOnly = useReadOnly((state) => state.isReadOnly);
  const isOut = useSignedOut() !== null;
  const refusal = useRefusalKnown();
  if (isSame) return 'Nothing is changed.';
  if (isGone) return 'svc does not answer now.';
  if (isReadOnly) return readOnly;
  if (isOut) return 'You are signed out: sign in again above.';
  if (isNowhere) return 'The configuration in use stands in no file, so svc cannot save another.';
  if (isConflict) return 'Choose above first whose changes hold.';
  if (errors > 0) return `${some(errors, 'problem')} to mend first, listed above.`;
  if (restart > 0) return `${some(restart, 'change')} above can only be made with a restart.`;
  return refusal;
}

const readOnly =
  'svc is read-only since its last start: set the variable that admin.token_env names where it ' +
  'runs, and restart it.';
