import { State } from '../../kit/state.tsx';
import type { ModelUse } from '../document/privacy-filter.ts';

/** A badge on a model that is never asked or not used, with the reason. */
export function ModelUseBadge({ modelUse }: { readonly modelUse: ModelUse }) {
  switch (modelUse.kind) {
    case 'asked':
    case 'unknown':
      return null;
    case 'never':
      return (
        <span className="text-sm font-normal">
          <State tone="wait">never asked</State> <span className="text-soft">{modelUse.why}</span>
        </span>
      );
    case 'unused':
      return (
        <span className="text-sm font-normal">
          <State tone="off">unused</State> <span className="text-soft">{modelUse.why}</span>
        </span>
      );
    default:
      return modelUse satisfies never;
  }
}
