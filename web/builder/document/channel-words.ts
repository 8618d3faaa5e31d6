/** A type of channel beside what people call its platform, where that is another word. */
import { findKind } from '../../../src/channel/kinds.ts';

/** For a list of what can be added: the platform first. */
export function titleOf(type: string): string {
  const name = findKind(type)?.name ?? type;
  return isAnother(name, type) ? `${name} (${type})` : name;
}

/** For a list of what can be written: the type first; as it is where it is no type. */
export function typeWithName(type: string): string {
  const name = findKind(type)?.name ?? type;
  return isAnother(name, type) ? `${type} (${name})` : type;
}

function isAnother(name: string, type: string): boolean {
  return name.toLowerCase() !== type;
}
