import { useRef } from 'react';
import { Dialog } from '../../kit/dialog.tsx';
import { WayIn } from '../../kit/ways-in.tsx';
import { keys } from './keys.ts';
import { Leaving } from './leaving.tsx';
import { closeOverlay, useOverlay } from './overlay.ts';
import { Palette } from './palette.tsx';

/** What opens over the page by a key. */
export function Overlays() {
  const search = useRef<HTMLInputElement>(null);
  const open = useOverlay((state) => state.open);
  return (
    <>
      <Dialog open={open === 'palette'} title="Go to, or do" onClose={closeOverlay} first={search}>
        <Palette input={search} onDone={closeOverlay} />
      </Dialog>
      <Dialog open={open === 'keys'} title="Keys" onClose={closeOverlay}>
        <p className="pb-2 text-sm text-soft">On a Mac, ⌘ in the place of Ctrl.</p>
        <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1.5">
          {keys.map(([key, does]) => (
            <div key={key} className="contents">
              <dt>
                <kbd className="rounded-sm border border-line bg-raised px-1.5">{key}</kbd>
              </dt>
              <dd>{does}</dd>
            </div>
          ))}
        </dl>
      </Dialog>
      <Leaving />
      <WayIn />
    </>
  );
}
