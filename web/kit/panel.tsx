import { useId, type ReactNode } from 'react';
import { AsWritten } from './as-written.tsx';

/** A section of a page with its own heading. */
export function Panel({
  title,
  aside,
  children,
}: {
  readonly title: string;
  readonly aside?: ReactNode;
  readonly children: ReactNode;
}) {
  const id = useId();
  return (
    <section aria-labelledby={id} className="flex flex-col gap-2">
      <div className="flex flex-wrap items-baseline justify-between gap-2">
        <h2 id={id} className="min-w-0 wrap-anywhere">
          <AsWritten text={title} />
        </h2>
        {aside}
      </div>
      {children}
    </section>
  );
}
