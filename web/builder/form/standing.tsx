import { State } from '../../kit/state.tsx';
import type { Standing } from '../document/shield.ts';

/** A badge on a model that is never asked or not used, with the reason. */
export function StandingMark({ standing }: { readonly standing: Standing }) {
  switch (standing.kind) {
    case 'asked':
    case 'unknown':
      return null;
    case 'never':
      return (
        <span className="text-sm font-normal">
          <State tone="wait">never asked</State> <span className="text-soft">{standing.why}</span>
        </span>
      );
    case 'unused':
      return (
        <span className="text-sm font-normal">
          <State tone="off">unused</State> <span className="text-soft">{standing.why}</span>
        </span>
      );
    default:
      return standing satisfies never;
  }
}
