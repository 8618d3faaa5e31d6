import type { Unkept } from '../document/kept.ts';
import { useDraft } from '../document/store.ts';
import { placeWords } from '../outline/place-words.ts';

/** Why a draft is not saved, and what to do. */
export function unkeptWords(unkept: Unkept): string {
  switch (unkept.kind) {
    case 'no_json':
      return 'its text is no JSON. Put that in order in the JSON tab, and it is kept.';
    case 'secret': {
      const place = placeWords(unkept.place, useDraft.getState().document);
      return (
        `what stands at ${place} may be a secret, and none is ever kept. Put it into an ` +
        'environment variable; a field that ends in _env takes its name.'
      );
    }
    case 'full':
      return 'this browser keeps nothing for this page, or no more. Apply it, or copy the text.';
    default:
      return unkept satisfies never;
  }
}
