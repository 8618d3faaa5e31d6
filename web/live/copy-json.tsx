import { useState } from 'react';
import { Button } from '../kit/button.tsx';

/** A button that copies a value as formatted JSON. */
export function CopyJson({ value }: { readonly value: unknown }) {
  const [said, setSaid] = useState('');
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(JSON.stringify(value, null, 2));
      setSaid('Copied.');
    } catch {
      setSaid('The browser did not allow it.');
    }
  };
  return (
    <span className="flex items-center gap-2">
      <span role="status" className="text-sm text-soft">
        {said}
      </span>
      <Button small onClick={() => void copy()}>
        Copy as JSON
      </Button>
    </span>
  );
}
