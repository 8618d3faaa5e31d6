import { useState } from 'react';
import { AsWritten } from './as-written.tsx';
import { Button } from './button.tsx';

/** Lines that a person copies as they are. */
export function ToCopy({ text }: { readonly text: string }) {
  const [said, setSaid] = useState('');
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      setSaid('Copied.');
    } catch {
      setSaid('The browser did not allow it: select it by hand.');
    }
  };
  return (
    <div className="flex flex-wrap items-start gap-2 rounded-md border border-line bg-card p-2">
      <pre className="min-w-0 flex-1 wrap-anywhere whitespace-pre-wrap">
        <AsWritten text={text} lines />
      </pre>
      <Button small onClick={() => void copy()}>
        Copy
      </Button>
      <span role="status" className="text-sm text-soft empty:hidden">
        {said}
      </span>
    </div>
  );
}
