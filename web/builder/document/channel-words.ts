/** A type of channel beside what people call its platform, where the two words differ. */
import { findKind } from '../../../src/channel/kinds.ts';

/** For a list of what can be added: the platform first. */
export function titleOf(type: string): string {
  const name = findKind(type)?.name ?? type;
  return isAnother(name, type) ? `${name} (${type})` : name;
}

/** For a list of what can be written: the type first; an unknown type as it is. */
export function typeWithName(type: string): string {
  const name = findKind(type)?.name ?? type;
  return isAnother(name, type) ? `${type} (${name})` : type;
}

function isAnother(name: string, type: string): boolean {
  return name.toLowerCase() !== type;
}
