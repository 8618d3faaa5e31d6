/** The sign-out, and the question about drafts before it. */
import { leave as putOut } from '../../kit/arrival.ts';
import { Button } from '../../kit/button.tsx';
import { Dialog } from '../../kit/dialog.tsx';
import { some } from '../../kit/words.ts';
import { keepNow, keptCount, throwAllAway, useKeeping } from '../document/keeping.ts';
import { closeOverlay, openOverlay, useOverlay } from './overlay.ts';
import { unkeptWords } from './unkept-words.ts';

/** Signs out, after a question if drafts would stay in the browser or be lost. */
export function signOut(): void {
  if (keepNow() === null && keptCount() === 0) putOut(null);
  else openOverlay('leaving');
}

/** Asks a person who signs out whether the drafts stay. */
export function Leaving() {
  const open = useOverlay((state) => state.open);
  const unkept = useKeeping((state) => state.unkept);
  const isOpen = open === 'leaving';
  const kept = isOpen ? keptCount() : 0;
  const leave = (): void => {
    closeOverlay();
    putOut(null);
  };
  const clear = (): void => {
    throwAllAway();
    leave();
  };
  return (
    <Dialog
      open={isOpen}
      title="Sign out: what becomes of the drafts?"
      onClose={closeOverlay}
      actions={
        <>
          <Button onClick={closeOverlay}>Stay</Button>
          {kept > 0 ? <Button onClick={leave}>Sign out, and leave them</Button> : null}
          <Button kind="danger" onClick={clear}>
            Sign out, and throw them away
          </Button>
        </>
      }
    >
      {unkept === null ? null : (
        <p className="break-words">Yours is not kept as it is now: {unkeptWords(unkept)}</p>
      )}
      {kept > 0 ? (
        <p>This browser keeps {some(kept, 'draft')}. Whoever uses it next can read that.</p>
      ) : null}
    </Dialog>
  );
}
