import { lazy, Suspense } from 'react';

// Most people never open it, and it weighs more than the rest of the page.
const Editor = lazy(async () => ({ default: (await import('./editor-box.tsx')).EditorBox }));

/** The text itself, with the problems marked in it. */
export function JsonView() {
  return (
    <Suspense fallback={<p className="p-4 text-soft">Loading the editor …</p>}>
      <Editor />
    </Suspense>
  );
}
