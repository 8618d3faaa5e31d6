import { Button } from '../../kit/button.tsx';
import { Dialog } from '../../kit/dialog.tsx';
import { useToken } from '../../kit/token.ts';
import { keepNow, useKeeping } from '../document/keeping.ts';
import { closeOverlay, openOverlay, useOverlay } from './overlay.ts';
import { unkeptWords } from './unkept-words.ts';

/** Signs out; asks first where that would lose the draft. */
export function signOut(): void {
  if (keepNow() === null) useToken.getState().signOut();
  else openOverlay('leaving');
}

/** Asked of somebody who signs out while the draft cannot be kept. */
export function Leaving() {
  const open = useOverlay((state) => state.open);
  const unkept = useKeeping((state) => state.unkept);
  const leave = (): void => {
    closeOverlay();
    useToken.getState().signOut();
  };
  return (
    <Dialog
      open={open === 'leaving'}
      title="Sign out, and lose the draft?"
      onClose={closeOverlay}
      actions={
        <>
          <Button onClick={closeOverlay}>Stay</Button>
          <Button kind="danger" onClick={leave}>
            Sign out, and lose it
          </Button>
        </>
      }
    >
      <p className="break-words">
        It is not kept as it is now: {unkept === null ? '' : unkeptWords(unkept)}
      </p>
    </Dialog>
  );
}
