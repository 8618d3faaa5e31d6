import { useState } from 'react';
import { askForWindow } from './application.ts';
import { comeByWindow } from './arrival.ts';
import { Button } from './button.tsx';

/** Signs a person in the application in again with one press, without a token. */
export function ComeBack() {
  const [said, setSaid] = useState<string | null>(null);
  const isWindow = globalThis.svcShell !== undefined;
  const ask = async (): Promise<void> => {
    setSaid((await askForWindow()) ?? comes);
  };
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
      {isWindow ? (
        <Button kind="main" onClick={() => void comeByWindow()}>
          Go on here
        </Button>
      ) : (
        <Button kind="main" onClick={() => void ask()}>
          Open svc again
        </Button>
      )}
      <p role="status" className="min-w-0 flex-1 basis-48 empty:hidden">
        {said}
      </p>
    </div>
  );
}

const comes = 'svc opens a page that knows you. You can close this one.';
