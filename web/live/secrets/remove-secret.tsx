import { useState } from 'react';
import type { SecretRow } from '../../../src/admin/secret-control.ts';
import { ask, longLimitMs, type Refused } from '../../kit/api.ts';
import { Button } from '../../kit/button.tsx';
import { Dialog } from '../../kit/dialog.tsx';
import { Refusal } from '../../kit/notice.tsx';

type Props = {
  readonly row: SecretRow;
  readonly onClose: () => void;
  readonly onDone: () => void;
};

/** Asks once more before a value is taken out of the keychain, and says what follows. */
export function RemoveSecret({ row: { name, source, usedAt }, onClose, onDone }: Props) {
  const [refused, setRefused] = useState<Refused | null>(null);
  const [busy, setBusy] = useState(false);
  const remove = async (): Promise<void> => {
    setBusy(true);
    const question = { method: 'DELETE', limitMs: longLimitMs } as const;
    const answer = await ask(`secrets/${encodeURIComponent(name)}`, question);
    setBusy(false);
    if (answer.kind === 'refused') return setRefused(answer);
    onDone();
    onClose();
  };
  const isNeeded = usedAt.length > 0 && source === 'keychain';
  return (
    <Dialog
      open
      title={`Remove ${name} from the keychain?`}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Leave it there</Button>
          <Button kind="danger" disabled={busy} onClick={() => void remove()}>
            {busy ? 'Removing …' : 'Remove'}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-2">
        <p>
          {isNeeded
            ? 'svc has the value until it ends. After that it does not start before the variable ' +
              'is set again, there or elsewhere.'
            : 'What runs does not use it. svc cannot bring the value back.'}
        </p>
        <Refusal refused={refused} />
      </div>
    </Dialog>
  );
}
