import { pathOf } from '../document/path.ts';
import { goToField } from '../shell/going.ts';

/** Leads to the field of a place of the draft; the whole file has none. */
export function GoTo({ path }: { readonly path: string }) {
  if (path === '') return <span>the file</span>;
  return (
    <button
      type="button"
      onClick={() => goToField(pathOf(path))}
      className="text-start text-link underline"
    >
      <code className="break-all">{path}</code>
    </button>
  );
}
