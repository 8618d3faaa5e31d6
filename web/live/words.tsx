import { AsWritten } from '../kit/as-written.tsx';

/** Text of a person, line by line as written; it is never rendered as markup. */
export function Words({ children }: { readonly children: string }) {
  if (children === '') return null;
  return (
    <p className="max-w-[80ch] rounded-md border border-line bg-card px-3 py-2 wrap-anywhere whitespace-pre-wrap">
      <AsWritten text={children} lines />
    </p>
  );
}
