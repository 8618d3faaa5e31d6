import { Dialog as Base } from '@base-ui/react/dialog';
import { useLayoutEffect, useRef, type ReactNode, type RefObject } from 'react';
import { AsWritten } from './as-written.tsx';
import { Button } from './button.tsx';
import { cameFor } from './came-for.ts';

type Props = {
  readonly open: boolean;
  readonly title: string;
  readonly onClose: () => void;
  /** The buttons; there is always a close button as well. */
  readonly actions?: ReactNode;
  readonly wide?: boolean;
  /** The element that gets the focus first; by default came-for.ts finds it. */
  readonly first?: RefObject<HTMLElement | null>;
  readonly children: ReactNode;
};

/** A modal dialog. It keeps the focus inside, closes on Escape, and returns the focus. */
export function Dialog(props: Props) {
  const { open, title, onClose, actions, wide = false, first, children } = props;
  const opener = useRef<Element | null>(null);
  const content = useRef<HTMLDivElement>(null);
  const buttons = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (open) opener.current = document.activeElement;
  }, [open]);
  // Called some frames after the dialog closed. By then the person may be elsewhere, or the opener
  // may be gone; then the page decides about the focus.
  const goesBack = (): boolean => !isElsewhere() && (opener.current?.isConnected ?? true);
  const width = wide ? 'max-w-4xl' : 'max-w-lg';
  const place = 'fixed inset-x-2 top-[6vh] z-50 mx-auto flex max-h-[88vh] flex-col gap-3';
  const look = 'rounded-lg border border-edge bg-card p-4 text-ink shadow-xl';
  return (
    <Base.Root open={open} onOpenChange={(next) => (next ? undefined : onClose())}>
      <Base.Portal>
        <Base.Backdrop className="fixed inset-0 z-40 bg-[rgb(0_0_0/0.45)]" />
        <Base.Popup
          initialFocus={first ?? (() => cameFor(content.current, buttons.current))}
          finalFocus={goesBack}
          className={`${place} ${look} ${width}`}
        >
          <div className="flex items-start justify-between gap-4">
            <Base.Title className="min-w-0 text-lg font-semibold wrap-anywhere">
              <AsWritten text={title} />
            </Base.Title>
            <Base.Close render={<Button kind="quiet" small aria-label="Close" />}>✕</Base.Close>
          </div>
          <div
            ref={content}
            tabIndex={-1}
            className="-m-1 min-h-0 overflow-y-auto p-1 outline-none"
          >
            {children}
          </div>
          {actions ? (
            <div ref={buttons} className="flex flex-wrap justify-end gap-2">
              {actions}
            </div>
          ) : null}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}

function isElsewhere(): boolean {
  const { activeElement: on, body } = document;
  return on !== null && on !== body && on.closest('[data-base-ui-portal]') === null;
}
