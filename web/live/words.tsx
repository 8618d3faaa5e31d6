import { AsWritten } from '../kit/as-written.tsx';

/** What somebody wrote, as they wrote it, line by line; it is never taken for markup. */
export function Words({ children }: { readonly children: string }) {
  if (children === '') return null;
  return (
    <p className="max-w-[80ch] rounded-md border border-line bg-card px-3 py-2 wrap-anywhere whitespace-pre-wrap">
      <AsWritten text={children} lines />
    </p>
  );
}
