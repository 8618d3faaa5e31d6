import { Button } from '../../kit/button.tsx';
import { lookAgain } from './applying.ts';

/** A button that checks whether another configuration is in use by now. */
export function LookAgain() {
  return (
    <Button small className="mt-2" onClick={() => void lookAgain()}>
      Look what is in use now
    </Button>
  );
}
