import { useDraft } from '../document/store.ts';

/** The text itself. */
export function JsonView() {
  return <pre className="overflow-auto p-4">{useDraft(({ text }) => text)}</pre>;
}
