import { Refusal } from './notice.tsx';
import type { Refused } from './api.ts';

type Props = { readonly value?: unknown; readonly refused?: Refused | null };

/** Grey bars in the place of content that is being read, or the reason why it was refused. */
export function Asking({ value = null, refused = null }: Props) {
  if (value !== null || refused !== null) return <Refusal refused={refused} />;
  return (
    <div className="flex max-w-xl flex-col gap-2 py-1">
      <p className="sr-only">Asking …</p>
      {['w-full', 'w-5/6', 'w-2/3'].map((width) => (
        <div key={width} aria-hidden="true" className={`h-3 rounded-sm bg-raised ${width}`} />
      ))}
    </div>
  );
}
