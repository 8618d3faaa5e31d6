import { useState } from 'react';
import { Button } from '../../kit/button.tsx';
import { tryReply } from './try-now.ts';

type Stage = 'idle' | 'asking' | { readonly said: string };

/** A reply that waits for another try is tried now. */
export function TryOne({ id }: { readonly id: string }) {
  const [stage, setStage] = useState<Stage>('idle');
  const start = async (): Promise<void> => {
    setStage('asking');
    setStage({ said: (await tryReply(id)) ?? 'It is on its way.' });
  };
  return (
    <>
      <Button
        small
        disabled={stage === 'asking'}
        aria-label={`Try the reply ${id} now`}
        onClick={() => void start()}
      >
        Try now
      </Button>
      <p role="status" className="text-soft">
        {typeof stage === 'object' ? stage.said : ''}
      </p>
    </>
  );
}
