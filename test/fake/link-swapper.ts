/**
 * A process that attacks a root folder as fast as it can until its standard input closes. It swaps
 * a file and a folder for links, and moves a folder out of the root and back. Outside the root that
 * folder has another file. Arguments: the root, the other folder.
 */
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const [root, outside] = process.argv.slice(2) as [string, string];
const at = (name: string): string => join(root, name);
const roundsAtOnce = 200;

mkdirSync(at('real-folder'));
writeFileSync(at('real-folder/file.txt'), 'inside');
writeFileSync(at('real-file'), 'inside');
symlinkSync(outside, at('linked-folder'));
symlinkSync(join(outside, 'file.txt'), at('linked-file'));
mkdirSync(at('moving'));
renameSync(at('real-folder'), at('folder'));
renameSync(at('real-file'), at('file.txt'));

let ended = false;
process.stdin.once('end', () => (ended = true)).resume();
process.stdout.write('swapping\n');
swap();

/** Between two renames one name is missing for a moment, never both at once. */
function swap(): void {
  for (let round = 0; round < roundsAtOnce; round++) {
    for (const name of ['folder', 'file.txt']) {
      const kind = name === 'folder' ? 'folder' : 'file';
      renameSync(at(name), at(`real-${kind}`));
      renameSync(at(`linked-${kind}`), at(name));
      renameSync(at(name), at(`linked-${kind}`));
      renameSync(at(`real-${kind}`), at(name));
    }
    renameSync(at('moving'), join(outside, 'moving'));
    renameSync(join(outside, 'file.txt'), join(outside, 'moving/file.txt'));
    renameSync(join(outside, 'moving/file.txt'), join(outside, 'file.txt'));
    renameSync(join(outside, 'moving'), at('moving'));
  }
  if (!ended) setImmediate(swap);
}
