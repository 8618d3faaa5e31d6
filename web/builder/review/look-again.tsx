import { Button } from '../../kit/button.tsx';
import { lookAgain } from './applying.ts';

/** Asks what is in use by now, and tells where that is another one. */
export function LookAgain() {
  return (
    <Button small className="mt-2" onClick={() => void lookAgain()}>
      Look what is in use now
    </Button>
  );
}
