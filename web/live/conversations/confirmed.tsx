import { useState, type ReactNode } from 'react';
import { ask, type Refused } from '../../kit/api.ts';
import { Button } from '../../kit/button.tsx';
import { Dialog } from '../../kit/dialog.tsx';
import { Refusal } from '../../kit/notice.tsx';

type Props = {
  /** The text of the button and the question of the dialog. */
  readonly label: string;
  readonly question: string;
  /** The API path to delete. */
  readonly path: string;
  readonly onDone: (deleted: number) => void;
  /** The exact list of deleted data. */
  readonly children: ReactNode;
};

/** A button that deletes after a confirmation. */
export function ConfirmedDelete({ label, question, path, onDone, children }: Props) {
  const [open, setOpen] = useState(false);
  const [busy, setBusy] = useState(false);
  const [refused, setRefused] = useState<Refused | null>(null);
  const act = async (): Promise<void> => {
    setBusy(true);
    const answer = await ask<{ readonly deleted: number }>(path, { method: 'DELETE' });
    setBusy(false);
    if (answer.kind === 'refused') return setRefused(answer);
    setOpen(false);
    onDone(answer.value.deleted);
  };
  return (
    <>
      <Button small kind="danger" onClick={() => setOpen(true)}>
        {label}
      </Button>
      <Dialog
        open={open}
        title={question}
        onClose={() => setOpen(false)}
        actions={
          <>
            <Button onClick={() => setOpen(false)}>Keep it</Button>
            <Button kind="danger" disabled={busy} onClick={() => void act()}>
              {label}
            </Button>
          </>
        }
      >
        <div className="flex flex-col gap-2">
          {children}
          <Refusal refused={refused} />
        </div>
      </Dialog>
    </>
  );
}
