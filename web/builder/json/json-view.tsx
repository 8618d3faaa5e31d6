import { useEffect, useState } from 'react';
import { Button } from '../../kit/button.tsx';
import { Notice } from '../../kit/notice.tsx';
import type { EditorBox } from './editor-box.tsx';

type Box = typeof EditorBox;

/** Kept once it is loaded. A load that failed is not kept, and is tried again. */
let loaded: Box | null = null;

// Loaded late, since most people never open it, and it weighs more than the rest of the page.
async function load(): Promise<Box> {
  loaded ??= (await import('./editor-box.tsx')).EditorBox;
  return loaded;
}

/** The text itself, with the problems marked in it. */
export function JsonView() {
  const [editor, setEditor] = useState<{ readonly Box: Box } | 'loading' | 'failed'>(() =>
    loaded === null ? 'loading' : { Box: loaded },
  );
  const isLoading = editor === 'loading';
  useEffect(() => {
    let left = false;
    const show = async (): Promise<void> => {
      const next = await load().then(
        (Box) => ({ Box }),
        () => 'failed' as const,
      );
      if (!left) setEditor(next);
    };
    if (isLoading) void show();
    return () => {
      left = true;
    };
  }, [isLoading]);
  if (editor === 'loading') return <p className="p-4 text-soft">Loading the editor …</p>;
  if (editor !== 'failed') return <editor.Box />;
  return (
    <div className="grid justify-items-start gap-3 p-4">
      <Notice tone="bad">The editor could not be loaded from the service.</Notice>
      <Button onClick={() => setEditor('loading')}>Try again</Button>
    </div>
  );
}
